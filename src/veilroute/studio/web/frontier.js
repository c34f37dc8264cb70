// What it costs: the frontier of privacy and length as a chart, with a slider that shows the routes of each point.
import { element, drawing, button, field, choices, chosen, choose, errorLine } from "./pieces.js";
import { percentText, plural, tableOf } from "./pieces.js";
import { cancelJob, followJob, getResult, isFinal, jobFailure, startJob } from "./api.js";
import { createProgress } from "./progress.js";

const WIDTH = 440,
  HEIGHT = 260,
  LEFT = 66,
  RIGHT = 12,
  TOP = 14,
  BOTTOM = 44;
const WAYS = { partition: "Fixed classes", randomised: "Drawn" };

const levelOf = (point) => point.risk ?? point.k;
const isShownPoint = (point) => point.num_anonymized > 0 && costOf(point) !== null;
const mText = (m) => (m === null || m === undefined ? "the whole route" : `the first ${m} nodes`);

function costOf(point) {
  return point.expected_mac ?? point.mac ?? null;
}

function niceStep(span, most) {
  const rough = span / most,
    power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? power;
}

// Points of one line: same mechanism, ell and m.
function seriesOf(points) {
  const series = new Map();
  points.forEach((point, index) => {
    if (!isShownPoint(point)) return;
    const key = `${point.mechanism} ${point.ell} ${point.m}`;
    if (!series.has(key)) series.set(key, { mechanism: point.mechanism, ell: point.ell, m: point.m, items: [] });
    series.get(key).items.push({ point, index });
  });
  for (const line of series.values()) line.items.sort((a, b) => levelOf(a.point) - levelOf(b.point));
  return [...series.values()];
}

function shape(mechanism, x, y, attributes) {
  if (mechanism === "partition") return drawing("circle", { cx: x, cy: y, r: 6, ...attributes });
  return drawing("rect", { x: x - 5.5, y: y - 5.5, width: 11, height: 11, ...attributes });
}

function axes(xOf, yOf, levels, top, isRisk) {
  const parts = [],
    step = niceStep(top, 5);
  for (let value = 0; value <= top + 1e-9; value += step) {
    parts.push(
      drawing("line", { class: "chart-grid", x1: LEFT, x2: WIDTH - RIGHT, y1: yOf(value), y2: yOf(value) }),
      drawing(
        "text",
        { class: "chart-text", x: LEFT - 6, y: yOf(value) + 4, "text-anchor": "end" },
        `${Number((100 * value).toFixed(1))} %`,
      ),
    );
  }
  for (const level of levels) {
    parts.push(
      drawing(
        "text",
        { class: "chart-text", x: xOf(level), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" },
        isRisk ? percentText(level, 0) : String(level),
      ),
    );
  }
  const name = isRisk ? "Largest chance of a place (risk)" : "Places that stay possible (k)";
  parts.push(
    drawing(
      "text",
      { class: "chart-title", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      name,
    ),
    drawing(
      "text",
      {
        class: "chart-title",
        x: -(TOP + HEIGHT - BOTTOM) / 2,
        y: 12,
        "text-anchor": "middle",
        transform: "rotate(-90)",
      },
      "Longer on average",
    ),
  );
  return parts;
}

// The chart; onPick(index) for a click on a point.
function createChart(points, onPick) {
  const lines = seriesOf(points),
    shown = lines.flatMap((line) => line.items),
    isRisk = shown.some(({ point }) => point.risk !== undefined);
  const levels = [...new Set(shown.map(({ point }) => levelOf(point)))].sort((a, b) => (isRisk ? b - a : a - b));
  const top = Math.max(0.01, ...shown.map(({ point }) => costOf(point))) * 1.05,
    inner = WIDTH - LEFT - RIGHT;
  const xOf = (level) => LEFT + (inner * (levels.indexOf(level) + 0.5)) / levels.length;
  const yOf = (cost) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * cost) / top;
  const ring = drawing("circle", { class: "chart-ring", r: 11, visibility: "hidden" }),
    marks = [];
  for (const { mechanism, items } of lines) {
    const spots = items.map(({ point }) => [xOf(levelOf(point)), yOf(costOf(point))]);
    marks.push(
      drawing("polyline", { class: `chart-line ${mechanism}`, points: spots.map((spot) => spot.join(",")).join(" ") }),
    );
    items.forEach(({ index }, i) =>
      marks.push(shape(mechanism, ...spots[i], { class: `chart-point ${mechanism}`, onclick: () => onPick(index) })),
    );
  }
  const node = drawing(
    "svg",
    {
      class: "frontier-chart",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": "How much longer routes get with privacy; the table below has the numbers",
    },
    ...axes(xOf, yOf, levels, top, isRisk),
    ...marks,
    ring,
  );
  function mark(index) {
    const point = points[index];
    ring.setAttribute("cx", xOf(levelOf(point)));
    ring.setAttribute("cy", yOf(costOf(point)));
    ring.setAttribute("visibility", "visible");
  }
  return { node, mark };
}

function legend(lines) {
  const ways = [...new Set(lines.map((line) => line.mechanism))];
  return element(
    "p",
    { class: "legend" },
    ways.map((way) =>
      element(
        "span",
        { class: "legend-item" },
        drawing(
          "svg",
          { viewBox: "0 0 34 14", class: "legend-mark", "aria-hidden": "true" },
          drawing("line", { class: `chart-line ${way}`, x1: 1, x2: 33, y1: 7, y2: 7 }),
          shape(way, 17, 7, { class: `chart-point ${way}` }),
        ),
        WAYS[way],
      ),
    ),
  );
}

function pointText(point) {
  const what =
    point.risk !== undefined && point.risk !== null ? `risk ${percentText(point.risk, 0)}` : `k = ${point.k}`;
  const reached = `${percentText(costOf(point))} longer, ${point.num_anonymized} of ${point.num_coverable} hidden`;
  return `${what}, ell ${point.ell}, ${WAYS[point.mechanism].toLowerCase()}: ${reached}`;
}

function pointsTable(points) {
  const heads = ["Promise", "ell", "m", "Mechanism", "Longer", "Hidden", "Best guess", "Status"];
  const row = (point) => [
    point.risk !== undefined ? `risk ${percentText(point.risk, 0)}` : `k = ${point.k}`,
    String(point.ell),
    mText(point.m),
    WAYS[point.mechanism],
    percentText(costOf(point)),
    `${point.num_anonymized} of ${point.num_coverable}`,
    percentText(point.bayes_success, 0),
    point.status,
  ];
  return element(
    "details",
    { class: "more" },
    element("summary", {}, "All points as a table"),
    tableOf(heads, points.map(row), { tabindex: "0", role: "region", "aria-label": "All points" }),
  );
}

const numbersOf = (text) =>
  text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number)
    .filter((value) => !Number.isNaN(value));

