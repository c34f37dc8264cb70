// Beside Look: what to do when a road is closed, and a day of a fleet. Neither tells the server a secret: a class and a
// place on its route are public, and orders become numbers of classes in the browser before anything is sent.
import { element, button, bareButton, field, select, named, errorLine, plural, saveBlob } from "./pieces.js";
import { getBlob, getResult, runJob } from "./api.js";
import { decode } from "./geometry.js";
import { findPlace } from "./draw.js";
import { pointOfText } from "./make-places.js";

export function createLookMore(panel, studio) {
  const { scene, playbook } = studio.state,
    { drive, trips } = scene.playbook;
  if (!drive || !playbook || !trips[0].classes.length) return { show() {}, hide() {} };
  const parts = [createReplan(studio, scene, playbook)];
  if (!drive.isRandomised) parts.push(createFleet(scene, playbook));
  panel.append(
    element(
      "div",
      { class: "look-more" },
      parts.map((part) => part.node),
    ),
  );
  return {
    show() {
      for (const part of parts) part.show?.();
    },
    hide() {
      for (const part of parts) part.hide?.();
    },
  };
}

const labelTexts = (drive) => drive.labels.map((label) => (Array.isArray(label) ? label[0] : label));

// The nodes that all members of a class pass on the first trip: as text, and where they are.
function sharedWalk(scene, number) {
  const { drive, trips } = scene.playbook,
    texts = labelTexts(drive),
    group = trips[0].classes.find((each) => each.number === number);
  const draw = drive.places.flatMap((place) => place.draws).find((each) => each.class === number);
  const points = decode(group.parts[0].points),
    spots = group.parts[0].nodes.map((at) => [points[2 * at], points[2 * at + 1]]);
  const nodes = drive.routes[draw.routes[0]].nodes.slice(0, spots.length).map((at) => texts[at]);
  return nodes.map((text, i) => ({ text, x: spots[i][0], y: spots[i][1] }));
}

const labelOf = (label) => (Array.isArray(label) ? label.join(",") : String(label));

// What people call a place; a node that is no place has its label alone.
function namesOf(scene) {
  const { candidates, trips } = scene.playbook,
    places = [...trips.flatMap(({ start, goal }) => [start, goal]), ...candidates];
  const called = new Map(places.map(({ label, name }) => [label, name]));
  return (label) => called.get(labelOf(label)) ?? labelOf(label);
}

// A,B is a road in both directions; it can be told from its parts only where both ends have as many commas.
const isTwoWay = (from, to) => from.text.split(",").length === to.text.split(",").length;

// On streets the page does not know where all nodes are: it names them.
function nodesOf(route) {
  const text = route.map(labelOf).join(" → ");
  return element(
    "details",
    { class: "more" },
    element("summary", {}, `${plural(route.length, "node")} to the goal`),
    named(text),
  );
}

// Differences, as lines of a scene have them.
function coded(points) {
  return points.flatMap(([x, y], i) => (i ? [x - points[i - 1][0], y - points[i - 1][1]] : [x, y]).map(Math.round));
}

