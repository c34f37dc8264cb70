// The studio's shell: tabs, the map that all views share, what is being looked at, and the address that brings it back.
import { element, button, errorLine } from "./pieces.js";
import {
  getAbout,
  getJob,
  getResult,
  isFinal,
  jobFailure,
  listFiles,
  listJobs,
  runJob,
  seal,
  setToken,
  startJob,
  followJob,
} from "./api.js";
import { createMap } from "./canvas.js";
import { createLook } from "./look.js";
import { createWatch } from "./watch.js";
import { createDrive } from "./drive.js";
import { buildStack } from "./stacked.js";
import { verdictLine } from "./result.js";
import { createMake } from "./make.js";
import { createCosts } from "./frontier.js";
import { createTrust } from "./trust.js";
import { createJobs } from "./joblist.js";
import { createLookMore } from "./look-more.js";
import { readAddress, addressOf } from "./address.js";
import { wireDrops } from "./drops.js";

const VIEWS = ["make", "cost", "look", "watch", "drive", "trust", "jobs"];
const SEALED_POLICY =
  "default-src 'none'; connect-src 'none'; img-src data: blob:; form-action 'none'; base-uri 'none'";
const NO_PLAN = {
  scene: null, playbook: null, isFinal: false, isRunning: false, plan: null, audit: null, days: null,
};
const byId = (id) => document.getElementById(id);

// What is being looked at. base: the scene of the map, for Make; scene: that of a plan; playbook and source are
// references for the server.
const state = {
  job: null,
  view: "make",
  files: [],
  base: null,
  source: null,
  sourceName: "",
  ...NO_PLAN,
};
const map = createMap(byId("map"));
const parts = { shown: null, onMap: null };
const seats = { look: null, watch: null, drive: null };
let token = "",
  version = "",
  isSealed = false;

// ---- the address -------------------------------------------------------------------------------------------------

const addressHere = (view) => addressOf({ job: state.job?.id, view, token });

function writeAddress() {
  const wanted = addressHere(state.view);
  if (location.hash !== wanted) history.replaceState(null, "", wanted);
}

// ---- tabs --------------------------------------------------------------------------------------------------------

const tabOf = (view) => byId(`tab-${view}`),
  panelOf = (view) => byId(`view-${view}`);

function markTabs(view) {
  for (const name of VIEWS) {
    const isOne = name === view;
    tabOf(name).setAttribute("aria-selected", isOne);
    tabOf(name).tabIndex = isOne ? 0 : -1;
    panelOf(name).hidden = !isOne;
  }
  document.body.dataset.view = view;
}

// Leaving Drive leaves the document: nothing that was typed there is in memory afterwards.
function go(view) {
  if (isSealed) {
    if (view === "drive") return;
    location.replace(addressHere(view));
    location.reload();
    return;
  }
  if (parts.shown) parts.shown.hide();
  state.view = view;
  markTabs(view);
  writeAddress();
  toTop();
  parts.shown = viewer(view);
  parts.shown.show();
}

function chooseTab(event) {
  const tab = event.target.closest("[role=tab]");
  if (tab) go(tab.dataset.view);
}

function moveTab(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key],
    at = VIEWS.indexOf(document.activeElement?.dataset.view);
  const next =
    event.key === "Home"
      ? 0
      : event.key === "End"
        ? VIEWS.length - 1
        : step === undefined
          ? -1
          : (at + step + VIEWS.length) % VIEWS.length;
  if (at < 0 || next < 0) return;
  event.preventDefault();
  // In Drive and around it only the focus moves: Drive is entered, and left, on purpose.
  for (const name of VIEWS) tabOf(name).tabIndex = name === VIEWS[next] ? 0 : -1;
  tabOf(VIEWS[next]).focus();
  if (!isSealed && VIEWS[next] !== "drive") go(VIEWS[next]);
}

// ---- views -------------------------------------------------------------------------------------------------------

function emptyView(panel, text) {
  panel.replaceChildren(
    element(
      "div",
      { class: "nothing" },
      element("p", {}, text),
      button("To Make", () => go("make"), { class: "primary" }),
    ),
  );
  return {
    show() {
      if (state.base) showOnMap(state.base, null);
    },
    hide() {},
  };
}

