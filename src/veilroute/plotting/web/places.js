// Marks of places on the map, apart where they would hide each other, with names beside them where there is room.
import { plainText, toFrame } from "./basemap.js";
import { isSeen, paintDisc, strokeLine } from "./overlay.js";

const LABEL_FONT = "600 12px system-ui, sans-serif";
const BUTTONS = [0, 0, 60, 140]; // where the map's buttons are
const MOST_SPREAD = 400; // more marks than these are not moved apart
const CELL = 48; // of the table in which names look for room, in pixels
// Corners, a turn of the first one from the top, and a factor that makes all shapes look equally large.
const SHAPES = {
  o: [40, 0, 1],
  s: [4, 1 / 8, 1.25],
  D: [4, 0, 1.2],
  "^": [3, 0, 1.4],
  v: [3, 1 / 2, 1.4],
  p: [5, 0, 1.1],
};

// How large marks are: smaller where they stand close together.
export function markRadius(frame, places) {
  if (places.length < 12) return 10;
  if (!places.spacing) {
    const xs = places.map(({ x }) => x),
      ys = places.map(({ y }) => y),
      span = (all) => Math.max(...all) - Math.min(...all);
    places.spacing = Math.sqrt(Math.max(span(xs) * span(ys), 1) / places.length);
  }
  return Math.min(Math.max(0.3 * places.spacing * frame.scale, 7), 10);
}

// Where a mark is drawn: marks on one spot stand side by side, and others that would hide each other are moved apart.
export function markAt(frame, place, radius) {
  const [x, y] = toFrame(frame, place.x, place.y),
    [dx, dy] = place.moved || [0, 0];
  return [x + (place.aside || 0) * 1.2 * radius + dx, y + dy];
}

// Moves marks that overlap apart, each as little as it takes and never far; the same marks always in the same way.
function spreadMarks(frame, places, state) {
  const radius = markRadius(frame, places),
    shown = places.filter((place) => isPlaceShown(place, state));
  for (const place of places) place.moved = null;
  if (shown.length > MOST_SPREAD) return;
  const spots = shown.map((place) => markAt(frame, place, radius)),
    homes = spots.map(([x, y]) => [x, y]);
  const size = ({ ring }) => (ring && ring.length ? 1.3 : 1.08) * radius,
    apart = (i, j) => size(shown[i]) + size(shown[j]) + 1;
  const pairs = [];
  spots.forEach(([x, y], i) => {
    for (let j = 0; j < i; j++) if (Math.hypot(x - spots[j][0], y - spots[j][1]) < 8 * radius) pairs.push([j, i]);
  });
  for (let round = 0; round < 40; round++) {
    let worst = 0;
    for (const [i, j] of pairs) {
      const dx = spots[j][0] - spots[i][0],
        dy = spots[j][1] - spots[i][1],
        away = Math.hypot(dx, dy),
        over = apart(i, j) - away;
      if (over <= 0.3) continue;
      worst = Math.max(worst, over);
      const [ux, uy] = away > 1e-6 ? [dx / away, dy / away] : [1, 0];
      spots[i] = [spots[i][0] - (ux * over) / 2, spots[i][1] - (uy * over) / 2];
      spots[j] = [spots[j][0] + (ux * over) / 2, spots[j][1] + (uy * over) / 2];
    }
    if (!worst) break;
  }
  shown.forEach((place, i) => {
    const dx = spots[i][0] - homes[i][0],
      dy = spots[i][1] - homes[i][1],
      far = Math.hypot(dx, dy);
    const most = Math.min(1, (2.6 * radius) / (far || 1));
    place.moved = far > 0.5 ? [dx * most, dy * most] : null;
  });
}

export function isPlaceShown(place, state) {
  return !place.numbers || !place.numbers.length || place.numbers.some((number) => !state.hidden.has(number));
}

function placeAlpha(place, { chosen, seat }) {
  if (seat && seat.chances && place.role === "candidate")
    return (seat.chances.get(place.candidate) || 0) > 0 ? 1 : 0.14;
  if (seat && seat.chances && place.candidate !== undefined) return 0.14;
  return place.numbers && place.numbers.length && chosen !== null && !place.numbers.includes(chosen) ? 0.25 : 1;
}

