// The first screen: what this is, the demo's two maps, and any other map by drop, by choice or from the server.
import { element, drawing, bareButton, button, named, field, select, errorLine, bytesText } from "./pieces.js";
import { uploadFile, deleteFile } from "./api.js";

const DEMOS = {
  building: [
    "A building",
    "A guard passes one of ten places. Whoever follows is left with three at least, eight steps apart.",
    buildingPicture,
  ],
  streets: [
    "A town",
    "A van visits one of twelve branches in one-way streets. Two at least, 300 m apart, stay possible.",
    streetsPicture,
  ],
};
const KINDS = {
  map: "grid map",
  scenario: "scenario",
  instance: "instance",
  network: "network",
  osm: "OpenStreetMap",
  table: "table",
  playbook: "playbook",
  ledger: "ledger",
};
const ACCEPT = ".pbf,.osm,.gz,.bz2,.map,.scen,.in,.json,.jsonl,.npz,.graphml,.gr,.csv,.tsv,.xlsx,.geojson,.kml,.gpx";

function picture(...shapes) {
  return drawing("svg", { class: "card-picture", viewBox: "0 0 240 120", "aria-hidden": "true" }, ...shapes);
}

function dots(kind, places) {
  return places.map(([x, y]) => drawing("circle", { class: kind, cx: x, cy: y, r: 5 }));
}

function buildingPicture() {
  const wall =
    "M10 10H230V110H10Z M85 10V40 M85 55V75 M85 92V110 M160 10V30 M160 46V72 M160 88V110 " +
    "M10 60H34 M50 60H118 M134 60H188 M204 60H230";
  return picture(
    drawing("path", { class: "art-wall", d: wall }),
    drawing("path", { class: "art-route art-one", d: "M22 24H60V47H110V28H130V60H126V82H200V98" }),
    drawing("path", { class: "art-route art-two", d: "M22 30V47H42V84H100V84H196V102" }),
    ...dots("art-dot art-one", [
      [60, 24],
      [112, 26],
      [186, 84],
    ]),
    ...dots("art-dot art-two", [
      [28, 88],
      [64, 88],
      [110, 90],
    ]),
  );
}

function streetsPicture() {
  const streets =
    "M10 26L230 18 M8 60L232 56 M12 98L228 102 M30 8L34 114 M82 6L78 112 M132 8L136 114 " +
    "M186 6L182 114 M34 60L78 98 M136 22L184 58";
  return picture(
    drawing("path", { class: "art-street", d: streets }),
    drawing("path", { class: "art-route art-one", d: "M79 59L81 24L133 22L135 57L79 59" }),
    drawing("path", { class: "art-route art-two", d: "M79 62L78 99L135 100L183 101L184 58L137 60L83 62" }),
    ...dots("art-dot art-one", [
      [104, 23],
      [134, 40],
    ]),
    ...dots("art-dot art-two", [
      [110, 100],
      [184, 80],
      [160, 59],
    ]),
  );
}

const demoOf = (file) =>
  file.kind === "instance" && /\(demo\)/i.test(file.name)
    ? Object.keys(DEMOS).find((name) => file.name.toLowerCase().includes(name))
    : undefined;

