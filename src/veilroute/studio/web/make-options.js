// How private a plan is to be: the controls of Make for k or risk, ell, sight, m, spread, mechanism and the rest.
import { element, field, select, choices, chosen, choose } from "./pieces.js";

const MEASURES = [
  ["cost", "cost"],
  ["driving", "metres driven"],
  ["walking", "metres walked"],
  ["straight", "metres straight"],
];
// What the planner takes where nothing is said.
const USUAL = {
  k: 2,
  risk: null,
  ell: 0,
  ell_measure: "cost",
  m: null,
  spread: "witness",
  mechanism: "partition",
  radius: 0,
  radius_measure: "cost",
  sight: null,
  seed: 0,
  snap: "door",
  side: "any",
  movement: 4,
};

const number = (attributes) => element("input", { type: "number", inputmode: "decimal", ...attributes });
const read = (input) => (input.value.trim() === "" ? null : Number(input.value));

// The controls; priors = {list(): files that are tables, upload(file)}.
export function createOptionsPart(priors) {
  let base = { ...USUAL },
    map = null;

  const promise = choices(
    "Promise",
    [
      ["k", "Places left (k)", "At least this many places stay possible."],
      ["risk", "Chance (risk)", "No area becomes likelier than this."],
    ],
    "k",
    refresh,
    { class: "choices segments" },
  );
  const k = number({ min: "1", step: "1" }),
    risk = number({ min: "0.01", max: "1", step: "any", value: "0.5" });
  const kField = field(
    "Places that stay possible, k",
    k,
    "An observer of the whole route still has at least this many places to choose from.",
  );
  const riskField = field(
    "Largest chance, risk",
    risk,
    "On no route can an observer be surer than this of any area less than ell across: 0.5 is one in two.",
  );
  const prior = select([["", "all equally likely"]], "");
  const priorFile = element("input", { type: "file", class: "hidden-file", accept: ".csv,.tsv,.txt,.xlsx" });
  const priorField = field(
    "How likely each place is",
    prior,
    "A table of place,weight: what the observer knows beforehand.",
    element("label", { class: "file-button" }, priorFile, element("span", {}, "Add a table")),
  );
  priorFile.addEventListener("change", async () => {
    const [file] = priorFile.files;
    priorFile.value = "";
    const added = file ? await priors.upload(file) : null;
    if (added) setPriors(priors.list(), added.id);
  });
  const ell = number({ min: "0", step: "any" }),
    ellMeasure = select(MEASURES, "cost", { "aria-label": "Measure of ell" });
  const ellField = field(
    "Distance between them, ell",
    ell,
    "k of the places that stay possible are at least this far apart, so that they are not all behind one door.",
    ellMeasure,
  );
  const mechanism = choices(
    "Mechanism",
    [
      ["partition", "Fixed classes", "Each place is in one class and always has the same route."],
      ["randomised", "Drawn", "A route is drawn for each trip, by chance or by a key: often cheaper."],
    ],
    "partition",
    refresh,
    { class: "choices segments" },
  );
  const mechanismNote = element("p", { class: "explain" });

  const sightKind = choices(
    "A place is passed when it is",
    [
      ["radius", "within reach", "Within a walking or driving distance of the route."],
      ["sight", "in sight", "In line of sight of the route, within a range. Grids only."],
    ],
    "radius",
    refresh,
    { class: "choices segments" },
  );
  const radius = number({ min: "0", step: "any" }),
    radiusMeasure = select(MEASURES, "cost", { "aria-label": "Measure of the radius" });
  const radiusField = field("Reach", radius, "0: the route must go to the place itself.", radiusMeasure);
  const sight = number({ min: "0", step: "any", value: "5" });
  const sightField = field("Range of sight", sight, "How far one sees along a free line, in cells.");
  const m = number({ min: "1", step: "1", placeholder: "the whole route" });
  const spread = select(
    [
      ["witness", "some k of them (witness)"],
      ["all-pairs", "all of them, in pairs"],
    ],
    "witness",
  );
  const objective = select(
    [
      ["mac", "mean detour in percent (MAC)"],
      ["total", "sum of detours"],
    ],
    "mac",
  );
  const contingencies = number({ min: "0", max: "50", step: "1", value: "0" });
  const seed = number({ min: "0", step: "1", value: "0" });
  const snap = select(
    [
      ["door", "at its door"],
      ["junction", "at the next junction"],
    ],
    "door",
  );
  const side = select(
    [
      ["any", "from either side"],
      ["kerb", "on its own side of the road"],
    ],
    "any",
  );
  const movement = select(
    [
      ["4", "4 ways"],
      ["8", "8 ways"],
    ],
    "4",
  );
  const streetsOnly = element(
    "div",
    { class: "group" },
    field("Where a place on streets is", snap, "At its door on the road, or at the next junction."),
    field("Which traffic passes a door", side, "With two carriageways only one side may reach it."),
  );
  const movementField = field("Moves on the grid", movement, "Whether one walks diagonally.");
  const origin = element("input", { type: "text", placeholder: "LAT,LON", autocomplete: "off" }),
    cell = number({ min: "0", step: "any" });
  const earthOnly = element(
    "div",
    { class: "group" },
    field(
      "Where on earth the grid lies",
      origin,
      "Its north-west corner as LAT,LON; with the width of a cell there are GPX, KML and directions.",
    ),
    field("Width of a cell, metres", cell, null),
  );
  const ledger = select([["", "none"]], "");
  const ledgerField = field(
    "Under a ledger",
    ledger,
    "Everybody stays hidden also from who links this trip with those of the ledger.",
  );
  const limit = number({ min: "1", step: "1", value: "300" });

  const more = element(
    "details",
    { class: "more" },
    element("summary", {}, "More: sight, m, closed roads, time limit"),
    sightKind,
    radiusField,
    sightField,
    field(
      "Hide the first nodes only, m",
      m,
      "Empty: an observer of the whole route learns no more. A number makes routes shorter, and protects only " +
        "against who loses sight.",
    ),
    field(
      "Who must be ell apart",
      spread,
      "Witness asks it of some k places; all pairs asks it of everybody in a class.",
    ),
    field("What to keep small", objective, "Mean ratio of detours, or their sum."),
    field(
      "Ready for closed roads",
      contingencies,
      "Also plan what to do when one of the N roads that hurt most is closed; 0 for none.",
    ),
    streetsOnly,
    movementField,
    earthOnly,
    ledgerField,
    field("Seed", seed, "For everything that is drawn at random. The same seed gives the same plan."),
    field(
      "Time limit, seconds",
      limit,
      "After this the best plan so far is kept, with a proved bound where there is one.",
    ),
  );
  const node = element(
    "section",
    { class: "step", "aria-label": "How private" },
    element("h2", {}, "How private"),
    promise,
    kField,
    riskField,
    priorField,
    ellField,
    mechanism,
    mechanismNote,
    more,
  );

  function refresh() {
    const isRisk = chosen(promise) === "risk",
      isStreets = map !== null && map.kind !== "grid",
      sees = chosen(sightKind) === "sight" && !isStreets;
    kField.hidden = isRisk;
    riskField.hidden = priorField.hidden = !isRisk;
    ellMeasure.hidden = radiusMeasure.hidden = !map || map.kind !== "streets";
    sightKind.hidden = isStreets;
    radiusField.hidden = sees;
    sightField.hidden = !sees;
    streetsOnly.hidden = !map || map.kind !== "streets";
    earthOnly.hidden = isStreets;
    ledgerField.hidden = ledger.options.length < 2;
    movementField.hidden = isStreets || base.isInstance;
    mechanismNote.textContent =
      chosen(mechanism) === "partition"
        ? "Each place belongs to one class and always gets the same route."
        : "Each place has several routes; one is drawn for every trip, by chance or by your key.";
  }

  function setPriors(files, value) {
    const old = value ?? prior.value;
    prior.replaceChildren(
      element("option", { value: "" }, "all equally likely"),
      ...files.map((file) => element("option", { value: file.id }, file.name)),
    );
    prior.value = files.some((file) => file.id === old) ? old : "";
  }

  function setLedgers(files) {
    ledger.replaceChildren(
      element("option", { value: "" }, "none"),
      ...files.map((file) => element("option", { value: file.id }, file.name)),
    );
    refresh();
  }

  function put(values) {
    choose(promise, values.risk !== null && values.risk !== undefined ? "risk" : "k");
    k.value = values.k ?? 2;
    if (values.risk) risk.value = values.risk;
    ell.value = values.ell;
    ellMeasure.value = values.ell_measure;
    m.value = values.m ?? "";
    spread.value = values.spread;
    choose(mechanism, values.mechanism);
    choose(sightKind, values.sight === null || values.sight === undefined ? "radius" : "sight");
    radius.value = values.radius ?? 0;
    radiusMeasure.value = values.radius_measure;
    if (values.sight !== null && values.sight !== undefined) sight.value = values.sight;
    seed.value = values.seed;
    snap.value = values.snap;
    side.value = values.side;
    movement.value = String(values.movement);
    origin.value = values.origin ?? "";
    cell.value = values.cell ?? "";
  }

  // What an instance says is the base; a bare map of streets gets distances that make sense there.
  function reset(scene) {
    const instance = scene.instance;
    map = scene.map;
    base = { ...USUAL, ...(instance ? said(instance) : {}), isInstance: Boolean(instance) };
    const first = instance || map.kind !== "streets" ? base : { ...base, ell: 200, ell_measure: "straight" };
    put(first);
    refresh();
  }

  function said({ privacy = {}, visibility = {} }) {
    const {
      k = 2,
      ell = 0,
      m = null,
      spread: reading = "witness",
      measure = "cost",
      risk: bound = null,
      mechanism: way = "partition",
    } = privacy;
    const sees =
      visibility.kind === "line-of-sight"
        ? { sight: visibility.range }
        : { radius: visibility.radius ?? 0, radius_measure: visibility.measure ?? "cost" };
    return {
      k: bound === null ? k : null,
      ell,
      m,
      spread: reading,
      ell_measure: measure,
      risk: bound,
      mechanism: way,
      ...sees,
    };
  }

  // What an earlier job was given, over the base.
  function take(options, params) {
    const m = options.m === undefined ? base.m : options.m === "inf" ? null : Number(options.m);
    put({
      ...base,
      ...options,
      m,
      ...(options.k ? { risk: null } : {}),
      ...(options.radius === undefined ? {} : { sight: null }),
    });
    if (options.prior) setPriors(priors.list(), options.prior);
    if (params.time_limit_s) limit.value = params.time_limit_s;
    if (params.objective) objective.value = params.objective;
    refresh();
  }

  function now() {
    const isRisk = chosen(promise) === "risk",
      sees = chosen(sightKind) === "sight" && map.kind === "grid";
    return {
      ...(isRisk ? { risk: read(risk), k: null } : { k: read(k), risk: null }),
      ell: read(ell),
      ell_measure: ellMeasure.value,
      m: read(m),
      spread: spread.value,
      mechanism: chosen(mechanism),
      ...(sees ? { sight: read(sight), radius: base.radius } : { radius: read(radius), sight: null }),
      radius_measure: radiusMeasure.value,
      seed: read(seed) ?? 0,
      snap: snap.value,
      side: side.value,
      movement: Number(movement.value),
    };
  }

  // Only what differs from what the file says, as the server takes it.
  function options() {
    const values = now(),
      found = {};
    for (const [key, value] of Object.entries(values)) {
      if (value !== null && value !== base[key]) found[key] = value;
    }
    if (values.m === null && base.m !== null) found.m = "inf";
    else if (found.m) found.m = String(found.m);
    if (values.sight === null && base.sight !== null) found.radius = values.radius;
    if (map.kind === "grid" && origin.value.trim() && read(cell))
      Object.assign(found, { origin: origin.value.trim(), cell: read(cell) });
    if (chosen(promise) === "risk" && prior.value) found.prior = prior.value;
    return found;
  }

  function params() {
    const found = { time_limit_s: read(limit) ?? 300 },
      roads = read(contingencies);
    if (objective.value !== "mac") found.objective = objective.value;
    if (ledger.value) found.ledger = ledger.value;
    if (roads) found.contingencies = `worst ${roads}`;
    return found;
  }

  return { node, reset, take, options, params, now, setPriors, setLedgers };
}