export function paintPlaces(ctx, frame, places, state, theme) {
  const radius = markRadius(frame, places),
    shown = places.filter((place) => isPlaceShown(place, state));
  for (const place of shown) {
    if (place.place) paintDoor(ctx, frame, place, placeAlpha(place, state), theme);
    if (place.moved && Math.hypot(...place.moved) > 0.8 * radius)
      paintLeader(ctx, frame, place, placeAlpha(place, state), radius, theme);
  }
  for (const place of shown) {
    const [x, y] = markAt(frame, place, radius);
    if (!isSeen(frame, x, y)) continue;
    ctx.globalAlpha = placeAlpha(place, state);
    paintMark(ctx, place, x, y, radius, theme.routeCasing && place.edge !== "#FFFFFF" ? theme.routeCasing : place.edge);
    if (state.seat && state.seat.chances && place.candidate !== undefined)
      paintChance(ctx, state.seat.chances.get(place.candidate), x, y, radius, theme);
  }
  ctx.globalAlpha = 1;
}

// A place's true address, and a thin line to its door on the street.
function paintDoor(ctx, frame, place, alpha, theme) {
  const from = toFrame(frame, ...place.place),
    to = toFrame(frame, place.x, place.y);
  if (Math.hypot(from[0] - to[0], from[1] - to[1]) < 3 || !isSeen(frame, ...from)) return;
  ctx.globalAlpha = alpha;
  strokeLine(ctx, [from, to], theme.halo, 3.5, []);
  strokeLine(ctx, [from, to], theme.ink, 1.3, []);
  ctx.fillStyle = theme.ink;
  ctx.fillRect(from[0] - 3.5, from[1] - 3.5, 7, 7);
  ctx.fillStyle = theme.halo;
  ctx.fillRect(from[0] - 1.7, from[1] - 1.7, 3.4, 3.4);
  ctx.globalAlpha = 1;
}

// From a mark that had to move to where it belongs.
function paintLeader(ctx, frame, place, alpha, radius, theme) {
  const home = toFrame(frame, place.x, place.y);
  ctx.globalAlpha = alpha;
  strokeLine(ctx, [home, markAt(frame, place, radius)], theme.halo, 3.2, []);
  strokeLine(ctx, [home, markAt(frame, place, radius)], place.edge, 1.2, []);
  paintDisc(ctx, ...home, 2.6, place.face, place.edge);
  ctx.globalAlpha = 1;
}