// Look, Watch and Drive are built anew for every scene, when they are first seen.
function seat(view, create) {
  const panel = panelOf(view);
  if (!state.scene && view === "watch" && state.days) {
    panel.replaceChildren(
      element("div", { class: "seat" }, element("h1", {}, "Observer’s seat"), buildStack(state.days)),
    );
    return {
      show() {
        setWide(true);
      },
      hide() {
        setWide(false);
      },
    };
  }
  if (!state.scene)
    return emptyView(
      panel,
      state.isRunning
        ? "Routes appear here as soon as there is a first plan."
        : "There is no plan yet: make one, or open a playbook.",
    );
  if (view === "drive" && !state.isFinal)
    return emptyView(
      panel,
      "The plan is still being improved. Drive opens when it is done: routes that change give places away.",
    );
  if (seats[view]?.scene !== state.scene || seats[view].days !== state.days) {
    const box = element("div", { class: "seat" });
    panel.replaceChildren(
      element("h1", { class: "unseen" }, `${tabOf(view).textContent.slice(1)}: ${state.sourceName}`),
      element("div", { class: "seat-verdict", role: "alert" }),
      box,
    );
    seats[view] = { scene: state.scene, days: state.days, part: create(box, panel) };
  }
  return {
    show() {
      showOnMap(state.scene, 0);
      judged();
      seats[view].part.show();
    },
    hide() {
      seats[view].part.hide();
    },
  };
}

// What a playbook says of itself is shown in all views; where the audit found it untrue, that stands above.
function judged() {
  for (const place of document.querySelectorAll(".seat-verdict")) {
    place.replaceChildren(...(state.audit && !state.audit.holds ? [verdictLine(state.audit)] : []));
  }
}

function lookParts(box, panel) {
  const look = createLook(box, map, state.scene),
    more = state.isFinal ? createLookMore(panel, studio) : null;
  return {
    show() {
      look.show();
      more?.show();
    },
    hide() {
      more?.hide();
      look.hide();
    },
  };
}

function viewer(view) {
  if (view === "look") return seat("look", lookParts);
  if (view === "watch") return seat("watch", (box) => createWatch(box, map, state.scene, { days: state.days }));
  if (view === "drive") return seat("drive", (box) => createDrive(box, map, state.scene, { seal: sealPage }));
  return { make, cost: costs, trust, jobs }[view];
}

// From now on neither our own code nor the browser lets a request out of this document.
function sealPage() {
  if (isSealed) return;
  isSealed = true;
  clearTimeout(parts.recount);
  seal();
  document.head.append(element("meta", { "http-equiv": "Content-Security-Policy", content: SEALED_POLICY }));
  document.body.classList.add("sealed");
}

function showOnMap(scene, trip) {
  if (parts.onMap !== scene) {
    const isSame =
      parts.onMap &&
      JSON.stringify(parts.onMap.map.box) === JSON.stringify(scene.map.box) &&
      parts.onMap.map.kind === scene.map.kind;
    map.setScene(scene, { keepView: isSame });
    parts.onMap = scene;
  }
  map.setTrip(trip);
}

function toTop() {
  byId("views").scrollTop = 0;
}

function setWide(isWide) {
  document.body.classList.toggle("wide", isWide);
  if (!isWide) requestAnimationFrame(() => map.redraw());
}

// ---- jobs and files ----------------------------------------------------------------------------------------------

async function refreshFiles() {
  state.files = await listFiles();
  return state.files;
}

function nameOf(reference) {
  const [id] = reference.split("/"),
    file = state.files.find((each) => each.id === id);
  if (file) return file.name.replace(/\.json$/, "");
  const job = parts.jobs?.find((each) => each.id === id);
  return job
    ? nameOf(job.params?.source ?? job.params?.playbook ?? "") || reference.split("/")[1] || ""
    : (reference.split("/")[1] ?? "");
}

function jobsListed(list) {
  parts.jobs = list;
  const count = list.filter((job) => !isFinal(job)).length,
    mark = byId("running");
  mark.hidden = count === 0;
  mark.textContent = String(count);
  mark.setAttribute("aria-label", `${count} running`);
  clearTimeout(parts.recount);
  if (count) parts.recount = setTimeout(recount, 5000);
}

