// What a running job says of itself: stage, hidden, MAC, bound and gap, as numbers, a bar and a small chart.
import { element, drawing, button, percentText, secondsText } from "./pieces.js";

const WIDTH = 300,
  HEIGHT = 72,
  MOST_POINTS = 400;

// A chart of the MAC (falling) and its proved bound (rising) over time; where they meet the plan is optimal.
function createGapChart() {
  const mac = drawing("polyline", { class: "chart-mac" }),
    bound = drawing("polyline", { class: "chart-bound" });
  const node = drawing(
    "svg",
    { class: "gap-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    bound,
    mac,
  );
  const caption = element(
    "p",
    { class: "legend", "aria-hidden": "true" },
    element("span", { class: "key key-mac" }),
    " best plan  ",
    element("span", { class: "key key-bound" }),
    " proved bound",
  );
  let points = [];

  function draw() {
    const last = points.at(-1),
      values = points.flatMap((point) => [point.mac, point.bound]).filter((value) => value !== null);
    if (!last || !values.length) return;
    const high = Math.max(...values),
      low = Math.min(...values),
      span = high - low || 1,
      first = points[0].at,
      time = last.at - first || 1;
    const xOf = (at) => (((at - first) / time) * (WIDTH - 8) + 4).toFixed(1);
    const yOf = (value) => (HEIGHT - 6 - ((value - low) / span) * (HEIGHT - 12)).toFixed(1);
    const line = (name) =>
      points
        .filter((point) => point[name] !== null)
        .map((point) => `${xOf(point.at)},${yOf(point[name])}`)
        .join(" ");
    mac.setAttribute("points", line("mac"));
    bound.setAttribute("points", line("bound"));
  }

  return {
    node: element("div", { class: "gap-figure" }, node, caption),
    clear() {
      points = [];
      mac.setAttribute("points", "");
      bound.setAttribute("points", "");
    },
    add(point) {
      points.push(point);
      if (points.length > MOST_POINTS) points = points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
      draw();
    },
  };
}

// The card of a running job. onCancel() is called for the button.
export function createProgress(onCancel) {
  const stage = element("p", { class: "stage" }),
    bar = element(
      "div",
      {
        class: "gap-bar",
        role: "progressbar",
        "aria-label": "How much is proved",
        "aria-valuemin": "0",
        "aria-valuemax": "100",
      },
      element("span"),
    );
  const figures = Object.fromEntries(
    ["hidden", "longer", "bound", "gap", "time"].map((name) => [name, element("dd", {}, "–")]),
  );
  const list = element(
    "dl",
    { class: "figures" },
    [
      ["Hidden", "hidden"],
      ["Longer (MAC)", "longer"],
      ["At least", "bound"],
      ["Gap", "gap"],
      ["Elapsed", "time"],
    ].map(([text, name]) => element("div", {}, element("dt", {}, text), figures[name])),
  );
  const cancel = button("Cancel, keep the best", onCancel, { class: "danger" });
  const chart = createGapChart(),
    live = element("p", { class: "unseen", "aria-live": "polite" }),
    lost = element("p", { class: "explain warn" });
  const node = element(
    "section",
    { class: "progress", "aria-label": "Progress", hidden: true },
    stage,
    bar,
    list,
    chart.node,
    lost,
    cancel,
    live,
  );
  let saidAt = 0,
    saidStage = "",
    began = 0,
    timer = null,
    lastElapsed = null,
    best = null;

  // Somebody who listens hears a new stage, and otherwise how it stands every ten seconds.
  function say(text, stageName, now) {
    if (stageName === saidStage && now - saidAt < 10000) return;
    if (now - saidAt < 2000) return;
    saidAt = now;
    saidStage = stageName;
    live.textContent = text;
  }

  function tick() {
    if (lastElapsed !== null) figures.time.textContent = secondsText(lastElapsed + (performance.now() - began) / 1000);
  }

  function setBar(share) {
    bar.firstChild.style.width = `${(100 * share).toFixed(1)}%`;
    bar.setAttribute("aria-valuenow", Math.round(100 * share));
  }

  // A search that begins anew begins with worse plans; the best that was found is kept, and it is what counts.
  function bestOf({ hidden, mac, bound }) {
    const isKnown = mac !== null && mac !== undefined;
    if (isKnown && (!best || hidden > best.hidden || (hidden === best.hidden && mac < best.mac)))
      best = { hidden, mac };
    const isBound = best && bound !== null && bound !== undefined;
    return {
      hidden: best?.hidden ?? hidden,
      mac: best?.mac,
      bound: isBound ? bound : null,
      gap: isBound ? Math.max(0, best.mac - bound) / Math.max(bound, 1e-12) : null,
    };
  }

  function start(text) {
    best = null;
    chart.clear();
    for (const figure of Object.values(figures)) figure.textContent = "–";
    [saidAt, saidStage, lastElapsed, began] = [0, "", 0, performance.now()];
    setBar(0);
    cancel.disabled = false;
    lost.textContent = "";
    stage.textContent = text;
    live.textContent = text;
    node.hidden = false;
    clearInterval(timer);
    timer = setInterval(tick, 200);
  }

  function update(progress) {
    const { stage: text, done, total, elapsed_s: elapsed } = progress,
      { hidden, mac, bound, gap } = bestOf(progress);
    const shown = text ? text[0].toUpperCase() + text.slice(1) : "Working",
      gapText = gap === null ? "–" : gap > 10 ? "large" : percentText(gap, 2);
    lost.textContent = "";
    stage.textContent = total ? `${shown} (${done.toLocaleString("en")} of ${total.toLocaleString("en")})` : shown;
    if (elapsed !== null && elapsed !== undefined) [lastElapsed, began] = [elapsed, performance.now()];
    if (hidden !== null && hidden !== undefined) figures.hidden.textContent = String(hidden);
    if (mac !== undefined) {
      figures.longer.textContent = percentText(mac);
      chart.add({ at: elapsed ?? 0, mac, bound });
    }
    if (bound !== null) figures.bound.textContent = percentText(bound);
    if (gap !== null) figures.gap.textContent = gapText;
    setBar(gap !== null ? 1 / (1 + gap) : total ? (done / total) * 0.5 : 0);
    const parts = [
      shown,
      hidden ? `${hidden} hidden` : "",
      mac ? `${percentText(mac)} longer` : "",
      gap !== null ? `gap ${gapText}` : "",
    ];
    say(parts.filter(Boolean).join(", "), text, performance.now());
  }

  function end(text) {
    clearInterval(timer);
    node.hidden = true;
    if (text) live.textContent = text;
  }

  return {
    node,
    start,
    update,
    end,
    queued(text) {
      stage.textContent = text;
    },
    cancelling() {
      cancel.disabled = true;
      stage.textContent = "Stopping with the best so far";
    },
    lost(error) {
      lost.textContent = `${error.message} Trying again.`;
    },
  };
}
