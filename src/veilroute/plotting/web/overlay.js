// Lines on the map: routes in their lanes with arrows and turns, detours, and what an observer has seen.
import { across, decode, lineBeside, pointsAlong } from "./geometry.js";
import { paintArrow, toFrame } from "./basemap.js";

const LANE = 2.7,
  LEAST_LANE = 1; // half a lane in pixels, and where very many run side by side
const BUNDLE = 36; // so many pixels all lanes of a street may take together, or as many map units as there is room

export function partLine(part) {
  if (!part.xy) part.xy = decode(part.points);
  return part.xy;
}

// ---- routes ----

// Everything that is drawn as lines, class by class; state has { hidden, chosen, seat, detour }.
export function* paintRoutes(ctx, frame, layer, state, theme) {
  const shown = layer.classes.filter(({ number }) => !state.hidden.has(number)),
    isAlone = shown.length === 1;
  const inLanes = { ...frame, lane: isAlone ? LANE : laneOf(frame, layer) };
  for (const group of shown) {
    const isFaded = Boolean(state.seat || state.detour) || (state.chosen !== null && state.chosen !== group.number);
    ctx.globalAlpha = isFaded ? (state.detour && state.detour.number === group.number ? 0.45 : 0.16) : 1;
    const isOne = state.chosen === group.number || isAlone;
    paintClass(ctx, inLanes, isAlone ? ownLane(group) : group, theme, isOne && !isFaded);
    yield 200;
  }
  ctx.globalAlpha = 1;
  if (state.detour) paintDetour(ctx, frame, layer, state.detour, theme);
}

// Lanes become narrow where many routes share a street: a bundle far wider than its street shows nobody's way.
function laneOf(frame, layer) {
  if (!layer.abreast) {
    layer.abreast = 1;
    for (const { parts } of layer.classes)
      for (const { shifts } of parts)
        for (const shift of shifts) layer.abreast = Math.max(layer.abreast, Math.abs(shift) + 1);
  }
  return Math.min(Math.max(Math.max(BUNDLE, (layer.room || 0) * frame.scale) / 2 / layer.abreast, LEAST_LANE), LANE);
}

// Alone, a class stays on its streets, on the right of who goes there: lanes are for others, which may be many.
function ownLane(group) {
  if (!group.alone) group.alone = { ...group, parts: group.parts.map(onRight) };
  return group.alone;
}

const onRight = (part) => ({ ...part, xy: partLine(part), shifts: part.shifts.map(() => -1) });

function paintClass(ctx, frame, group, theme, isOne) {
  const casing = theme.routeCasing || group.edge,
    thick = isOne ? 6.5 : Math.max(1.85 * frame.lane, 1.5);
  for (const [a, b, c, d] of group.sights)
    strokeLine(ctx, [toFrame(frame, a, b), toFrame(frame, c, d)], casing, 1.5, [2, 3]);
  group.parts.forEach((part, i) => {
    const breadth = i === 0 ? thick : 0.6 * thick; // after the shared route the members' own parts
    paintPart(ctx, frame, group, part, casing, breadth);
  });
  group.parts.forEach((part) => paintTurns(ctx, frame, group, part, isOne));
}

function paintPart(ctx, frame, group, part, casing, breadth) {
  const line = lineOf(frame, part);
  strokeLine(ctx, line, casing, breadth, []);
  strokeLine(
    ctx,
    line,
    group.route,
    breadth > 3 ? breadth - 1.4 : 0.7 * breadth,
    group.dashes.map((length) => length * breadth),
  );
  const size = Math.min(5.5, 2.2 + 0.66 * breadth);
  for (const [x, y, angle] of pointsAlong(line, breadth > 3 ? 85 : 120)) {
    if (isSeen(frame, x, y)) paintArrow(ctx, x, y, angle, size, group.edge, "#ffffff");
  }
}

export function lineOf(frame, part) {
  const xy = partLine(part),
    middle = [];
  for (let i = 0; i < xy.length; i += 2) middle.push(toFrame(frame, xy[i], xy[i + 1]));
  return lineBeside(
    middle,
    part.shifts.map((halves) => halves * (frame.lane || LANE)),
  );
}