// on = {open(file, options), files() -> Promise of files, back() to the map that is open}.
export function createOpenPart(on) {
  const cards = element("div", { class: "cards" }),
    list = element("ul", { class: "file-list" }),
    error = errorLine();
  const status = element("p", { class: "explain", role: "status" }),
    osm = createOsmPart((file, options) => on.open(file, options));
  const input = element("input", { type: "file", class: "hidden-file", accept: ACCEPT });
  input.addEventListener("change", () => {
    if (input.files[0]) take(input.files[0]);
    input.value = "";
  });
  const others = element(
    "section",
    { "aria-label": "Files on the server" },
    element("h2", {}, "Files on the server"),
    list,
  );
  const drop = element(
    "label",
    { class: "drop" },
    input,
    element("strong", {}, "Open a map of your own"),
    element(
      "span",
      {},
      "Drop a file here, or choose one: .osm.pbf, .map, .json, .npz, .graphml, a playbook or a ledger",
    ),
  );
  const back = button("", on.back, { class: "back", hidden: true });
  const node = element(
    "div",
    { class: "welcome" },
    back,
    element("h1", {}, "Routes that hide where they stop"),
    element(
      "p",
      { class: "welcome-lead" },
      "Whoever follows the whole route, with the same map and this same code, is still left with at least k " +
        "possible places. Open a map, click the places, and watch the optimum being proved.",
    ),
    cards,
    drop,
    osm.node,
    status,
    error.node,
    others,
  );

  function demoCard(file, name) {
    const [title, story, draw] = DEMOS[name];
    return bareButton(
      () => on.open(file, {}),
      { class: "card", "data-demo": name },
      draw(),
      element("strong", {}, file.title ?? title),
      element("span", {}, file.story ?? story),
    );
  }

  function fileRow(file) {
    const open = bareButton(
      () => choose(file),
      { class: "file-open" },
      named(file.name),
      element("span", { class: "explain" }, `${KINDS[file.kind] ?? file.kind}, ${bytesText(file.bytes)}`),
    );
    const away = button(
      "Delete",
      async () => {
        try {
          await deleteFile(file.id);
          await refresh();
        } catch (problem) {
          error.show(problem);
        }
      },
      { class: "quiet", "aria-label": `Delete ${file.name}` },
    );
    return element("li", {}, open, away);
  }

  function choose(file) {
    error.clear();
    osm.hide();
    if (file.kind === "osm") osm.show(file);
    else on.open(file, {});
  }

  async function take(file) {
    error.clear();
    try {
      status.textContent = `Sending ${file.name} …`;
      const sent = await uploadFile(file, (share) => {
        status.textContent = `Sending ${file.name}: ${Math.round(100 * share)} %`;
      });
      status.textContent = "";
      await refresh();
      choose(sent);
    } catch (problem) {
      status.textContent = "";
      error.show(problem);
    }
  }

  async function refresh() {
    try {
      const files = await on.files();
      const demos = files.filter((file) => demoOf(file)),
        rest = files.filter((file) => !demoOf(file));
      cards.replaceChildren(...demos.map((file) => demoCard(file, demoOf(file))));
      list.replaceChildren(...rest.map(fileRow));
      cards.hidden = !demos.length;
      others.hidden = !rest.length;
    } catch (problem) {
      error.show(problem);
    }
  }

  function setBack(name) {
    back.hidden = !name;
    back.replaceChildren("← Back to ", named(name));
  }

  return {
    node,
    refresh,
    take,
    error,
    setBack,
    choose,
    working(text) {
      status.textContent = text;
    },
  };
}

// What to take from an OpenStreetMap file, before it is opened.
function createOsmPart(open) {
  const network = select(
    [
      ["drive", "cars"],
      ["truck", "trucks"],
      ["cycle", "bicycles"],
      ["walk", "on foot"],
    ],
    "drive",
  );
  const cost = select(
    [
      ["seconds", "time"],
      ["metres", "length"],
    ],
    "seconds",
  );
  const service = element("input", { type: "checkbox", id: "osm-service" }),
    connected = element("input", { type: "checkbox", id: "osm-connected", checked: true });
  const name = element("strong"),
    go = button("Open the map", () => open(file, options()), { class: "primary" });
  let file = null;
  const node = element(
    "section",
    { class: "step osm", "aria-label": "What to take from the map", hidden: true },
    element("h2", {}, "From ", name),
    field("Streets for", network, "Which streets may be used, and which are one-way."),
    field("What streets cost", cost, "The planner keeps this small."),
    element(
      "label",
      { class: "check" },
      service,
      element("span", {}, "With service roads: alleys, driveways, ways through yards"),
    ),
    element(
      "label",
      { class: "check" },
      connected,
      element("span", {}, "Only the largest part within which everything can be reached"),
    ),
    go,
  );
  const options = () => ({
    network: network.value,
    cost: cost.value,
    service: service.checked,
    connected: connected.checked,
  });
  return {
    node,
    hide() {
      node.hidden = true;
    },
    show(chosenFile) {
      file = chosenFile;
      name.replaceChildren(named(file.name));
      node.hidden = false;
      node.scrollIntoView({ block: "center" });
      network.focus();
    },
  };
}
