// Vehicles that go their tours as the slider says: by the clock or, where no times are known, by the way driven.
function movingVans(data, redraw) {
  const slider = document.getElementById("time"), play = document.getElementById("play");
  const { first, last, hasTimes } = data.clock, perSecond = (last - first) / 45;
  const items = new Map([...document.querySelectorAll("li.class")].map((item) => [Number(item.dataset.number), item]));
  let now = first, stamp = null, isPlaying = false;

  const clockText = (seconds) => [seconds / 3600 % 24, seconds / 60 % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");
  const wayText = (metres) => (metres < 1000 ? Math.round(metres) + " m" : (metres / 1000).toFixed(1) + " km");

  function placeOf({ times, spots, parts: [{ xy }] }) {
    let low = 0, high = times.length - 1;
    const point = (i) => [xy[2 * spots[i]], xy[2 * spots[i] + 1]];
    if (now <= times[0]) return point(0);
    if (now >= times[high]) return point(high);
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= now) low = middle; else high = middle;
    }
    const share = (now - times[low]) / (times[high] - times[low] || 1), [a, b] = [point(low), point(high)];
    return [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];
  }

  function doingOf({ times, stops, begins, ends }) {
    if (now < times[0]) return begins;
    const next = stops.find(({ leaves }) => now < leaves);
    if (next) return (now < next.arrives ? "next: " : "at ") + next.text;
    return now < times[times.length - 1] ? "all stops made" : ends;
  }

  function set(value) {
    now = Math.min(Math.max(value, first), last);
    slider.value = now;
    const text = hasTimes ? clockText(now) : wayText(now);
    document.getElementById("clock").textContent = text;
    slider.setAttribute("aria-valuetext", text);
    for (const van of data.classes) items.get(van.number).querySelector(".doing").textContent = doingOf(van);
    redraw();
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
    if (stamp !== null) set(now + (time - stamp) / 1000 * perSecond);
    stamp = time;
    if (now >= last) run(false); else requestAnimationFrame(tick);
  }

  play.addEventListener("click", () => {
    if (!isPlaying && now >= last) set(first);
    run(!isPlaying);
  });
  slider.addEventListener("input", () => { run(false); set(Number(slider.value)); });
  set(first);

  function draw(ctx, toScreen, isShown, isFaded) {
    for (const van of data.classes) {
      if (!isShown(van.number)) continue;
      const [x, y] = toScreen(...placeOf(van));
      ctx.globalAlpha = isFaded(van.number) ? 0.3 : 1;
      for (const [grow, fill] of [[3.5, "#000000"], [2.5, "#ffffff"], [0, van.fill]]) {
        ctx.fillStyle = fill;
        ctx.fillRect(x - 14 - grow, y - 10 - grow, 28 + 2 * grow, 20 + 2 * grow);
      }
      ctx.fillStyle = van.ink;
      ctx.font = "800 14px system-ui, sans-serif";
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      ctx.fillText(van.number, x, y + 0.5);
    }
    ctx.globalAlpha = 1;
  }
  return { draw };
}
