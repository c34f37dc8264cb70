// Jobs: what the server is doing and has done, to go back to, to cancel, to resume or to delete.
import { element, bareButton, button, errorLine, named, problemList, secondsText, saveBlob } from "./pieces.js";
import { cancelJob, deleteJob, getBlob, isFinal, listJobs, resumeJob } from "./api.js";

const KIND_TEXTS = {
  open: "Open a map",
  check: "Check places",
  plan: "Plan",
  audit: "Audit",
  risk: "Risk",
  frontier: "What it costs",
  replan: "Closed road",
  fleet: "A day of a fleet",
  linked: "Linked trips",
  export: "Export",
};
const STATE_TEXTS = {
  queued: ["…", "waiting"],
  running: ["▶", "running"],
  done: ["✓", "done"],
  failed: ["✗", "failed"],
  cancelled: ["■", "cancelled"],
  killed: ["!", "killed"],
};
const OPENABLE = new Set(["open", "plan", "audit", "frontier", "linked"]);

function whenText(stamp) {
  if (stamp === null || stamp === undefined) return "";
  const date = new Date(typeof stamp === "number" ? stamp * 1000 : stamp);
  return Number.isNaN(date.getTime())
    ? ""
    : date.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

const seconds = (stamp) => (typeof stamp === "number" ? stamp : Date.parse(stamp) / 1000);

export function createJobs(panel, studio) {
  const list = element("ul", { class: "jobs" }),
    error = errorLine(),
    empty = element(
      "p",
      { class: "explain" },
      "Nothing yet. What you start in Make stands here, also after a restart of the server.",
    );
  let timer = null,
    isShown = false;
  panel.append(element("h1", {}, "Jobs"), error.node, empty, list);

  const does = (action) => async (event) => {
    const pressed = event.currentTarget;
    pressed.disabled = true;
    error.clear();
    try {
      await action();
    } catch (problem) {
      error.show(problem);
    }
    await refresh();
  };

  function about(job) {
    const source = studio.nameOf(job.params?.source ?? job.params?.playbook ?? job.params?.ledger ?? "");
    const took = job.started && job.finished ? `, ${secondsText(seconds(job.finished) - seconds(job.started))}` : "";
    const detail = job.progress?.stage && !isFinal(job) ? `, ${job.progress.stage}` : "";
    return [
      source ? named(source) : null,
      element(
        "span",
        { class: "explain" },
        `${whenText(job.created)}${took}${detail}${job.attempt > 1 ? `, attempt ${job.attempt}` : ""}`,
      ),
    ];
  }

  function buttons(job) {
    const all = [];
    if (OPENABLE.has(job.kind) && (job.state !== "failed" || job.results.length))
      all.push(button("Open", () => studio.loadJob(job.id), { class: "primary" }));
    if (!isFinal(job))
      all.push(
        button(
          "Cancel",
          does(() => cancelJob(job.id)),
        ),
      );
    if (["failed", "killed", "cancelled"].includes(job.state))
      all.push(
        button(
          "Resume",
          does(async () => studio.resumed(await resumeJob(job.id))),
        ),
      );
    if (isFinal(job))
      all.push(
        button(
          "Delete",
          does(() => deleteJob(job.id)),
          { class: "quiet" },
        ),
      );
    return all;
  }

  function files(job) {
    if (!isFinal(job) || !job.results.length) return null;
    return element(
      "details",
      { class: "more" },
      element("summary", {}, "Files"),
      element(
        "ul",
        { class: "plain" },
        job.results.map((name) =>
          element(
            "li",
            {},
            bareButton(
              does(async () => saveBlob(await getBlob(`${job.id}/${name}`), name)),
              { class: "linklike" },
              name,
            ),
          ),
        ),
      ),
    );
  }

  function row(job) {
    const [sign, text] = STATE_TEXTS[job.state] ?? ["", job.state];
    return element(
      "li",
      {
        class: `job ${job.state}`,
        "data-job": job.id,
        "aria-current": studio.state.job?.id === job.id ? "true" : null,
      },
      element(
        "div",
        { class: "job-head" },
        element("strong", {}, KIND_TEXTS[job.kind] ?? job.kind),
        element("span", { class: `pill ${job.state}` }, element("span", { "aria-hidden": "true" }, `${sign} `), text),
      ),
      element("p", { class: "job-about" }, about(job)),
      job.error ? element("p", { class: "error" }, named(job.error)) : null,
      job.problems?.length > 1 ? problemList(job.problems) : null,
      element("div", { class: "button-row" }, buttons(job)),
      files(job),
    );
  }

  // Rows that have not changed stay, so that the focus and open lists do.
  const drawn = new Map();

  function draw(jobs) {
    const rows = jobs.map((job) => {
      const key = JSON.stringify([
          job.state,
          job.progress?.stage,
          job.results,
          job.attempt,
          job.error,
          studio.state.job?.id === job.id,
        ]),
        old = drawn.get(job.id);
      if (old?.key === key) return old.node;
      const node = row(job);
      drawn.set(job.id, { key, node });
      return node;
    });
    if (rows.length !== list.children.length || rows.some((node, i) => list.children[i] !== node))
      list.replaceChildren(...rows);
    empty.hidden = jobs.length > 0;
  }

  async function refresh() {
    try {
      const jobs = await listJobs();
      jobs.sort((a, b) => seconds(b.created) - seconds(a.created));
      studio.jobsListed(jobs);
      draw(jobs);
    } catch (problem) {
      error.show(problem);
    }
  }

  async function poll() {
    await refresh();
    if (isShown) timer = setTimeout(poll, 2000);
  }

  return {
    show() {
      isShown = true;
      studio.setWide(true);
      poll();
    },
    hide() {
      isShown = false;
      studio.setWide(false);
      clearTimeout(timer);
    },
    refresh,
  };
}