// Jobs that nobody follows come to their end as well.
async function recount() {
  if (isSealed) return;
  try {
    jobsListed(await listJobs());
  } catch {
    /* Whoever waits for the server says so. */
  }
}

function jobChanged(job) {
  if (state.job?.id === job.id) state.job = job;
  const list = (parts.jobs ?? []).filter((each) => each.id !== job.id);
  jobsListed([job, ...list]);
}

function setJob(job) {
  state.job = job;
  jobChanged(job);
  writeAddress();
}

// An audit stands and falls with the scene that it came with: the same reference may mean another playbook later.
function setScene(scene, { isFinal: isLast, playbook, audit = null }) {
  Object.assign(state, { scene, isFinal: isLast, playbook, audit });
  trust.changed();
}

// Views that were built for what was there before are built again when something else is there.
function stateChanged() {
  trust.changed();
  if (["look", "watch", "drive"].includes(state.view) && !isSealed) go(state.view);
}

function forgetPlan() {
  Object.assign(state, NO_PLAN);
}

// A file is opened once for each version of the program, whose scenes may differ.
const openKey = (params) => `open ${version} ${JSON.stringify(params)}`;

// Opens what a file holds. The same file with the same options is opened once.
async function openFile(file, options, view = null) {
  try {
    if (file.kind === "ledger")
      return await loadJob((await startJob("linked", { ledger: file.id }, `linked ${file.id}`)).id, "watch");
    if (file.kind === "table") {
      if (!state.base) throw new Error(`${file.name} is a table of places: open a map first, then add it there.`);
      go("make");
      return make.useTable(file);
    }
    make.working(`Opening ${file.name} …`);
    const params = { source: file.id, ...options };
    const job = await runJob("open", params, {
      key: openKey(params),
      onStart: jobChanged,
      onProgress: ({ stage }) => make.working(`Opening ${file.name}: ${stage ?? ""} …`),
    });
    await loadJob(job.id, view ?? (file.kind === "playbook" ? "look" : "make"));
  } catch (problem) {
    make.showError(problem);
    if (view) throw problem;
  }
  make.working("");
}

// The scene of a map: of the job that made the network, or of opening the file, which is done once.
async function baseScene(source) {
  const [owner, name] = source.split("/");
  if (name) return getResult(owner, "scene.json");
  const job = await runJob("open", { source }, { key: openKey({ source }), onStart: jobChanged });
  return getResult(job.id, "scene.json");
}

// Shows a job: from a click, or from the address after a reload.
async function loadJob(id, view = null) {
  try {
    let job = await getJob(id);
    if (["open", "linked", "audit"].includes(job.kind) && !isFinal(job))
      job = await new Promise((resolve, reject) =>
        followJob(id, {
          end: resolve,
          lost: (problem) => {
            if (problem.status) reject(problem);
          },
        }),
      );
    await (
      { open: loadOpened, plan: loadPlan, frontier: loadFrontier, audit: loadAudit, linked: loadLinked }[job.kind] ??
      loadOther
    )(job, view);
  } catch (problem) {
    go("make");
    make.showError(problem);
  }
}

async function loadBase(source, params) {
  state.base = await baseScene(source);
  Object.assign(state, { source, sourceName: nameOf(source) || source });
  costs.forget();
  make.mapOpened(params);
}

async function loadOpened(job, view) {
  if (job.state !== "done") throw jobFailure(job);
  const scene = await getResult(job.id, "scene.json"),
    reference = job.params.source;
  forgetPlan();
  setJob(job);
  if (scene.playbook) {
    await loadOrigin(reference);
    return loadPlaybook(scene, reference, view ?? "look");
  }
  const source = job.results.includes("network.json") ? `${job.id}/network.json` : reference;
  Object.assign(state, { base: scene, source, sourceName: nameOf(reference) || "Map" });
  costs.forget();
  make.mapOpened(null);
  go(view ?? "make");
}

// Where a playbook is a result of a job, Make goes on from the map and the settings of that job.
async function loadOrigin(reference) {
  if (!reference.includes("/")) return;
  const { params } = await getJob(reference.split("/")[0]);
  if (params.source && params.source !== state.source) await loadBase(params.source, params);
}