function createReplan(studio, scene, playbook) {
  const { map } = studio,
    classes = scene.playbook.trips[0].classes,
    nameOf = namesOf(scene);
  const group = select(
    classes.map(({ number }) => [String(number), `Class ${number}`]),
    null,
    { onchange: () => pickClass() },
  );
  const at = element("input", { type: "range", min: "0", step: "1", oninput: () => moved() }),
    shut = element("input", { type: "range", min: "1", step: "1", oninput: () => moved() });
  const mode = select(
      [
        ["at", "where the vehicle is"],
        ["closed", "the closed road"],
      ],
      "at",
    ),
    says = element("p", { class: "explain", role: "status" });
  const run = button("Find the way on", () => find(null), { class: "primary" }),
    error = errorLine(),
    out = element("div");
  const node = element(
    "details",
    { class: "more" },
    element("summary", {}, "A road is closed"),
    element(
      "p",
      { class: "explain" },
      "The rest of the route depends on the class, the position and the closed road alone, so that it is the " +
        "same for all members.",
    ),
    field("Route that is driven", group, "As numbered on the map."),
    field("Where the vehicle is", at, "Move along the route, or click on the map."),
    field("Which road ahead is closed", shut, "So many steps along the route."),
    field("A click on the map sets", mode, null),
    says,
    run,
    error.node,
    out,
  );
  node.addEventListener("toggle", () => (node.open ? start() : end()));
  let walk = [],
    isOn = false;

  function pickClass() {
    walk = sharedWalk(scene, Number(group.value));
    at.max = Math.max(0, walk.length - 2);
    shut.max = Math.max(1, walk.length - 1);
    [at.value, shut.value] = [0, Math.min(3, walk.length - 1)];
    map.setChosen(Number(group.value));
    moved();
  }

  function moved() {
    if (Number(shut.value) <= Number(at.value)) shut.value = Number(at.value) + 1;
    const here = walk[at.value],
      [from, to] = [walk[shut.value - 1], walk[shut.value]];
    out.replaceChildren();
    map.setDetour(null);
    for (const control of [at, shut])
      control.setAttribute("aria-valuetext", control === at ? `at ${here.text}` : `${from.text} to ${to.text}`);
    says.replaceChildren(
      "The vehicle stands at ",
      named(here.text),
      "; closed: ",
      named(from.text),
      " to ",
      named(to.text),
      isTwoWay(from, to) ? ", in both directions." : ", in this direction.",
    );
    map.setMarks([
      { x: here.x, y: here.y, kind: "here", text: "Vehicle" },
      { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2, kind: "closed", text: "Closed" },
    ]);
  }

  function pick({ x, y }) {
    const nearest = walk.reduce(
      (best, spot, i) =>
        Math.hypot(spot.x - x, spot.y - y) < Math.hypot(walk[best].x - x, walk[best].y - y) ? i : best,
      0,
    );
    if (mode.value === "at") at.value = nearest;
    else shut.value = Math.max(1, nearest);
    moved();
  }

  async function find(choice) {
    error.clear();
    out.replaceChildren(element("p", { class: "explain", role: "status" }, "Looking for the way on …"));
    const [from, to] = [walk[shut.value - 1], walk[shut.value]];
    const params = {
      playbook,
      class: Number(group.value),
      at: walk[at.value].text,
      position: Number(at.value),
      closed: isTwoWay(from, to) ? `${from.text},${to.text};` : `${from.text}>${to.text};`,
      ...(choice ? { choice } : {}),
    };
    try {
      const job = await runJob("replan", params),
        found = await getResult(job.id, "replan.json");
      if (isOn) showFound(found, job);
    } catch (problem) {
      out.replaceChildren();
      error.show(problem);
    }
  }

  function showFound(found, job) {
    const names = (labels) =>
      labels.length ? labels.flatMap((label, i) => [i ? ", " : "", named(nameOf(label))]) : ["no place"];
    const lines =
      found.choice === null
        ? undecided(found, names)
        : [
            element(
              "p",
              {},
              element("strong", {}, found.choice === "give-up" ? "Straight to the goal. " : "There is a way on. "),
              `It costs ${Number(found.cost.toFixed(1))}. Still hidden: `,
              ...names(found.still_hidden),
              ".",
            ),
          ];
    out.replaceChildren(
      ...lines,
      element(
        "p",
        { class: "explain" },
        found.audit
          ? found.audit.holds
            ? "✓ Audited: it depends on nothing secret, and no closed road is used."
            : "✗ The audit found a claim that does not hold."
          : "",
      ),
      button("Save replan.json", async () => saveBlob(await getBlob(`${job.id}/replan.json`), "replan.json")),
    );
    const way = (found.route ?? []).map((label) => pointOfText(scene, labelOf(label)));
    if (way.length > 1 && way.every(Boolean)) drawWay(way);
    else if (found.route) out.append(nodesOf(found.route));
  }

  // Where too few stay covered somebody has to decide: the page shows both, and whom each exposes.
  function undecided(found, names) {
    return [
      element("p", { class: "warn-text" }, "Whichever way is taken, too few places stay possible. Decide:"),
      element("p", {}, "Going on covers: ", ...names(found.going_on?.left ?? []), "."),
      element("p", {}, "Giving up covers: ", ...names(found.giving_up?.left ?? []), "."),
      element(
        "div",
        { class: "button-row" },
        button("Go on", () => find("go-on")),
        button("Give up", () => find("give-up")),
      ),
    ];
  }

  function drawWay(way) {
    const line = way.map(({ x, y }) => [x, y]),
      xs = line.map(([x]) => x),
      ys = line.map(([, y]) => y),
      [from, to] = [walk[shut.value - 1], walk[shut.value]];
    map.setDetour({
      number: Number(group.value),
      closed: [
        coded([
          [from.x, from.y],
          [to.x, to.y],
        ]),
      ],
      parts: [coded(line)],
      box: [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)],
    });
  }

  function start() {
    isOn = true;
    map.onPick = pick;
    pickClass();
  }

  function end() {
    isOn = false;
    map.onPick = null;
    map.setMarks([]);
    map.setDetour(null);
    map.setChosen(null);
  }

  return {
    node,
    show() {
      if (node.open) start();
    },
    hide() {
      if (isOn) end();
    },
  };
}

