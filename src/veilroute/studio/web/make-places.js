// Where a trip starts and ends, and where its stop could be: what Make knows of places, as text that the planner takes.
import { element, field, named, plural, button, choices, chosen, choose } from "./pieces.js";

// Where a place is on the map, when its text says so without asking the server; null when not.
export function pointOfText(scene, text) {
  const map = scene.map;
  if (map.kind === "grid") {
    const cell = /^\s*\(?\s*(\d+)\s*,\s*(\d+)\s*\)?\s*$/.exec(text);
    return cell ? { x: 10 * Number(cell[2]), y: -10 * Number(cell[1]) } : null;
  }
  const degrees = map.earth && /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text);
  if (degrees) {
    return {
      x: (Number(degrees[2]) - map.earth.lon) / map.earth.perX,
      y: (Number(degrees[1]) - map.earth.lat) / map.earth.perY,
    };
  }
  const index = map.nodes ? map.nodes.labels.indexOf(text) : -1;
  if (index < 0) return null;
  let x = 0,
    y = 0;
  for (let i = 0; i <= index; i++) [x, y] = [x + map.nodes.points[2 * i], y + map.nodes.points[2 * i + 1]];
  return { x, y };
}

const linesOf = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
const textsOf = (places) => places.map(({ text }) => text);
const sameTexts = (a, b) => a.length === b.length && a.every((text, i) => text === b[i]);

// The places themselves; whoever changes them calls changed().
export class Places {
  constructor() {
    this.reset(null);
  }

  // What the instance of a scene says, or nothing.
  reset(scene) {
    const instance = scene?.instance,
      known = new Map();
    for (const mark of instance?.marks ?? []) known.set(`${mark.role} ${mark.label}`, mark);
    const place = (text, role) => {
      const mark = known.get(`${role} ${text}`);
      return mark ? { text, name: mark.name, x: mark.x, y: mark.y } : this.made(scene, text);
    };
    this.scene = scene;
    this.start = instance?.start ? place(instance.start, "start") : null;
    this.goal = instance?.goal ? place(instance.goal, "goal") : null;
    this.candidates = (instance?.candidates ?? []).map((text) => place(text, "candidate"));
    this.base = {
      start: this.start?.text ?? null,
      goal: this.goal?.text ?? null,
      candidates: textsOf(this.candidates),
    };
    this.random = null;
    this.table = null;
  }

  made(scene, text) {
    const point = scene ? pointOfText(scene, text) : null;
    return { text, name: text, ...(point ?? {}) };
  }

  // What an earlier plan was given.
  take(options) {
    if (options.start) this.start = this.made(this.scene, options.start);
    if (options.goal) this.goal = this.made(this.scene, options.goal);
    if (options.candidates) this.candidates = options.candidates.map((text) => this.made(this.scene, text));
    if (options.random_candidates) this.random = options.random_candidates;
    if (options.places) this.table = { id: options.places, name: "table of places" };
  }

  put(mode, { x, y, text }) {
    const place = { text, name: text, x, y };
    if (mode === "start" || mode === "goal") this[mode] = place;
    else if (mode === "candidate" && !this.candidates.some((other) => other.text === text)) this.candidates.push(place);
    if (mode === "candidate") this.random = null;
  }

  // Takes away what is nearest to a point, when it is near.
  removeNear({ x, y }, reach) {
    const all = [...this.candidates.map((place) => [place, "candidate"]), [this.start, "start"], [this.goal, "goal"]];
    const far = ([place]) => (place && place.x !== undefined ? Math.hypot(place.x - x, place.y - y) : Infinity);
    const nearest = all.reduce((best, each) => (far(each) < far(best) ? each : best), [null, ""]);
    if (far(nearest) > reach) return null;
    if (nearest[1] === "candidate") this.candidates = this.candidates.filter((place) => place !== nearest[0]);
    else this[nearest[1]] = null;
    return nearest[0];
  }

  setText(mode, text) {
    const keep = (list, line) => list.find((place) => place?.text === line) ?? this.made(this.scene, line);
    const [line] = linesOf(text);
    if (mode === "candidates") this.candidates = [...new Set(linesOf(text))].map((each) => keep(this.candidates, each));
    else this[mode] = line ? keep([this[mode]], line) : null;
  }

  marks() {
    const here = (place, kind, number) =>
      place && place.x !== undefined ? [{ x: place.x, y: place.y, kind, text: place.name, number }] : [];
    const places = this.random ? [] : this.candidates.flatMap((place) => here(place, "candidate"));
    return [...places, ...here(this.start, "start"), ...here(this.goal, "goal")];
  }