function paintMark(ctx, place, x, y, size, edge) {
  const [corners, turn, factor] = SHAPES[place.shape] || SHAPES.o,
    ring = place.ring || [],
    radius = (ring.length ? 1.3 : 1) * size * factor;
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
  paintRing(ctx, ring, x, y, radius, place.face);
  ctx.fillStyle = place.ink;
  ctx.font = `700 ${Math.round(place.mark.length > 2 ? size : 1.2 * size)}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(place.mark, x, y + 0.5);
}

// A slice for each class of a place, as large as the chance that it is drawn, around the place's letters.
function paintRing(ctx, ring, x, y, radius, face) {
  let angle = -Math.PI / 2;
  for (const { colour, part } of ring) {
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.arc(x, y, radius, angle, (angle += 2 * Math.PI * part));
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

// How probable a place is by now: as much of a circle around its mark, and in figures.
function paintChance(ctx, chance, x, y, radius, theme) {
  if (!chance) return;
  ctx.beginPath();
  ctx.arc(x, y, radius + 6, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * Math.min(chance, 1));
  ctx.lineWidth = 4;
  ctx.strokeStyle = theme.accent;
  ctx.stroke();
  haloText(ctx, `${Math.round(100 * chance)}%`, x, y + radius + 16, theme, "700 11px system-ui, sans-serif", "center");
}

function haloText(ctx, text, x, y, theme, font, align) {
  ctx.font = font;
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  ctx.lineJoin = "round";
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = theme.halo;
  ctx.strokeText(text, x, y);
  ctx.fillStyle = theme.ink;
  ctx.fillText(text, x, y);
}

// ---- names beside marks ----

// Finds room for names, the most important first: right of the mark, left of it, below, above, else it is left out.
// Returns what to draw, relative to the marks, so that names stay where they are while the map is moved.
export function placeLabels(ctx, frame, places, state) {
  spreadMarks(frame, places, state);
  const radius = markRadius(frame, places),
    shown = places.filter((place) => isPlaceShown(place, state)),
    room = new Map();
  for (const place of shown) {
    const [x, y] = markAt(frame, place, radius);
    takeRoom(room, [x - radius - 2, y - radius - 2, x + radius + 2, y + radius + 2]);
  }
  takeRoom(room, BUTTONS);
  ctx.font = LABEL_FONT;
  const importance = { start: 0, goal: 0, candidate: 1 };
  const rank = (place) =>
    (importance[place.role] ?? 2) +
    (state.chosen !== null && place.numbers && place.numbers.includes(state.chosen) ? -3 : 0);
  const order = shown.map((place, i) => [rank(place), i, place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const found = [];
  for (const [, , place] of order) {
    const text = plainText(place.name || "", 30);
    if (!text) continue;
    if (!(place.wide > 0)) place.wide = ctx.measureText(text).width;
    const [x, y] = markAt(frame, place, radius),
      wide = place.wide,
      off = radius + 5;
    const spots = [
      [off, 0, "left"],
      [-off, 0, "right"],
      [0, off + 6, "center"],
      [0, -off - 6, "center"],
    ];
    const isHere = x > 0 && x < frame.width; // then its name had better be, too
    for (const [dx, dy, align] of spots) {
      const left = x + dx - (align === "left" ? 0 : align === "right" ? wide : wide / 2);
      const box = [left - 2, y + dy - 8, left + wide + 2, y + dy + 8];
      if ((isHere && (box[0] < 0 || box[2] > frame.width)) || !isFreeRoom(room, box)) continue;
      takeRoom(room, box);
      found.push({ place, text, dx, dy, align });
      break;
    }
  }
  return found;
}

export function paintLabels(ctx, frame, places, labels, state, theme) {
  const radius = markRadius(frame, places);
  for (const { place, text, dx, dy, align } of labels) {
    const [x, y] = markAt(frame, place, radius);
    if (x < -250 || y < -30 || x > frame.width + 250 || y > frame.height + 30) continue;
    const alpha = placeAlpha(place, state);
    if (alpha < 0.2) continue;
    ctx.globalAlpha = alpha < 1 ? 0.45 : 1;
    haloText(ctx, text, x + dx, y + dy, theme, LABEL_FONT, align);
  }
  ctx.globalAlpha = 1;
}

function* roomCells([left, top, right, bottom]) {
  for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x++) {
    for (let y = Math.floor(top / CELL); y <= Math.floor(bottom / CELL); y++) yield x * 1000003 + y;
  }
}

function takeRoom(room, box) {
  for (const key of roomCells(box)) {
    if (!room.has(key)) room.set(key, []);
    room.get(key).push(box);
  }
}

function isFreeRoom(room, [left, top, right, bottom]) {
  for (const key of roomCells([left, top, right, bottom])) {
    for (const [l, t, r, b] of room.get(key) || []) if (l < right && r > left && t < bottom && b > top) return false;
  }
  return true;
}

// ---- marks that are being made ----

const OWN_MARKS = {
  start: { mark: "S", shape: "s", face: "#22E3F2", edge: "#1A1A1A", ink: "#1A1A1A", role: "start" },
  goal: { mark: "G", shape: "s", face: "#4BD955", edge: "#1A1A1A", ink: "#1A1A1A", role: "goal" },
  candidate: { mark: "", shape: "o", face: "#ffffff", edge: "#0b5cad", ink: "#0b3d75", role: "candidate" },
  closed: { mark: "×", shape: "o", face: "#b00020", edge: "#ffffff", ink: "#ffffff", role: "closed" },
  here: { mark: "●", shape: "o", face: "#0b5cad", edge: "#ffffff", ink: "#ffffff", role: "here" },
};

// Marks as they are given by { x, y, kind, text, number } made into places; those on one spot side by side.
export function ownPlaces(marks) {
  const here = new Map(),
    places = marks.map(({ x, y, kind, text, number }) => {
      const place = {
        x,
        y,
        ...(OWN_MARKS[kind] || OWN_MARKS.candidate),
        text: text || "",
        numbers: [],
        ring: [],
        aside: 0,
      };
      if (number !== undefined && number !== null) place.mark = String(number);
      place.name = /^-?\d+\.\d{3,},/.test(place.text) ? "" : place.text; // degrees tell nobody anything
      const key = `${x},${y}`;
      here.set(key, [...(here.get(key) || []), place]);
      return place;
    });
  for (const group of here.values())
    group.forEach((place, i) => {
      place.aside = 2 * i - group.length + 1;
    });
  return places;
}
