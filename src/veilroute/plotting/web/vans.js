// Vehicles that go their tours as the slider says: by the clock or, where no times are known, by the way driven.
import { buildElement } from "./elements.js";
import { partLine } from "./overlay.js";

const DAY_SECONDS = 45; // that it takes to show a day

function clockText(seconds) {
  return [(seconds / 3600) % 24, (seconds / 60) % 60]
    .map((part) => String(Math.floor(part)).padStart(2, "0"))
    .join(":");
}

function wayText(metres) {
  return metres < 1000 ? `${Math.round(metres)} m` : `${(metres / 1000).toFixed(1)} km`;
}

// Where a vehicle is at a time.
export function vanPlace(van, now) {
  const { times, spots } = van,
    xy = partLine(van.parts[0]),
    point = (i) => [xy[2 * spots[i]], xy[2 * spots[i] + 1]];
  let low = 0,
    high = times.length - 1;
  if (now <= times[0]) return point(0);
  if (now >= times[high]) return point(high);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= now) low = middle;
    else high = middle;
  }
  const share = (now - times[low]) / (times[high] - times[low] || 1),
    [a, b] = [point(low), point(high)];
  return [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];
}

export function vanDoing({ times, stops, begins, ends }, now) {
  if (now < times[0]) return begins;
  const next = stops.find(({ leaves }) => now < leaves);
  if (next) return (now < next.arrives ? "next: " : "at ") + next.text;
  return now < times[times.length - 1] ? "all stops made" : ends;
}

export function paintVan(ctx, van, [x, y], isFaded) {
  ctx.globalAlpha = isFaded ? 0.3 : 1;
  for (const [grow, fill] of [
    [3.5, "#000000"],
    [2.5, "#ffffff"],
    [0, van.colour],
  ]) {
    ctx.fillStyle = fill;
    ctx.fillRect(x - 14 - grow, y - 10 - grow, 28 + 2 * grow, 20 + 2 * grow);
  }
  ctx.fillStyle = van.ink;
  ctx.font = "800 14px system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(van.number, x, y + 0.5);
  ctx.globalAlpha = 1;
}

// ---- the slider ----

export function createClock({ first, last, hasTimes }, onTime) {
  const perSecond = (last - first) / DAY_SECONDS;
  let now = first,
    stamp = null,
    isPlaying = false;
  const said = buildElement("output", { class: "time" });
  const slider = buildElement("input", {
    type: "range",
    min: first,
    max: last,
    step: "any",
    value: first,
    "aria-label": "Time",
  });
  const play = buildElement("button", { type: "button", class: "button", "aria-label": "Play" }, "▶");

  function set(value) {
    now = Math.min(Math.max(value, first), last);
    slider.value = now;
    said.textContent = hasTimes ? clockText(now) : wayText(now);
    slider.setAttribute("aria-valuetext", said.textContent);
    onTime(now);
  }

  function run(value) {
    isPlaying = value;
    stamp = null;
    play.textContent = isPlaying ? "❚❚" : "▶";
    play.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    if (isPlaying) requestAnimationFrame(tick);
  }

  function tick(time) {
    if (!isPlaying) return;
    if (stamp !== null) set(now + ((time - stamp) / 1000) * perSecond);
    stamp = time;
    if (now >= last) run(false);
    else requestAnimationFrame(tick);
  }

  play.addEventListener("click", () => {
    if (!isPlaying && now >= last) set(first);
    run(!isPlaying);
  });
  slider.addEventListener("input", () => {
    run(false);
    set(Number(slider.value));
  });
  return { element: buildElement("div", { class: "clock" }, play, slider, said), set };
}
