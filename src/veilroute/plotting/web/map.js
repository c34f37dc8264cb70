// The map of a playbook, or of a day, on a canvas. No library, no request: everything it shows is in the block of data above.
// Coordinates are decimetres east and north.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("canvas"), ctx = canvas.getContext("2d");
  const tip = document.getElementById("tip");
  const view = { x: 0, y: 0, scale: 1 };  // what is in the middle of the canvas, and pixels per decimetre
  const hidden = new Set();
  let fitted = data.focus;  // the box that fills the canvas, until the user moves or zooms
  let chosen = null, width = 0, height = 0, isQueued = false;

  // Streets by tiles, so that only what is in view is drawn: a box, one path for each rank, and the lines' numbers.
  const street = data.streets, points = decode(street.points), tiles = new Map();
  const firsts = [0];
  for (const size of street.sizes) firsts.push(firsts[firsts.length - 1] + size);
  const tileSize = Math.max(5000, Math.max(data.box[2] - data.box[0], data.box[3] - data.box[1]) / 24);
  for (let i = 0; i < street.sizes.length; i++) {
    const key = [0, 1].map((j) => Math.floor(points[2 * firsts[i] + j] / tileSize)).join();
    if (!tiles.has(key)) {
      const paths = [0, 1, 2, 3].map(() => new Path2D());
      tiles.set(key, { box: [Infinity, Infinity, -Infinity, -Infinity], paths, lines: [] });
    }
    const tile = tiles.get(key), path = tile.paths[street.ranks[i]];
    for (let j = firsts[i]; j < firsts[i + 1]; j++) {
      const x = points[2 * j], y = points[2 * j + 1];
      if (j === firsts[i]) path.moveTo(x, y); else path.lineTo(x, y);
      const [west, south, east, north] = tile.box;
      tile.box = [Math.min(west, x), Math.min(south, y), Math.max(east, x), Math.max(north, y)];
    }
    tile.lines.push(i);
  }
  for (const group of data.classes) for (const part of group.parts) part.xy = decode(part.points);
  const detours = data.detours || [];  // the ways on where a road is closed; one is shown at a time
  let detour = null;
  const vans = typeof movingVans === "function" ? movingVans(data, redraw) : null;  // on maps of a day only

  // ---- drawing ----

  const toScreen = (x, y) => [(x - view.x) * view.scale + width / 2, (view.y - y) * view.scale + height / 2];
  const toMap = (px, py) => [(px - width / 2) / view.scale + view.x, view.y - (py - height / 2) / view.scale];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const isFaded = (number) => chosen !== null && chosen !== number;
  const isShown = (place) => !place.numbers.length || place.numbers.some((number) => !hidden.has(number));
  const isSeen = (x, y) => x > -20 && y > -20 && x < width + 20 && y < height + 20;

  function redraw() {
    if (!isQueued) requestAnimationFrame(() => { isQueued = false; draw(); });
    isQueued = true;
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colour("--land");
    ctx.fillRect(0, 0, width, height);
    drawStreets(ratio);
    const casing = colour("--casing");
    for (const group of data.classes) if (!hidden.has(group.number)) drawClass(group, casing || group.edge);
    if (detour) drawDetour(detour, casing);
    for (const place of data.places) if (isShown(place)) drawPlace(place, casing || place.edge);
    if (vans) vans.draw(ctx, toScreen, (number) => !hidden.has(number), isFaded);
    drawScale();
  }

  function drawStreets(ratio) {
    const [west, north] = toMap(-10, -10), [east, south] = toMap(width + 10, height + 10);
    const isIn = ([w, s, e, n]) => w <= east && e >= west && s <= north && n >= south;
    const seen = [...tiles.values()].filter((tile) => isIn(tile.box));
    // Main roads are wider, and all streets grow a little as one comes closer.
    const metre = 10 * view.scale, widest = Math.min(Math.max(1.5, 4 * Math.sqrt(metre)), 10);
    ctx.save();
    ctx.translate(width / 2 - view.x * view.scale, height / 2 + view.y * view.scale);
    ctx.scale(view.scale, -view.scale);
    ctx.lineCap = ctx.lineJoin = "round";
    for (const rank of [3, 2, 1, 0]) {
      ctx.strokeStyle = colour("--road" + rank);
      ctx.lineWidth = Math.max(widest * [1, 0.75, 0.5, 0.32][rank], 0.4) / view.scale;
      for (const tile of seen) ctx.stroke(tile.paths[rank]);
    }
    ctx.restore();
    const muted = colour("--muted");
    if (metre > 0.35) for (const tile of seen) for (const i of tile.lines) if (street.oneWay[i]) drawOneWay(i, muted);
  }

  function drawOneWay(i, fill) {
    const middle = 2 * (firsts[i] + Math.floor((street.sizes[i] - 1) / 2));
    const a = toScreen(points[middle], points[middle + 1]), b = toScreen(points[middle + 2], points[middle + 3]);
    const x = (a[0] + b[0]) / 2, y = (a[1] + b[1]) / 2;
    if (Math.hypot(b[0] - a[0], b[1] - a[1]) > 24 && isSeen(x, y)) {
      drawArrow(x, y, Math.atan2(b[1] - a[1], b[0] - a[0]), 3.5, fill, null);
    }
  }

  function drawClass(group, casing) {
    const thick = chosen === group.number ? 6.5 : 5;
    ctx.globalAlpha = isFaded(group.number) ? 0.15 : 1;
    for (const [a, b, c, d] of group.sights) drawLine([toScreen(a, b), toScreen(c, d)], casing, 1.5, [2, 3]);
    group.parts.forEach((part, j) => {
      const middle = [];
      for (let i = 0; i < part.xy.length; i += 2) middle.push(toScreen(part.xy[i], part.xy[i + 1]));
      const line = lineBeside(middle, part.shifts.map((halves) => halves * 2.7));
      const breadth = j === 0 ? thick : 0.6 * thick;  // after the shared route the members' own parts
      drawLine(line, casing, breadth, []);
      drawLine(line, group.route, breadth - 1.4, group.dashes.map((length) => length * breadth));
      for (const [x, y, angle] of pointsAlong(line, 85)) {
        if (isSeen(x, y)) drawArrow(x, y, angle, 5.5, group.edge, "#ffffff");
      }
    });
    ctx.globalAlpha = 1;
  }

  function drawDetour({ number, closed, parts }, casing) {
    const group = data.classes.find((each) => each.number === number);
    const onScreen = (differences) => {
      const xy = decode(differences), line = [];
      for (let i = 0; i < xy.length; i += 2) line.push(toScreen(xy[i], xy[i + 1]));
      return line;
    };
    for (const line of parts.map(onScreen)) {
      drawLine(line, casing || group.edge, 9, []);
      drawLine(line, group.route, 6.5, [10, 7]);
      for (const [x, y, angle] of pointsAlong(line, 60)) if (isSeen(x, y)) drawArrow(x, y, angle, 6, group.edge, "#ffffff");
    }
    for (const line of closed.map(onScreen)) {
      drawLine(line, "#ffffff", 9, []);
      drawLine(line, "#b00020", 7, [4, 4]);
    }
  }

  function drawLine(line, style, breadth, dashes) {
    ctx.beginPath();
    for (const [x, y] of line) ctx.lineTo(x, y);
    ctx.strokeStyle = style;
    ctx.lineWidth = breadth;
    ctx.lineJoin = "round";
    ctx.lineCap = dashes.length ? "butt" : "round";
    ctx.setLineDash(dashes);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  function drawArrow(x, y, angle, size, fill, edge) {
    ctx.save();
    ctx.translate(x, y);
    ctx.rotate(angle);
    ctx.beginPath();
    for (const [dx, dy] of [[1.1, 0], [-0.8, 0.8], [-0.3, 0], [-0.8, -0.8]]) ctx.lineTo(dx * size, dy * size);
    ctx.closePath();
    ctx.fillStyle = fill;
    ctx.fill();
    if (edge) { ctx.strokeStyle = edge; ctx.lineWidth = 0.7; ctx.stroke(); }
    ctx.restore();
  }

  function markAt(place) {  // start and goal may be one place; their marks stand side by side then
    const [x, y] = toScreen(place.x, place.y);
    return [x + place.aside * 12, y];
  }

  // Corners, a turn of the first one from the top, and a factor that makes all shapes look equally large.
  const SHAPES = {
    o: [40, 0, 1], s: [4, 1 / 8, 1.25], D: [4, 0, 1.2], "^": [3, 0, 1.4], v: [3, 1 / 2, 1.4], p: [5, 0, 1.1],
  };

  function drawPlace(place, edge) {
    const [x, y] = markAt(place), [corners, turn, factor] = SHAPES[place.shape], radius = (place.ring.length ? 13 : 10) * factor;
    ctx.globalAlpha = place.numbers.length && place.numbers.every(isFaded) ? 0.25 : 1;
    ctx.beginPath();
    for (let i = 0; i < corners; i++) {
      const angle = 2 * Math.PI * (i / corners + turn - 1 / 4);
      ctx.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
    }
    ctx.closePath();
    ctx.fillStyle = place.face;
    ctx.fill();
    ctx.lineWidth = 1.5;
    ctx.strokeStyle = edge;
    ctx.stroke();
    drawRing(place.ring, x, y, radius, place.face);
    ctx.fillStyle = place.ink;
    ctx.font = "700 12px system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(place.mark, x, y + 0.5);
    ctx.globalAlpha = 1;
  }

  // A slice for each class of a place, as large as the chance that it is drawn, around the place's letters.
  function drawRing(ring, x, y, radius, face) {
    let angle = -Math.PI / 2;
    for (const { colour, part } of ring) {
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.arc(x, y, radius, angle, angle += 2 * Math.PI * part);
      ctx.closePath();
      ctx.fillStyle = colour;
      ctx.fill();
    }
    if (!ring.length) return;
    ctx.beginPath();
    ctx.arc(x, y, 0.64 * radius, 0, 2 * Math.PI);
    ctx.fillStyle = face;
    ctx.fill();
  }

  function drawScale() {
    const longest = 13 / view.scale, power = 10 ** Math.floor(Math.log10(longest));
    const metres = power * [5, 2, 1].find((factor) => factor * power <= longest);
    document.getElementById("scale").style.width = metres * 10 * view.scale + "px";
    document.getElementById("scale-text").textContent = metres >= 1000 ? metres / 1000 + " km" : metres + " m";
  }

  // ---- moving about ----

  function fit(box) {
    fitted = box;
    const [west, south, east, north] = box;
    const margin = Math.min(60, width / 8), across = Math.max(east - west, 500), up = Math.max(north - south, 500);
    view.x = (west + east) / 2;
    view.y = (south + north) / 2;
    view.scale = Math.min((width - 2 * margin) / across, (height - 2 * margin) / up);
    redraw();
  }

  function move(px, py) {
    fitted = null;
    view.x -= px / view.scale;
    view.y += py / view.scale;
    redraw();
  }

  function zoom(factor, px = width / 2, py = height / 2) {
    fitted = null;
    const before = toMap(px, py);
    view.scale = Math.min(Math.max(view.scale * factor, 0.0005), 4);
    const after = toMap(px, py);
    view.x += before[0] - after[0];
    view.y += before[1] - after[1];
    redraw();
  }

  function resize() {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    [width, height, canvas.width, canvas.height] = [box.width, box.height, box.width * ratio, box.height * ratio];
    if (fitted) fit(fitted);
    draw();
  }

  const fingers = new Map();
  const on = (kind, act) => canvas.addEventListener(kind, (event) => {
    const box = canvas.getBoundingClientRect();
    act(event, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  on("pointerdown", (event, x, y) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [x, y]);
  });
  on("pointerup", (event) => fingers.delete(event.pointerId));
  on("pointercancel", (event) => fingers.delete(event.pointerId));
  on("pointerleave", () => { tip.hidden = true; });
  on("pointermove", (event, x, y) => {
    const before = fingers.get(event.pointerId), other = [...fingers].find(([id]) => id !== event.pointerId);
    if (!before) return explain(x, y);
    fingers.set(event.pointerId, [x, y]);
    if (!other) return move(x - before[0], y - before[1]);
    const [ox, oy] = other[1], apart = (point) => Math.hypot(point[0] - ox, point[1] - oy) || 1;
    return zoom(apart([x, y]) / apart(before), (x + ox) / 2, (y + oy) / 2);
  });
  on("click", (event, x, y) => explain(x, y));
  on("dblclick", (event, x, y) => zoom(2, x, y));
  on("wheel", (event, x, y) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), x, y);
  });
  const KEYS = {
    ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0),
    ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5),
    0: () => fit(data.focus), Home: () => fit(data.focus),
  };
  canvas.addEventListener("keydown", (event) => {
    if (KEYS[event.key] && !event.ctrlKey && !event.metaKey) { KEYS[event.key](); event.preventDefault(); }
  });

  // ---- what is under the pointer ----

  function explain(px, py) {
    tip.textContent = placeAt(px, py) || streetAt(px, py);
    tip.hidden = !tip.textContent;
    tip.style.left = Math.min(px + 14, Math.max(width - tip.offsetWidth - 6, 0)) + "px";
    tip.style.top = Math.min(py + 14, Math.max(height - tip.offsetHeight - 6, 0)) + "px";
  }

  function placeAt(px, py) {
    const isHere = (place) => { const [x, y] = markAt(place); return Math.hypot(x - px, y - py) < 13; };
    const found = data.places.filter((place) => isShown(place) && isHere(place));
    return found.length ? found[found.length - 1].text : "";
  }

  function streetAt(px, py) {
    const [x, y] = toMap(px, py), reach = 7 / view.scale;
    let best = reach, name = "";
    for (const { box, lines } of tiles.values()) {
      if (x < box[0] - reach || x > box[2] + reach || y < box[1] - reach || y > box[3] + reach) continue;
      for (const i of lines) {
        for (let j = 2 * firsts[i]; j + 3 < 2 * firsts[i + 1]; j += 2) {
          const away = distanceTo(x, y, points[j], points[j + 1], points[j + 2], points[j + 3]);
          if (away < best) { best = away; name = street.names[street.nameIds[i]]; }
        }
      }
    }
    return name;
  }

  // ---- the panel ----

  for (const item of document.querySelectorAll("li.class")) {
    const group = data.classes.find(({ number }) => number === Number(item.dataset.number));
    const choose = (value) => () => { chosen = value; redraw(); };
    for (const kind of ["pointerenter", "focusin"]) item.addEventListener(kind, choose(group.number));
    for (const kind of ["pointerleave", "focusout"]) item.addEventListener(kind, choose(null));
    item.querySelector("input").addEventListener("change", (event) => {
      if (event.target.checked) hidden.delete(group.number); else hidden.add(group.number);
      redraw();
    });
    item.querySelector(".row button").addEventListener("click", () => fit(group.box));
  }
  document.querySelectorAll("details.detour").forEach((item, i, all) => item.addEventListener("toggle", () => {
    if (item.open) {
      detour = detours[i];
      for (const other of all) if (other !== item) other.open = false;
      fit(detour.box);
    } else if (detour === detours[i]) {
      detour = null;
      redraw();
    }
  }));
  for (const button of document.querySelectorAll("[data-zoom]")) {
    const factor = Number(button.dataset.zoom);
    button.addEventListener("click", () => (factor ? zoom(factor) : fit(data.focus)));
  }
  const print = (isPrinting) => () => {
    chosen = null;
    document.documentElement.classList.toggle("printing", isPrinting);
    resize();
  };
  window.addEventListener("beforeprint", print(true));
  window.addEventListener("afterprint", print(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new ResizeObserver(resize).observe(canvas);
  resize();
})();
