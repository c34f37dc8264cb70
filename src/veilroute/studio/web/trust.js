// Trust: the audit as a report that can be printed. Verdict, claims with evidence, hashes, and how to check it oneself.
import { element, button, named, errorLine, plural, tableOf } from "./pieces.js";
import { getResult, runJob, uploadFile, getJob } from "./api.js";
import { observerFacts } from "./elements.js";

const GROUPS = [
  [
    "The routes are what they say",
    ["walk", "coverage", "cost", "same-route", "turns", "legal", "directions", "detours", "contingencies"],
  ],
  [
    "Places stay hidden",
    [
      "partition",
      "class-size",
      "spread",
      "coverable",
      "anonymized",
      "anonymizable",
      "risk",
      "shares",
      "draws",
      "history",
      "linked",
      "hidden-mass",
    ],
  ],
  ["What it costs is right", ["apr", "mac", "extra-cost", "expected-mac", "certificate", "bound", "optimality"]],
];
const OTHERS = "What is shown besides";
const SIGNS = { holds: ["✓", "holds"], violated: ["✗", "violated"], unproved: ["?", "not proved"] };

function stateOf(claim) {
  if (!claim.holds) return "violated";
  return claim.checked ? "holds" : "unproved";
}

function claimRow(claim) {
  const state = stateOf(claim),
    [sign, text] = SIGNS[state];
  return element(
    "tr",
    { class: `claim ${state}` },
    element(
      "td",
      { class: "sign-cell" },
      element("span", { class: "sign", "aria-hidden": "true" }, sign),
      element("span", { class: "sign-text" }, text),
    ),
    element("th", { scope: "row" }, claim.claim),
    element("td", {}, named(claim.evidence)),
  );
}

function claimsPart(claims) {
  const left = new Set(claims),
    parts = [];
  for (const [title, names] of [...GROUPS, [OTHERS, null]]) {
    const own = [...left].filter((claim) => names === null || names.includes(claim.claim));
    own.forEach((claim) => left.delete(claim));
    if (!own.length) continue;
    parts.push(
      element(
        "section",
        { class: "claim-group" },
        element("h3", {}, title),
        element(
          "table",
          { class: "claims" },
          element(
            "thead",
            { class: "unseen" },
            element(
              "tr",
              {},
              ["Verdict", "Claim", "Evidence"].map((text) => element("th", { scope: "col" }, text)),
            ),
          ),
          element("tbody", {}, own.map(claimRow)),
        ),
      ),
    );
  }
  return parts;
}

// A report of another playbook than the one that is shown says nothing about this one, whatever its verdict.
function isOfAnother(audit, scene) {
  return Boolean(scene?.playbook) && audit.playbook_sha256 !== scene.playbook.sha256;
}

function banner(audit, scene) {
  const all = audit.claims.length,
    unproved = audit.claims.filter((claim) => stateOf(claim) === "unproved").length,
    broken = audit.claims.filter((claim) => !claim.holds).length;
  const [kind, sign, title, text] = isOfAnother(audit, scene)
    ? ["bad", "✗", "This report is about another playbook", "Its hash is not that of the playbook that is shown."]
    : !audit.holds
    ? [
        "bad",
        "✗",
        "The playbook does not keep its word",
        `${plural(broken, "claim is", "claims are")} violated. Do not use it.`,
      ]
    : unproved
      ? [
          "warn",
          "✓",
          "The playbook keeps its word",
          `${all - unproved} of ${all} claims hold; ${unproved} could not be proved, and none is violated.`,
        ]
      : audit.observer?.warnings.length
        ? ["warn", "✓", "The playbook keeps its word", `All ${all} claims hold. Read the warning below.`]
        : ["good", "✓", "The playbook keeps its word", `All ${all} claims hold.`];
  return element(
    "div",
    { class: `banner ${kind}`, role: "status" },
    element("span", { class: "banner-sign", "aria-hidden": "true" }, sign),
    element("div", {}, element("h2", {}, title), element("p", {}, text)),
  );
}

// Rows of equal figures become one, as in the auditor's own report.
function spans(steps) {
  const rows = [];
  for (const step of steps) {
    const last = rows.at(-1),
      revealed = step.revealed?.length ?? 0,
      exposed = step.exposed?.length ?? 0;
    const isSame =
      last &&
      last.trip === step.trip &&
      last.smallest === step.smallest_class &&
      last.widest === step.widest_witness &&
      last.revealed === revealed &&
      last.exposed === exposed;
    if (isSame) last.to = step.m;
    else
      rows.push({
        trip: step.trip,
        from: step.m,
        to: step.m,
        smallest: step.smallest_class,
        widest: step.widest_witness,
        revealed,
        exposed,
      });
  }
  return rows;
}

function overTime(steps) {
  const rows = spans(steps),
    severalTrips = rows.some((row) => row.trip > 0);
  return [
    element("h2", {}, "Anonymity over time"),
    element(
      "p",
      { class: "explain" },
      "How many places stay possible, at least, to an observer who has seen the first nodes of the route.",
    ),
    tableOf(
      [...(severalTrips ? ["Trip"] : []), "Nodes seen", "Smallest group", "ell apart of them", "Exposed"],
      rows.map((row) => [
        ...(severalTrips ? [String(row.trip + 1)] : []),
        row.from === row.to ? String(row.from) : `${row.from}–${row.to}`,
        String(row.smallest ?? "–"),
        String(row.widest ?? "–"),
        String(row.exposed),
      ]),
    ),
  ];
}

function aboutText(value) {
  if (value === null || value === undefined) return "none";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value))
    return value.map((each) => (each?.start ? `${each.start} to ${each.goal}` : aboutText(each))).join("; ");
  return Object.entries(value)
    .map(([name, each]) =>
      name.startsWith("num_")
        ? `${aboutText(each)} ${name.slice(4)}`
        : ["sha256", "number"].includes(name)
          ? each
          : `${name} ${aboutText(each)}`,
    )
    .join(", ");
}