export function createCosts(panel, studio) {
  const { state, map } = studio,
    scenes = new Map();
  let isShown = false,
    job = null,
    points = [],
    order = [],
    chart = null,
    stop = null,
    at = 0,
    wanted = -1,
    basis = null;
  const error = errorLine(),
    progress = createProgress(cancel),
    out = element("div", { class: "frontier" });
  const promise = choices(
    "Along",
    [
      ["k", "k", "How many places stay possible."],
      ["risk", "risk", "The largest chance of a place."],
    ],
    "k",
    usual,
    { class: "choices segments" },
  );
  const levels = element("input", { type: "text", inputmode: "decimal" }),
    ells = element("input", { type: "text", inputmode: "decimal" });
  const limit = element("input", { type: "number", min: "1", value: "60" });
  const run = button("Compute", start, { class: "primary" });
  const form = element(
    "details",
    { class: "more", open: true },
    element("summary", {}, "What to compare"),
    promise,
    field("Values to compare", levels, "Whole numbers for k, shares such as 0.5 for risk, with commas between them."),
    field("Distances, ell", ells, "One or several, with commas between them."),
    field("Time limit for each point, seconds", limit, "Points that take longer are not proved."),
    run,
  );
  panel.append(
    element("h1", {}, "What it costs"),
    element(
      "p",
      { class: "explain" },
      "How much longer routes get with more privacy, for the places and the settings of Make. Every point is a " +
        "plan of its own.",
    ),
    form,
    error.node,
    progress.node,
    out,
  );

  function usual() {
    const most = Math.max(2, studio.make.numCandidates());
    levels.value =
      chosen(promise) === "risk" ? "0.5, 0.4, 0.3, 0.25" : [2, 3, 4, 5].filter((k) => k <= most).join(", ");
  }

  async function start() {
    error.clear();
    const missing = studio.make.missing();
    if (missing) return error.show(`${missing} (In Make.)`);
    const { source, options } = studio.make.request(),
      { k, risk, ell, m, mechanism, ...others } = options;
    const values = numbersOf(levels.value),
      distances = numbersOf(ells.value);
    const params = {
      source,
      options: others,
      [chosen(promise)]: values,
      mechanism: "both",
      time_limit_s: Number(limit.value) || 60,
    };
    if (distances.length) params.ell = distances;
    if (m !== undefined) params.m = [m];
    run.disabled = true;
    try {
      const found = await startJob("frontier", params, `frontier ${crypto.randomUUID?.() ?? Date.now()}`);
      studio.jobChanged(found);
      follow(found);
    } catch (problem) {
      error.show(problem);
      run.disabled = false;
    }
  }

  async function cancel() {
    progress.cancelling();
    try {
      await cancelJob(job.id);
    } catch (problem) {
      error.show(problem);
    }
  }

  // A frontier that is being computed, or one that was.
  function follow(found) {
    stop?.();
    job = found;
    basis = state.source;
    scenes.clear();
    if (isFinal(found)) return void finish(found);
    run.disabled = true;
    progress.start("Waiting for a worker");
    stop = followJob(found.id, { progress: progress.update, job: studio.jobChanged, lost: progress.lost, end: finish });
  }

  async function finish(found) {
    run.disabled = false;
    job = found;
    studio.jobChanged(found);
    if (!found.results.includes("frontier.json")) {
      progress.end("");
      return error.show(jobFailure(found));
    }
    try {
      ({ points } = await getResult(found.id, "frontier.json"));
      progress.end(`${plural(points.length, "point")} computed.`);
      if (found.state !== "done") error.show(jobFailure(found));
      build();
    } catch (problem) {
      progress.end("");
      error.show(problem);
    }
  }

  const slider = element("input", {
    type: "range",
    min: "0",
    step: "1",
    id: "frontier-slider",
    "aria-label": "Along the points, from cheap to dear",
    oninput: () => move(Number(slider.value)),
  });
  const figures = element("div", { class: "tiles" }),
    use = button(
      "Use this plan",
      () => studio.usePoint(`${job.id}/playbook-${order[at]}.json`, scenes.get(order[at])),
      { class: "primary" },
    );
  const say = element("p", { class: "point-text", role: "status" });

  function build() {
    order = points.map((_, index) => index).filter((index) => isShownPoint(points[index]));
    order.sort((a, b) => costOf(points[a]) - costOf(points[b]) || a - b);
    if (!order.length) return out.replaceChildren(element("p", {}, "None of these points hides anybody."));
    chart = createChart(points, (index) => {
      slider.value = order.indexOf(index);
      move(order.indexOf(index));
      slider.focus();
    });
    slider.max = order.length - 1;
    out.replaceChildren(
      chart.node,
      legend(seriesOf(points)),
      element("label", { for: "frontier-slider", class: "label" }, "Move along it: from cheap to dear"),
      slider,
      say,
      figures,
      use,
      pointsTable(points),
    );
    slider.value = 0;
    form.open = false;
    studio.toTop();
    move(0);
  }

  function tile(figure, text) {
    return element("div", { class: "tile" }, element("strong", {}, figure), element("span", {}, text));
  }

  function move(place) {
    at = place;
    const index = order[place],
      point = points[index];
    chart.mark(index);
    const text = pointText(point);
    slider.setAttribute("aria-valuetext", text);
    say.textContent = text;
    figures.replaceChildren(
      tile(percentText(costOf(point)), "longer on average"),
      tile(`${point.num_anonymized} of ${point.num_coverable}`, "hidden"),
      tile(percentText(point.bayes_success, 0), "best guess is right, on average"),
      tile(percentText(point.worst_posterior, 0), "likeliest spot at worst"),
    );
    showRoutes(index);
  }

  // Only the last point that was asked for is drawn, however late others arrive.
  async function showRoutes(index) {
    wanted = index;
    use.disabled = !scenes.has(index);
    try {
      if (!scenes.has(index)) scenes.set(index, await getResult(job.id, `scene-${index}.json`));
      use.disabled = false;
      if (isShown && wanted === index) studio.showOnMap(scenes.get(index), 0);
    } catch (problem) {
      error.show(problem);
    }
  }

  function show() {
    isShown = true;
    if (!levels.value) usual();
    if (!ells.value && state.base) ells.value = studio.make.now().ell ?? "";
    if (order.length && scenes.has(order[at]) && basis === state.source) studio.showOnMap(scenes.get(order[at]), 0);
    else if (state.base) studio.showOnMap(state.scene ?? state.base, state.scene ? 0 : null);
  }

  return {
    show,
    follow,
    hide() {
      isShown = false;
    },
    forget() {
      if (basis === state.source) return;
      stop?.();
      [points, order, job] = [[], [], null];
      levels.value = ells.value = "";
      choose(promise, "k");
      progress.end("");
      run.disabled = false;
      error.clear();
      form.open = true;
      out.replaceChildren();
    },
  };
}
