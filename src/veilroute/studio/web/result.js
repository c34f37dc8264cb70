// What a plan came to: headline, verdict of the audit, ways on, and files to take away.
import { element, button, named, percentText, plural, errorLine, saveBlob } from "./pieces.js";
import { getBlob, runJob } from "./api.js";
import { observerFacts } from "./elements.js";

const ON_EARTH = [
  ["gpx", "GPX"],
  ["geojson", "GeoJSON"],
  ["kml", "KML"],
  ["txt", "Directions"],
];
const ANYWHERE = [
  ["html", "HTML map"],
  ["csv", "CSV"],
  ["xlsx", "XLSX"],
  ["pdf", "PDF report"],
];

const STATUS = {
  optimal: "proved optimal",
  feasible: "best so far, not proved",
  heuristic: "without proof",
  infeasible: "nobody can be hidden",
};

export function statusText({ status, gap }) {
  if (status === "feasible" && gap) return `at most ${percentText(gap)} above the optimum`;
  return STATUS[status] ?? status;
}

function tile(figure, text, kind = "") {
  return element("div", { class: `tile ${kind}` }, element("strong", {}, figure), element("span", {}, text));
}

// What was reached; plan is plan.json. Green only where there is nothing to be careful about.
export function headline(plan, isGood) {
  const all = plan.num_candidates,
    isAll = plan.num_anonymized === all;
  return element(
    "div",
    { class: "tiles" },
    tile(`${plan.num_anonymized} of ${all}`, "hidden", isAll && isGood ? "good" : "warn"),
    tile(percentText(plan.mac), "longer on average"),
    tile(
      plan.status === "optimal" ? "Optimal" : percentText(plan.gap),
      plan.status === "optimal" ? "proved" : plan.gap === null ? statusText(plan) : "gap to the bound",
      plan.status === "optimal" ? "good" : "",
    ),
  );
}

// The verdict of an audit in a line, with a sign that does not rest on colour.
export function verdictLine(audit) {
  const warned = audit.observer?.warnings.length ?? 0;
  const all = audit.claims.length,
    held = audit.claims.filter((claim) => claim.holds).length;
  const unchecked = audit.claims.filter((claim) => claim.holds && !claim.checked).length;
  const [sign, kind, text] = audit.holds
    ? [
        "✓",
        unchecked || warned ? "warn" : "good",
        unchecked
          ? `Audited: ${all - unchecked} of ${all} claims hold, ${unchecked} could not be proved.`
          : `Audited: all ${all} claims hold.`,
      ]
    : ["✗", "bad", `Audited: ${plural(all - held, "claim is", "claims are")} violated.`];
  return element(
    "p",
    { class: `verdict-line ${kind}` },
    element("span", { class: "sign", "aria-hidden": "true" }, sign),
    ` ${text}`,
  );
}

function obstacles(plan) {
  const found = plan.obstacles ?? [];
  if (!found.length) return null;
  return element(
    "details",
    { class: "more" },
    element(
      "summary",
      {},
      `Why ${plural(plan.num_candidates - plan.num_anonymized, "candidate is", "candidates are")} not hidden`,
    ),
    element(
      "ul",
      { class: "plain" },
      found.map(({ reason }) => element("li", {}, named(reason))),
    ),
  );
}

// Buttons that make a file and save it. playbook is a reference; the map says which formats make sense.
export function exportButtons(playbook, map) {
  const error = errorLine(),
    status = element("p", { class: "explain", role: "status" });
  const isStreets = Boolean(map.earth);
  const formats = [...(isStreets ? ON_EARTH : []), ...ANYWHERE];
  const make = (format, text) => async (event) => {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    error.clear();
    status.textContent = `Making ${text} …`;
    try {
      const job = await runJob("export", { playbook, format }, { key: `export ${playbook} ${format}` });
      const name = job.results.find((each) => each.startsWith("routes")) ?? `routes.${format}`;
      saveBlob(await getBlob(`${job.id}/${name}`), name);
      status.textContent = `Saved: ${name}`;
    } catch (problem) {
      status.textContent = "";
      error.show(problem);
    }
    pressed.disabled = false;
  };
  const save = async () => {
    try {
      error.clear();
      saveBlob(await getBlob(playbook), "playbook.json");
      status.textContent = "Saved: playbook.json";
    } catch (problem) {
      error.show(problem);
    }
  };
  return element(
    "div",
    { class: "exports" },
    element("h3", {}, "Take it with you"),
    element(
      "div",
      { class: "button-row" },
      button("Playbook", save),
      formats.map(([format, text]) => button(text, make(format, text))),
    ),
    isStreets
      ? null
      : element(
          "p",
          { class: "explain" },
          "GPX and KML need a place on earth: streets, or a grid with an origin and a width of its cells.",
        ),
    status,
    error.node,
  );
}

const TITLES = {
  cancelled: "The best plan before you cancelled",
  killed: "The best plan before its worker was killed",
};

// The card of a plan that is there; onResume where its search did not come to its end.
export function resultCard({ plan, audit, playbook, observer, map, name, go, state, onResume }) {
  const title = plan ? (TITLES[state] ?? "Your plan") : `Opened: ${name}`;
  const ways = [
    ["look", "Look at the routes"],
    ["watch", "Be the observer"],
    ["drive", "Drive"],
    ["trust", "Audit report"],
  ];
  return element(
    "section",
    { class: "result", "aria-label": title },
    element("h2", {}, named(title)),
    plan ? headline(plan, !observer?.warnings.length) : null,
    observerFacts(observer),
    plan
      ? element(
          "p",
          { class: "explain" },
          `${plural(plan.classes.filter((group) => group.anonymized).length, "route")}; ${statusText(plan)}.`,
        )
      : null,
    audit
      ? verdictLine(audit)
      : state === "cancelled" && plan?.num_anonymized
        ? element("p", { class: "explain", role: "status" }, "Being audited …")
        : null,
    plan ? obstacles(plan) : null,
    element(
      "div",
      { class: "onward" },
      ways.map(([view, text], i) => button(text, () => go(view), { class: i === 0 ? "primary" : "" })),
    ),
    plan && TITLES[state] ? element("p", {}, button("Search on, from the beginning", onResume)) : null,
    exportButtons(playbook, map),
  );
}