function hashes(audit, scene) {
  const bound = audit.bound_to ?? [],
    isCompared = bound.some(({ agrees }) => agrees !== null);
  const rows = bound.map(({ what, playbook, agrees }) => [
    what,
    named(what === "m" && playbook === null ? "the whole route" : aboutText(playbook)),
    agrees === null ? "" : agrees ? "agrees" : "differs",
  ]);
  const own = audit.playbook_sha256 ? [["playbook", element("code", {}, audit.playbook_sha256), ""]] : [];
  const heads = ["What", "As the playbook says", "Compared"].slice(0, isCompared ? 3 : 2);
  return [
    element("h2", {}, "What it is about"),
    element(
      "p",
      { class: "explain" },
      "Hashes (SHA-256) tie the report to a playbook, a map, candidates and names. That these are the ones you " +
        "meant is for you to compare.",
    ),
    tableOf(
      heads,
      [...own, ...rows].map((row) => row.slice(0, heads.length)),
    ),
  ];
}

function howTo(name) {
  const lines = [
    ["Save the playbook, then let the auditor replay the observer", `veilroute audit ${name}`],
    ["Compare it with the instance that you meant", `veilroute audit ${name} --instance INSTANCE.json`],
    ["How much a route tells who knows what is likely", `veilroute risk ${name} --prior PRIOR.csv`],
    [
      "The hash of the playbook, the same with its map and without",
      `python -c "import veilroute; print(veilroute.read_playbook('${name}').sha256)"`,
    ],
  ];
  return [
    element("h2", {}, "How to check this yourself"),
    element(
      "p",
      { class: "explain" },
      "The auditor shares no code with the planners. It runs on your machine, without this page.",
    ),
    element(
      "ol",
      { class: "commands" },
      lines.map(([text, line]) => element("li", {}, element("span", {}, text), element("code", {}, line))),
    ),
  ];
}

export function createTrust(panel, studio) {
  const { state } = studio,
    report = element("article", { class: "report" }),
    error = errorLine(),
    status = element("p", { class: "explain", role: "status" });
  const input = element("input", { type: "file", class: "hidden-file", accept: ".json" });
  const print = button("Print", () => window.print());
  let shownFor = null,
    isShown = false;
  input.addEventListener("change", () => {
    if (input.files[0]) checkFile(input.files[0]);
    input.value = "";
  });
  panel.append(
    element(
      "div",
      { class: "trust-head" },
      element("h1", {}, "Audit report"),
      element(
        "div",
        { class: "button-row no-print" },
        print,
        element("label", { class: "file-button" }, input, element("span", {}, "Check a playbook of mine")),
      ),
    ),
    status,
    error.node,
    report,
  );

  function build(audit, scene, name) {
    const hidden = scene?.playbook?.notHidden ?? [];
    report.replaceChildren(
      banner(audit, scene),
      element("p", { class: "report-about" }, named(name), `, ${new Date().toISOString().slice(0, 10)}`),
      ...(scene?.playbook?.hint ? [element("p", {}, named(scene.playbook.hint))] : []),
      ...(hidden.length
        ? [
            element(
              "p",
              { class: "warn-text" },
              `Not hidden: `,
              ...hidden.flatMap((each, i) => [i ? ", " : "", named(each)]),
            ),
          ]
        : []),
      observerFacts(audit.observer),
      element("h2", {}, "Claims"),
      ...claimsPart(audit.claims),
      ...hashes(audit, scene),
      ...overTime(audit.anonymity ?? []),
      ...howTo("playbook.json"),
    );
  }

  async function audited(playbook) {
    const [owner] = playbook.split("/");
    if (playbook.endsWith("/playbook.json")) {
      const job = await getJob(owner);
      if (job.results.includes("audit.json")) return getResult(owner, "audit.json");
    }
    status.textContent = "Replaying the observer …";
    const job = await runJob(
      "audit",
      { playbook },
      {
        key: `audit ${playbook}`,
        onProgress: ({ stage }) => {
          if (stage) status.textContent = `${stage} …`;
        },
      },
    );
    return getResult(job.id, "audit.json");
  }

  async function load() {
    const { playbook, scene } = state;
    error.clear();
    if (!playbook) {
      report.replaceChildren(element("p", {}, "There is no plan yet. Make one, or check a playbook file of yours."));
      print.disabled = true;
      shownFor = null;
      return;
    }
    if (shownFor === scene) return;
    report.replaceChildren();
    try {
      const audit = state.audit ?? (await audited(playbook));
      if (state.scene !== scene) return;
      state.audit = audit;
      studio.judged();
      status.textContent = "";
      build(audit, scene, state.sourceName);
      print.disabled = false;
      shownFor = scene;
    } catch (problem) {
      status.textContent = "";
      error.show(problem);
    }
  }

  async function checkFile(file) {
    error.clear();
    try {
      status.textContent = `Sending ${file.name} …`;
      const sent = await uploadFile(file);
      await studio.refreshFiles();
      if (sent.kind !== "playbook") throw new Error(`${sent.name} is not a playbook (${sent.kind}).`);
      status.textContent = "";
      await studio.openFile(sent, {}, "trust");
    } catch (problem) {
      status.textContent = "";
      error.show(problem);
    }
  }

  return {
    show() {
      isShown = true;
      studio.setWide(true);
      load();
    },
    hide() {
      isShown = false;
      studio.setWide(false);
    },
    changed() {
      if (shownFor !== state.scene) shownFor = null;
      if (isShown) load();
    },
    take: checkFile,
  };
}