function createFleet(scene, playbook) {
  const { drive } = scene.playbook,
    nameOf = namesOf(scene),
    touched = new Set(),
    error = errorLine(),
    out = element("div"),
    kept = element("p", { class: "explain", role: "status" });
  const orders = element("textarea", { rows: "4", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const vehicles = element("input", { type: "number", min: "1", max: "1000", value: "2" }),
    depart = element("input", { type: "text", value: "08:00", autocomplete: "off" });
  const service = element("input", { type: "number", min: "0", max: "600", value: "1", step: "any" });
  const take = button("Keep classes, forget orders", takeOrders),
    run = button("Plan the day", plan, { class: "primary" });
  const clear = button(
    "Start over",
    () => {
      touched.clear();
      tell();
    },
    { class: "quiet" },
  );
  const node = element(
    "details",
    { class: "more" },
    element("summary", {}, "A day of a fleet"),
    element(
      "p",
      { class: "explain" },
      "Vans drive past every member of every class that holds an order. Orders stay in this page: only numbers " +
        "of classes are sent, and tours show these anyway.",
    ),
    field(
      "Today's orders, one in each line",
      orders,
      "Names or labels of candidates. They are forgotten as soon as their classes are known.",
    ),
    element("div", { class: "button-row" }, take, clear),
    kept,
    field("Vehicles", vehicles, "How many there are."),
    field("Minutes for a stop", service, null),
    field("Leave at", depart, "HH:MM"),
    run,
    error.node,
    out,
  );

  const numbers = () => [...touched].sort((a, b) => a - b);

  function tell() {
    kept.textContent = touched.size
      ? `${plural(touched.size, "class is", "classes are")} to be driven: ${numbers().join(", ")}.`
      : "No orders yet.";
  }

  // The text is gone before anything else happens; what is said does not tell which line it was.
  function takeOrders() {
    const lines = orders.value.split("\n").filter((line) => line.trim());
    orders.value = "";
    error.clear();
    let unknown = 0;
    for (const line of lines) {
      const place = drive.places[findPlace(drive, line)];
      if (place && !place.refusal) touched.add(place.draws[0].class);
      else unknown += 1;
    }
    if (unknown) error.show(`${plural(unknown, "line is", "lines are")} not a hidden candidate of this playbook.`);
    tell();
  }

  async function plan() {
    if (orders.value.trim()) takeOrders();
    if (!touched.size) return error.show("Type orders first.");
    error.clear();
    out.replaceChildren(element("p", { class: "explain", role: "status" }, "Planning the day …"));
    const params = {
      playbook,
      touched: numbers(),
      vehicles: Number(vehicles.value) || 1,
      service: Number(service.value) || 0,
      depart: depart.value || "08:00",
    };
    try {
      const job = await runJob("fleet", params),
        day = await getResult(job.id, "fleet.json");
      showDay(day, job);
    } catch (problem) {
      out.replaceChildren();
      error.show(problem);
    }
  }

  function showDay(day, job) {
    const busy = day.vehicles.filter((van) => van.stops.length).length,
      cost = day.cost === undefined ? "" : `, cost ${Number(day.cost.toFixed(1))}`;
    const save = (name) =>
      bareButton(
        async () => saveBlob(await getBlob(`${job.id}/${name}`), name),
        { class: "linklike" },
        name === "map.html" ? "map.html: the day on a map" : name,
      );
    out.replaceChildren(
      element(
        "p",
        {},
        element(
          "strong",
          {},
          `${plural(day.touched.length, "class", "classes")}, `,
          `by ${busy} of ${plural(day.vehicles.length, "vehicle")}${cost}.`,
        ),
      ),
      element(
        "ul",
        { class: "plain" },
        day.vehicles.map((van, i) =>
          element(
            "li",
            {},
            van.stops.length
              ? [`Vehicle ${i + 1}: `, ...van.stops.flatMap((stop, j) => [j ? ", " : "", named(nameOf(stop))])]
              : `Vehicle ${i + 1} stays.`,
          ),
        ),
      ),
      element("h3", {}, "Files of the day"),
      element(
        "ul",
        { class: "plain" },
        job.results.map((name) => element("li", {}, save(name))),
      ),
    );
  }

  tell();
  return {
    node,
    hide() {
      orders.value = "";
    },
  };
}