export const isSeen = (frame, x, y) => x > -20 && y > -20 && x < frame.width + 20 && y < frame.height + 20;

export function strokeLine(ctx, line, style, breadth, dashes) {
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

// Where a route turns round, and on the one route that is looked at also where it turns left or right.
function paintTurns(ctx, frame, group, part, isOne) {
  const signs = isOne
    ? [
        ["left", "↰"],
        ["right", "↱"],
        ["round", "↶"],
      ]
    : [["round", "↶"]];
  const taken = [];
  for (const [kind, sign] of signs.reverse()) {
    for (const at of part[kind] || []) {
      const [x, y] = turnPlace(frame, part, at);
      if (!isSeen(frame, x, y) || taken.some(([ox, oy]) => Math.hypot(ox - x, oy - y) < 20)) continue;
      taken.push([x, y]);
      paintDisc(ctx, x, y, 8, "#ffffff", group.edge);
      ctx.fillStyle = group.edge;
      ctx.font = "700 12px system-ui, sans-serif";
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      ctx.fillText(sign, x, y + 0.5);
    }
  }
}

function turnPlace(frame, part, at) {
  const xy = partLine(part),
    point = (i) => toFrame(frame, xy[2 * i], xy[2 * i + 1]),
    [x, y] = point(at);
  const [dx, dy] = across(point(at - 1), [x, y], part.shifts[at - 1] * (frame.lane || LANE));
  return [x + dx, y + dy];
}

export function paintDisc(ctx, x, y, radius, fill, edge) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fillStyle = fill;
  ctx.fill();
  ctx.lineWidth = 1.5;
  ctx.strokeStyle = edge;
  ctx.stroke();
}

function paintDetour(ctx, frame, layer, { number, closed, parts }, theme) {
  const group = layer.classes.find((each) => each.number === number);
  const onScreen = (line) => {
    const xy = decode(line),
      made = [];
    for (let i = 0; i < xy.length; i += 2) made.push(toFrame(frame, xy[i], xy[i + 1]));
    return made;
  };
  for (const line of parts.map(onScreen)) {
    strokeLine(ctx, line, theme.routeCasing || group.edge, 9, []);
    strokeLine(ctx, line, group.route, 6.5, [10, 7]);
    for (const [x, y, angle] of pointsAlong(line, 60))
      if (isSeen(frame, x, y)) paintArrow(ctx, x, y, angle, 6, group.edge, "#ffffff");
  }
  for (const line of closed.map(onScreen)) {
    strokeLine(ctx, line, "#ffffff", 10, []);
    strokeLine(ctx, line, "#b00020", 7, [4, 4]);
  }
}

// ---- the observer's seat ----

// What was seen so far of a route, and where its vehicle is.
export function paintSeat(ctx, frame, layer, seat, theme) {
  const trail = seat.trail,
    group = trail && layer.classes.find(({ number }) => number === trail.classNumber);
  if (group) {
    const last = trail.part || 0;
    group.parts.forEach((part, i) => {
      if (i && i !== last) return;
      const upTo = i === last ? pointOfNode(part, trail.node) : part.shifts.length;
      const seen = { xy: partLine(part).subarray(0, 2 * upTo + 2), shifts: part.shifts.slice(0, upTo) };
      if (!upTo) return;
      const line = lineOf(frame, onRight(seen));
      strokeLine(ctx, line, theme.routeCasing || group.edge, 8, []);
      strokeLine(ctx, line, group.route, 6, []);
      for (const [x, y, angle] of pointsAlong(line, 70))
        if (isSeen(frame, x, y)) paintArrow(ctx, x, y, angle, 6, group.edge, "#ffffff");
    });
  }
  if (!seat.position) return;
  const [x, y] = toFrame(frame, ...seat.position);
  paintDisc(ctx, x, y, 15, "rgba(11, 92, 173, 0.22)", "rgba(11, 92, 173, 0.55)");
  paintDisc(ctx, x, y, 8, theme.accent, "#ffffff");
}

function pointOfNode(part, node) {
  const last = part.shifts.length;
  if (!part.nodes) return Math.min(node, last);
  return node < part.nodes.length ? part.nodes[Math.max(node, 0)] : last;
}