// A playbook that was not planned here. Its map is there to look at; a new plan needs the map's own file.
function loadPlaybook(scene, playbook, view) {
  Object.assign(state, {
    base: state.base && sameMap(state.base, scene) ? state.base : null,
    sourceName: nameOf(playbook) || "playbook",
  });
  if (!state.base) state.source = null;
  setScene(scene, { isFinal: true, playbook });
  make.playbookOpened();
  go(view);
  if (!isSealed) make.audit(); // it came from who knows where
}

const sameMap = (a, b) => a.map.kind === b.map.kind && JSON.stringify(a.map.box) === JSON.stringify(b.map.box);

async function loadPlan(job, view) {
  forgetPlan();
  await loadBase(job.params.source, job.params);
  setJob(job);
  go(view ?? "make");
  make.watch(job);
}

async function loadFrontier(job, view) {
  forgetPlan();
  await loadBase(job.params.source, job.params);
  setJob(job);
  costs.follow(job);
  go(view ?? "cost");
}

async function loadAudit(job, view) {
  const playbook = job.params.playbook,
    opened = await runJob("open", { source: playbook }, { key: openKey({ source: playbook }) });
  await loadOpened(opened, view ?? "trust");
}

// Linked trips: the playbook that came last, with the days before it.
async function loadLinked(job, view) {
  if (!job.results.length) throw jobFailure(job);
  const names = ["ledger.json", "linked.json"].filter((name) => job.results.includes(name));
  const [ledger, linked] = await Promise.all(names.map((name) => getResult(job.id, name)));
  state.days = linked ?? ledger;
  setJob(job);
  go(view ?? "watch");
}

async function loadOther(job) {
  setJob(job);
  go("jobs");
}

// A point of a frontier becomes the plan: it is opened as any playbook is, and shown at once.
async function usePoint(reference, scene) {
  Object.assign(state, { plan: null, audit: null, days: null });
  setScene(scene, { isFinal: true, playbook: reference });
  make.playbookOpened();
  go("look");
  try {
    const job = await runJob("open", { source: reference }, { key: openKey({ source: reference }) });
    if (state.playbook === reference) setJob(job);
  } catch (problem) {
    make.showError(problem);
  }
}

function resumed(job) {
  jobChanged(job);
  if (state.job?.id === job.id || job.kind === "plan") return loadJob(job.id);
  return null;
}

const studio = {
  state,
  map,
  go,
  setWide,
  toTop,
  refreshFiles,
  openFile,
  nameOf,
  jobsListed,
  jobChanged,
  setJob,
  setScene,
  stateChanged,
  showOnMap,
  loadJob,
  usePoint,
  resumed,
  judged,
};
const make = createMake(panelOf("make"), studio);
studio.make = make;
const costs = createCosts(panelOf("cost"), studio),
  trust = createTrust(panelOf("trust"), studio),
  jobs = createJobs(panelOf("jobs"), studio);

// ---- files that are dropped --------------------------------------------------------------------------------------

// A file that falls on Trust is checked there; elsewhere Make opens it.
function takeDropped(file) {
  if (state.view === "trust") return trust.take(file);
  if (state.view !== "make") go("make");
  return make.take(file);
}

// ---- start -------------------------------------------------------------------------------------------------------

async function boot() {
  const address = readAddress(VIEWS);
  token = address.token;
  setToken(token);
  document.querySelector("[role=tablist]").addEventListener("click", chooseTab);
  document.querySelector("[role=tablist]").addEventListener("keydown", moveTab);
  window.addEventListener("hashchange", () => location.reload());
  wireDrops(byId("drop-veil"), () => !isSealed, takeDropped);
  state.view = address.view;
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  version = await getAbout().then(
    (about) => about.version,
    () => "",
  );
  if (!address.job) return go(["make", "jobs"].includes(address.view) ? address.view : "make");
  markTabs(address.view);
  try {
    const [list] = await Promise.all([listJobs(), refreshFiles()]);
    jobsListed(list);
  } catch (problem) {
    go("make");
    return make.showError(problem);
  }
  await loadJob(address.job, address.view);
}

boot();
