// Make: from a map to a plan. Open a map, say where and how private, and see routes while the optimum is being proved.
import { element, button, named, errorLine, plural } from "./pieces.js";
import {
  ApiError,
  cancelJob,
  followJob,
  getResult,
  isFinal,
  jobError,
  jobFailure,
  resumeJob,
  runJob,
  startJob,
  uploadFile,
} from "./api.js";
import { Places, createPlacesPart } from "./make-places.js";
import { createOptionsPart } from "./make-options.js";
import { createOpenPart } from "./make-open.js";
import { createProgress } from "./progress.js";
import { resultCard } from "./result.js";

const KIND_NAMES = { grid: "grid", streets: "streets", graph: "graph" };

// studio is the shell: its map, state, and ways to other views (studio.js).
export function createMake(panel, studio) {
  const { state, map } = studio,
    places = new Places();
  let stop = null,
    isShown = false,
    isChoosing = false,
    isEdited = false;
  const placesError = errorLine(),
    planError = errorLine();
  const open = createOpenPart({
    open: studio.openFile,
    files: studio.refreshFiles,
    back: () => {
      isChoosing = false;
      arrange();
      draw();
    },
  });
  const placesPart = createPlacesPart(places, { changed: placesChanged, table: (file) => takeTable(file) });
  const optionsPart = createOptionsPart({
    list: () => state.files.filter((file) => file.kind === "table"),
    upload: (file) => upload(file, planError),
  });
  const head = element("div", { class: "map-head" }),
    resultBox = element("div", { class: "result-box" });
  const progress = createProgress(cancel);
  const plan = button("Plan", startPlan, { class: "primary large" }),
    costs = button("What it costs", () => studio.go("cost"));
  const bar = element("div", { class: "plan-bar" }, plan, costs),
    editor = element(
      "div",
      { class: "editor", hidden: true },
      head,
      planError.node,
      progress.node,
      resultBox,
      placesPart.node,
      placesError.node,
      optionsPart.node,
      bar,
    );
  panel.append(open.node, editor);

  // Disabled for good manners only: a button that is really disabled would lose the focus of who pressed it.
  function setBusy(isBusy) {
    plan.setAttribute("aria-disabled", isBusy);
  }

  function refreshHead() {
    const kind = state.base.map.kind,
      rows = state.base.map.grid?.rows;
    const about = rows ? `${rows.length} × ${rows[0].length} cells` : KIND_NAMES[kind];
    head.replaceChildren(
      element("div", {}, element("h1", {}, named(state.sourceName)), element("p", { class: "explain" }, about)),
      button(
        "Another map",
        () => {
          isChoosing = true;
          arrange();
          open.refresh();
        },
        { class: "quiet" },
      ),
    );
  }

  // The first screen or the editor, and whether the map is seen beside it.
  function arrange() {
    const isOpening = isChoosing || !state.base;
    open.node.hidden = !isOpening;
    editor.hidden = isOpening;
    // A playbook from a file has no map to plan on: what can be done with it stands above the first screen.
    if (state.base) progress.node.after(resultBox);
    else open.node.before(resultBox);
    open.setBack(state.base ? state.sourceName : "");
    studio.setWide(isOpening);
  }

  function placesChanged() {
    placesError.clear();
    leavePlan();
    map.setMarks(places.marks());
  }

  // Routes of an earlier plan go as soon as its places are others.
  function leavePlan() {
    if (!state.scene || state.isRunning) return;
    isEdited = true;
    map.setTrip(null);
  }

  async function upload(file, error) {
    try {
      error.clear();
      const sent = await uploadFile(file);
      await studio.refreshFiles();
      return sent;
    } catch (problem) {
      error.show(problem);
      return null;
    }
  }

  // A file that was dropped: a table of places for the map that is open, or something to open in its place.
  async function takeFile(file) {
    if (isChoosing || !state.base) return open.take(file);
    const sent = await upload(file, planError);
    if (!sent) return studio.toTop();
    if (sent.kind !== "osm") return studio.openFile(sent, {});
    isChoosing = true;
    arrange();
    return open.choose(sent);
  }

  async function takeTable(file) {
    const sent = await upload(file, placesError);
    if (sent) useTable(sent);
  }

  function useTable(sent) {
    if (sent.kind !== "table") return placesError.show(`${sent.name} is not a table of places (${sent.kind}).`);
    places.table = { id: sent.id, name: sent.name };
    placesPart.refresh();
    placesChanged();
    checkTable(sent);
  }

  // Rows that cannot be found are named now, and not when somebody plans.
  async function checkTable({ id }) {
    try {
      await runJob("check", request());
    } catch (problem) {
      const problems = problem.problems?.filter(({ row }) => row) ?? [];
      if (places.table?.id === id && problems.length) placesError.show({ message: problem.message, problems });
    }
  }

  function pick({ x, y, text, reach }) {
    if (!isShown || state.isRunning) return;
    const mode = placesPart.mode();
    if (mode === "remove") places.removeNear({ x, y }, reach ?? nearEnough());
    else if (text) places.put(mode, { x, y, text });
    else return placesError.show("There is nothing to stand on there.");
    placesPart.refresh();
    placesChanged();
    if (mode === "start") placesPart.setMode(places.goal ? "candidate" : "goal");
    else if (mode === "goal") placesPart.setMode("candidate");
  }

  function nearEnough() {
    const [west, south, east, north] = state.base.map.box;
    return Math.max(east - west, north - south) / 40;
  }

  function request() {
    return { source: state.source, options: { ...places.options(), ...optionsPart.options() } };
  }

  async function startPlan() {
    placesError.clear();
    planError.clear();
    const missing = places.missing();
    if (plan.getAttribute("aria-disabled") === "true") return;
    if (missing) return placesError.show(missing);
    setBusy(true);
    try {
      const key = `plan ${crypto.randomUUID?.() ?? `${Date.now()} ${Math.random()}`}`;
      const job = await startJob("plan", { ...request(), ...optionsPart.params() }, key);
      resultBox.replaceChildren();
      studio.toTop();
      studio.setJob(job);
      watch(job);
    } catch (problem) {
      planError.show(problem);
      setBusy(false);
      studio.toTop();
    }
  }

  async function resume(id) {
    try {
      planError.clear();
      const job = await resumeJob(id);
      resultBox.replaceChildren();
      studio.setJob(job);
      watch(job);
    } catch (problem) {
      planError.show(problem);
    }
  }

  async function cancel() {
    progress.cancelling();
    try {
      await cancelJob(state.job.id);
    } catch (problem) {
      planError.show(problem);
    }
  }

  // Shows a plan that is being made, from now on, or one that was.
  function watch(job) {
    stop?.();
    const id = job.id;
    isEdited = false;
    Object.assign(state, {
      isRunning: !isFinal(job),
      isFinal: false,
      plan: null,
      audit: null,
      scene: null,
      playbook: null,
    });
    setBusy(state.isRunning);
    if (!state.isRunning) return finish(job);
    map.setTrip(null);
    progress.start(job.state === "queued" ? "Waiting for a worker" : "Starting");
    if (job.progress) progress.update(job.progress);
    if (job.results?.includes("scene.json")) interim(id);
    studio.stateChanged();
    stop = followJob(id, {
      progress: progress.update,
      job: (now) => {
        studio.jobChanged(now);
        if (now.state === "queued") progress.queued("Waiting for a worker");
      },
      result: (name, isLast) => {
        if (name === "scene.json" && !isLast) interim(id);
      },
      lost: progress.lost,
      end: finish,
    });
  }

  async function interim(id) {
    try {
      const scene = await getResult(id, "scene.json");
      if (state.job?.id !== id || state.isFinal) return;
      studio.setScene(scene, { isFinal: false, playbook: null });
      draw();
      studio.stateChanged(); // who waits in Look or Watch for the first routes sees them
    } catch (problem) {
      if (!(problem instanceof ApiError) || problem.status !== 404) planError.show(problem);
    }
  }

  async function finish(job) {
    const { id, results } = job,
      isOurs = () => state.job?.id === id && state.job.attempt === job.attempt;
    studio.jobChanged(job);
    if (!isOurs()) return;
    state.isRunning = false;
    setBusy(false);
    if (!results.includes("playbook.json")) {
      progress.end(jobError(job));
      planError.show(jobFailure(job));
      if (job.state === "killed") resultBox.replaceChildren(button("Resume", () => resume(id), { class: "primary" }));
      return studio.stateChanged();
    }
    try {
      const [scene, figures, audit] = await Promise.all(
        ["scene.json", "plan.json", "audit.json"].map((name) => (results.includes(name) ? getResult(id, name) : null)),
      );
      if (!isOurs()) return;
      state.plan = figures;
      if (scene) studio.setScene(scene, { isFinal: true, playbook: `${id}/playbook.json`, audit });
      progress.end(figures ? `Done: ${figures.num_anonymized} of ${figures.num_candidates} hidden.` : "Done.");
      if (job.state !== "done" && job.state !== "cancelled") planError.show(jobFailure(job));
      showResult();
      takeDrawn(scene);
      draw();
      if (!audit && figures?.num_anonymized && job.state === "cancelled") auditNow();
    } catch (problem) {
      progress.end("");
      planError.show(problem);
    }
    studio.stateChanged();
  }

  // Who cancels also ends the audit that would have followed: it is made up for. A playbook from a file has had none.
  async function auditNow() {
    const { playbook, scene } = state;
    if (!playbook) return;
    try {
      const job = await runJob("audit", { playbook }, { key: `audit ${playbook}`, onStart: studio.jobChanged });
      const audit = await getResult(job.id, "audit.json");
      if (state.scene !== scene) return;
      state.audit = audit;
      showResult();
      studio.judged();
    } catch (problem) {
      if (state.scene === scene) planError.show(problem);
    }
  }

  // Candidates that were drawn or came from a table are known now, and can be edited.
  function takeDrawn(scene) {
    if (!scene || !(places.random || places.table)) return;
    places.candidates = scene.playbook.candidates.map(({ label, name, x, y }) => ({ text: label, name, x, y }));
    const [{ start, goal }] = scene.playbook.trips;
    places.start = { ...start, text: start.label };
    places.goal = { ...goal, text: goal.label };
    if (places.random) places.random = null;
    placesPart.refresh();
  }

  function showResult() {
    resultBox.replaceChildren(
      resultCard({
        plan: state.plan,
        audit: state.audit,
        playbook: state.playbook,
        observer: state.scene?.playbook.observer,
        map: (state.base ?? state.scene).map,
        name: state.sourceName,
        go: studio.go,
        state: state.job?.state,
        onResume: () => resume(state.job.id),
      }),
    );
    if (isShown) studio.toTop();
  }

  // Routes where a plan is there, with Make's own marks only while there is none.
  function draw() {
    if (!isShown || !state.base) return;
    if (state.scene && !isEdited) {
      map.setMarks([]);
      studio.showOnMap(state.scene, 0);
    } else {
      studio.showOnMap(state.base, null);
      map.setMarks(places.marks());
    }
  }

  function show() {
    isShown = true;
    map.onPick = pick;
    arrange();
    draw();
    if (!state.base) open.refresh();
  }

  function hide() {
    isShown = false;
    map.onPick = null;
    map.setMarks([]);
    studio.setWide(false);
  }

  // A map is there: its own values, and over them those of the job that is looked at.
  function mapOpened(params) {
    isChoosing = isEdited = false;
    stop?.();
    setBusy(false);
    places.reset(state.base);
    optionsPart.reset(state.base);
    optionsPart.setPriors(
      state.files.filter((file) => file.kind === "table"),
      null,
    );
    optionsPart.setLedgers(state.files.filter((file) => file.kind === "ledger"));
    if (params?.options) {
      places.take(params.options);
      optionsPart.take(params.options, params);
    }
    placesPart.refresh();
    placesPart.setMode(places.start ? (places.goal ? "candidate" : "goal") : "start");
    placesError.clear();
    planError.clear();
    resultBox.replaceChildren();
    progress.end("");
    refreshHead();
    if (isShown) show();
  }

  // A playbook from a file or from a frontier: there is nothing to follow.
  function playbookOpened() {
    stop?.();
    progress.end("");
    state.isRunning = isEdited = false;
    setBusy(!state.source);
    showResult();
    draw();
  }

  return {
    show,
    hide,
    mapOpened,
    playbookOpened,
    audit: auditNow,
    watch,
    request,
    useTable,
    numCandidates: () => (places.random ? places.random : places.candidates.length),
    take: takeFile,
    showError: (problem) => {
      open.working("");
      (state.base && !isChoosing ? planError : open.error).show(problem);
    },
    working: open.working,
    summary: () => plural(places.candidates.length, "candidate"),
    now: optionsPart.now,
    missing: () => places.missing(),
  };
}
