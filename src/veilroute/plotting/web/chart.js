// Risk over time as a small picture with a table beside it: how sure an observer can be at worst, and how often the best
// guess is right, after so many nodes.
import { buildElement, percent } from "./elements.js";

const CHART = { wide: 320, high: 120, left: 34, right: 314, top: 8, low: 102 };

// figures: {at, worst, bayes, length} of a trip; promise: {m, bound, areas, distance}. setStep moves to another step.
export function buildRiskChart({ at, worst, bayes, length }, { m, bound, areas, distance }) {
  const { left, right, top, low } = CHART;
  const toX = (step) => left + (right - left) * (length > 1 ? (step - 1) / (length - 1) : 0);
  const toY = (share) => low - (low - top) * share;
  const level = (kind, share) => {
    return buildElement("line", { class: kind, x1: left, x2: right, y1: toY(share), y2: toY(share) });
  };
  const now = buildElement("line", { class: "seat-now", y1: top - 4, y2: low });
  const name = chartText(at, worst, bayes, length);
  const svg = buildElement(
    "svg", { class: "seat-chart", viewBox: `0 0 ${CHART.wide} ${CHART.high}`, role: "img", "aria-label": name },
    ...[0, 0.5, 1].flatMap((share) => [
      level("seat-grid", share),
      buildElement("text", { x: left - 5, y: toY(share) + 4, "text-anchor": "end" }, `${100 * share}%`),
    ]),
    m !== null && m < length ? unpromised(toX(m)) : null,
    bound === null ? null : level("seat-bound", bound),
    buildElement("path", { class: "seat-worst", d: stairs(at, worst, length, toX, toY) }),
    buildElement("path", { class: "seat-bayes", d: stairs(at, bayes, length, toX, toY) }),
    now,
    buildElement("text", { x: left, y: CHART.high - 4 }, "1 node"),
    buildElement("text", { x: right, y: CHART.high - 4, "text-anchor": "end" }, `${length} nodes`),
  );
  const setStep = (step) => {
    now.setAttribute("x1", toX(Math.min(step, length)));
    now.setAttribute("x2", toX(Math.min(step, length)));
  };
  const legend = chartLegend(bound, (!areas || areas.length) && distance);
  const figure = buildElement("figure", { class: "seat-figure" }, svg, legend, riskTable(at, worst, bayes));
  return { figure, setStep };
}

// A line that keeps each value until the next begins.
function stairs(at, values, length, toX, toY) {
  const known = at.map((step, i) => [step, values[i]]).filter(([, value]) => value !== null);
  const moves = known.map(([step, value], i) => {
    const next = i + 1 < known.length ? known[i + 1][0] : length;
    return `${i ? "L" : "M"}${toX(step)} ${toY(value)}L${toX(next)} ${toY(value)}`;
  });
  return moves.join("");
}

function unpromised(from) {
  const { right, top, low } = CHART;
  return buildElement(
    "g", {},
    buildElement("rect", { class: "seat-beyond", x: from, y: top, width: right - from, height: low - top }),
    buildElement("text", { x: right - 3, y: top + 10, "text-anchor": "end" }, "nothing is promised"),
  );
}

function chartLegend(bound, distance) {
  const what = distance ? `an area less than ${distance} across` : "one place";
  return buildElement(
    "figcaption", {},
    buildElement("span", { class: "seat-key seat-key-worst" }, `how sure an observer can be of ${what} at worst`),
    buildElement("span", { class: "seat-key seat-key-bayes" }, "how often the best guess is right on average"),
    bound === null ? null : boundKey(bound),
  );
}

function boundKey(bound) {
  return buildElement("span", { class: "seat-key seat-key-bound" }, `promised: at most ${percent(bound)}`);
}

function chartText(at, worst, bayes, length) {
  if (!at.length) return "No risk over time: nobody is hidden";
  const last = at.length - 1;
  const part = (values) => `${percent(values[0] ?? 0)} after 1 node to ${percent(values[last] ?? 0)} after ${length}`;
  return `Risk over time. How sure an observer can be at worst: ${part(worst)}. The best guess is right: ${part(bayes)}.`;
}

function riskTable(at, worst, bayes) {
  const cells = (texts) => texts.map((text) => buildElement("td", {}, text));
  const values = (i) => [String(at[i]), percent(worst[i] ?? 0), percent(bayes[i] ?? 0)];
  const rows = at.map((_, i) => buildElement("tr", {}, ...cells(values(i))));
  const heads = ["Nodes seen", "Sure at worst", "Best guess is right on average"];
  const head = buildElement("tr", {}, ...heads.map((text) => buildElement("th", { scope: "col" }, text)));
  const table = buildElement("table", {}, buildElement("thead", {}, head), buildElement("tbody", {}, ...rows));
  return buildElement("details", {}, buildElement("summary", {}, "The same as a table"), table);
}