  // Only what differs from the file: what it says besides, such as names and later trips, stays in use.
  options() {
    const { base } = this,
      options = {};
    if (this.start && this.start.text !== base.start) options.start = this.start.text;
    if (this.goal && this.goal.text !== base.goal) options.goal = this.goal.text;
    if (this.random) options.random_candidates = this.random;
    else if (this.candidates.length && !sameTexts(textsOf(this.candidates), base.candidates))
      options.candidates = textsOf(this.candidates);
    if (this.table) options.places = this.table.id;
    return options;
  }

  // What is missing for a plan, as a sentence; "" when nothing is.
  missing() {
    if (this.table) return "";
    if (!this.start) return "Set a start: choose Start, then click on the map.";
    if (!this.goal) return "Set a goal: choose Goal, then click on the map.";
    if (!this.random && this.candidates.length < 2)
      return "Set at least two candidates: the places where the stop could be.";
    return "";
  }
}

const MODES = [
  ["start", "Start", "Click where the trip starts."],
  ["goal", "Goal", "Click where the trip ends. It may be the start again."],
  [
    "candidate",
    "Candidate",
    "Click every place where the secret stop could be. All of them are public; only which one it is stays secret.",
  ],
  ["remove", "Remove", "Click a place to take it away."],
];

// The part of Make that shows and edits places. on = {changed(), table(file), clearTable()}.
export function createPlacesPart(places, on) {
  const modes = choices("What a click on the map sets", MODES, "candidate", () => tell(), {
    class: "choices segments",
  });
  const hint = element("p", { class: "explain" }),
    summary = element("p", { class: "places-summary" });
  const start = element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const goal = element("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const list = element("textarea", { rows: "6", autocomplete: "off", spellcheck: "false" });
  const count = element("input", { type: "number", min: "2", max: "5000", value: "10" });
  const file = element("input", {
    type: "file",
    class: "hidden-file",
    accept: ".csv,.tsv,.txt,.xlsx,.geojson,.json,.kml,.gpx",
  });
  const tableRow = element("div", { class: "note-row" });

  const edit = (mode, control) =>
    control.addEventListener("change", () => {
      places.setText(mode, control.value);
      if (mode === "candidates") places.random = null;
      refresh();
      on.changed();
    });
  edit("start", start);
  edit("goal", goal);
  edit("candidates", list);
  file.addEventListener("change", () => {
    if (file.files[0]) on.table(file.files[0]);
    file.value = "";
  });
  const draw = button("Draw at random", () => {
    places.random = Math.max(2, Number(count.value) || 10);
    refresh();
    on.changed();
  });
  const clear = button(
    "Clear all",
    () => {
      Object.assign(places, { start: null, goal: null, candidates: [], random: null, table: null });
      refresh();
      on.changed();
      choose(modes, "start");
      tell();
    },
    { class: "quiet" },
  );

  const more = element(
    "details",
    { class: "more" },
    element("summary", {}, "As a list, from a table, at random"),
    field("Start", start, "R,C on a grid; LAT,LON, a node, a name or an address on streets."),
    field("Goal", goal, "Where the trip ends."),
    field("Candidates, one in each line", list, "Changes show on the map when you leave the box."),
    element(
      "div",
      { class: "ask" },
      element("span", { class: "label" }, "Table of places"),
      element("label", { class: "file-button" }, file, element("span", {}, "Choose a table")),
      element(
        "p",
        { class: "explain" },
        "A .csv, .xlsx, .geojson, .kml or .gpx with names and points: it may hold candidates, start and goal. " +
          "Or drop it on the page.",
      ),
      tableRow,
    ),
    field("Candidates at random", count, "So many places are drawn from the map with the seed when you plan.", draw),
    clear,
  );
  const node = element(
    "section",
    { class: "step", "aria-label": "Places" },
    element("h2", {}, "Places"),
    modes,
    hint,
    summary,
    more,
  );

  function tell() {
    hint.textContent = MODES.find(([key]) => key === chosen(modes))[2];
  }

  function refresh() {
    start.value = places.start?.text ?? "";
    goal.value = places.goal?.text ?? "";
    list.value = places.random ? "" : textsOf(places.candidates).join("\n");
    const from = places.start ? named(places.start.name) : "no start yet",
      to = places.goal ? named(places.goal.name) : "no goal yet";
    const stops = places.random
      ? `${places.random} candidates, drawn when you plan`
      : plural(places.candidates.length, "candidate");
    summary.replaceChildren(
      element("span", { class: "tag tag-start" }, from),
      " → ",
      element("span", { class: "tag tag-goal" }, to),
      ", ",
      stops,
    );
    tableRow.replaceChildren();
    if (places.table) {
      tableRow.append(
        "In use: ",
        named(places.table.name),
        " ",
        button(
          "Take away",
          () => {
            places.table = null;
            refresh();
            on.changed();
          },
          { class: "quiet" },
        ),
      );
    }
  }

  tell();
  return {
    node,
    refresh,
    mode: () => chosen(modes),
    setMode: (value) => {
      choose(modes, value);
      tell();
    },
  };
}
