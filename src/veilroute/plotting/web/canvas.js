// The map engine: a base map, routes and marks on a canvas that is moved and zoomed by mouse, fingers and keys.
//
// createMap(root) fills root and returns
//   setScene(scene, { keepView })   the base map, and fit; the view is kept where asked, or where the map is the same
//   setTrip(index)                  routes and places of a trip of scene.playbook, null for the map only; does not fit
//   setLayer({ classes, places })   the same from elsewhere, such as a day of a fleet; null for nothing
//   fit(box), fitAll(), fitTrip()   show a box, the whole map, the trip
//   setHidden(numbers), setChosen(number), setDetour(detour), setMarks(marks), setSeat(seat), setOverlay(paint)
//   onPick = ({ x, y, text, reach }) => {}   a click, or Enter at the cross-hair
//   redraw(), toScreen(x, y), view(), move(px, py), zoom(factor, px, py), isDone()
import { createBase, fromFrame, toFrame } from "./basemap.js";
import { listenToKeys, listenToPointers } from "./gestures.js";
import { createLayer, showLayer, touchLayer, workOn } from "./layers.js";
import { paintRoutes, paintSeat } from "./overlay.js";
import { isPlaceShown, markAt, markRadius, ownPlaces, paintLabels, paintPlaces, placeLabels } from "./places.js";
import { mapParts } from "./mapparts.js";
import { onThemeChange, themeNow } from "./theme.js";

const SETTLE_MS = 140; // after the last move the map is at rest
const LIVE_PLACES = 400; // up to so many marks are drawn in each frame and do not grow while one zooms
const LEAST_SPAN = { streets: 500, grid: 60, graph: 500 }; // of a box that is shown, in map units
const LANE_ROOM = { streets: 300, grid: 12, graph: 100 }; // so many map units wide routes may be side by side
const CLOSEST = { streets: 4, grid: 12, graph: 4 }; // pixels per map unit

export function createMap(root) {
  const parts = mapParts(root),
    { canvas } = parts,
    ctx = canvas.getContext("2d", { alpha: false });
  const view = { x: 0, y: 0, scale: 1, width: 0, height: 0 };
  const state = { hidden: new Set(), chosen: null, seat: null, detour: null };
  let scene = null,
    base = null,
    layer = null,
    marks = [],
    overlay = null,
    theme = themeNow(false);
  let fitted = null; // the box that fills the canvas, until the user moves or zooms
  let labels = null,
    labelKey = "",
    isQueued = false,
    lastMove = -Infinity,
    ratio = 1,
    hasCross = false,
    settling = 0,
    isMarked = false;

  const under = createLayer((to, frame) => (base ? base.paint(to, frame, theme) : [].values()));
  const lines = createLayer(function* (to, frame) {
    if (layer) yield* paintRoutes(to, frame, layer, state, theme);
    if (base) yield* base.paintNames(to, frame, theme);
    if (layer && layer.places.length > LIVE_PLACES) paintMarks(to, frame);
  });

  // ---- drawing ----

  function redraw() {
    if (!isQueued) requestAnimationFrame(drawFrame);
    isQueued = true;
  }

  function changed() {
    touchLayer(lines);
    labels = null;
    redraw();
  }

  function drawFrame() {
    isQueued = false;
    if (!view.width || !base) return;
    const isMoving = performance.now() - lastMove < SETTLE_MS;
    let isMore = workOn(under, view, ratio, isMoving, isMoving ? 5 : 12, theme.land);
    isMore = workOn(lines, view, ratio, isMoving, isMoving ? 4 : 10, null) || isMore;
    compose();
    if (!isMarked && (under.shown || under.job)) {
      isMarked = true;
      performance.mark("veilroute-picture");
    }
    if (isMore) redraw();
    else if (isMoving && !settling)
      settling = setTimeout(() => {
        settling = 0;
        redraw();
      }, SETTLE_MS);
  }

  function compose() {
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = theme.land;
    ctx.fillRect(0, 0, view.width, view.height);
    showLayer(ctx, under, view, ratio);
    showLayer(ctx, lines, view, ratio);
    if (layer && state.seat) paintSeat(ctx, view, layer, state.seat, theme);
    if (layer && layer.places.length <= LIVE_PLACES) paintMarks(ctx, view);
    if (marks.length) {
      const names = placeLabels(ctx, view, marks, state);
      paintPlaces(ctx, view, marks, state, theme);
      paintLabels(ctx, view, marks, names, state, theme);
    }
    if (overlay)
      overlay(
        ctx,
        (x, y) => toFrame(view, x, y),
        (number) => !state.hidden.has(number),
        (number) => state.chosen !== null && state.chosen !== number,
      );
    if (hasCross) drawCross();
    drawScale();
  }

  function paintMarks(to, frame) {
    const key = `${frame.scale}`;
    if (!labels || labelKey !== key) [labels, labelKey] = [placeLabels(to, frame, layer.places, state), key];
    paintPlaces(to, frame, layer.places, state, theme);
    paintLabels(to, frame, layer.places, labels, state, theme);
  }

  function drawCross() {
    const x = view.width / 2,
      y = view.height / 2;
    for (const [style, breadth] of [
      [theme.halo, 5],
      [theme.accent, 2],
    ]) {
      ctx.strokeStyle = style;
      ctx.lineWidth = breadth;
      ctx.beginPath();
      for (const [dx, dy] of [
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
      ]) {
        ctx.moveTo(x + 5 * dx, y + 5 * dy);
        ctx.lineTo(x + 20 * dx, y + 20 * dy);
      }
      ctx.stroke();
    }
  }

  let scaleShown = 0;
  function drawScale() {
    const scale = scene.map.scale;
    parts.scale.hidden = !scale;
    if (!scale || scaleShown === view.scale) return;
    scaleShown = view.scale;
    const perUnit = scale.units * view.scale,
      longest = 130 / perUnit,
      power = 10 ** Math.floor(Math.log10(longest));
    let length = power * [5, 2, 1].find((factor) => factor * power <= longest);
    if (scale.name !== "m") length = Math.max(length, 1);
    const said =
      scale.name !== "m"
        ? `${length} ${length === 1 ? "cell" : scale.name}`
        : length >= 1000
          ? `${length / 1000} km`
          : `${length} m`;
    parts.scale.style.width = `${length * perUnit}px`;
    parts.scale.textContent = said;
  }

  // ---- moving about ----

  function fit(box) {
    fitted = box;
    if (!box || !view.width) return;
    const least = LEAST_SPAN[scene.map.kind],
      [west, south, east, north] = box;
    const margin = Math.min(60, view.width / 8, view.height / 6),
      aside = 24; // the buttons are on the left
    view.scale = Math.min(
      (view.width - 2 * margin - aside) / Math.max(east - west, least),
      (view.height - 2 * margin) / Math.max(north - south, least),
    );
    view.x = (west + east) / 2 - aside / 2 / view.scale;
    view.y = (south + north) / 2;
    redraw();
  }

  const tripBox = () => (layer && layer.focus) || (scene && scene.map.box);

  function move(px, py) {
    fitted = null;
    view.x -= px / view.scale;
    view.y += py / view.scale;
    lastMove = performance.now();
    redraw();
  }

  function zoom(factor, px = view.width / 2, py = view.height / 2) {
    if (!scene) return;
    fitted = null;
    const before = fromFrame(view, px, py),
      [west, south, east, north] = scene.map.box;
    const furthest = 0.25 * Math.min(view.width / Math.max(east - west, 1), view.height / Math.max(north - south, 1));
    view.scale = Math.min(
      Math.max(view.scale * factor, Math.min(furthest, view.scale)),
      Math.max(CLOSEST[scene.map.kind], view.scale),
    );
    const after = fromFrame(view, px, py);
    view.x += before[0] - after[0];
    view.y += before[1] - after[1];
    lastMove = performance.now();
    redraw();
  }

  function resize() {
    const box = canvas.getBoundingClientRect();
    if (!box.width || !box.height) return;
    ratio = Math.min(window.devicePixelRatio || 1, 2);
    [view.width, view.height] = [Math.round(box.width), Math.round(box.height)];
    [canvas.width, canvas.height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
    if (fitted) fit(fitted);
    if (!base) return;
    drawFrame();
  }

  function cross(value) {
    hasCross = value;
    parts.said.textContent = value ? "Cross-hair on: arrow keys move the map, Enter picks" : "Cross-hair off";
    redraw();
  }

  listenToPointers(canvas, {
    move,
    zoom,
    explain,
    unsay: () => {
      parts.tip.hidden = true;
    },
    click(x, y) {
      explain(x, y);
      pickAt(x, y);
    },
    isPicking: () => Boolean(map.onPick),
  });
  listenToKeys(canvas, {
    move,
    zoom,
    cross,
    fit: () => fit(tripBox()),
    hasCross: () => hasCross,
    isReady: () => Boolean(scene),
    pick() {
      explain(view.width / 2, view.height / 2);
      pickAt(view.width / 2, view.height / 2);
    },
    say() {
      parts.said.textContent = textAt(view.width / 2, view.height / 2);
    },
    unsay: () => {
      parts.tip.hidden = true;
    },
  });

  // ---- what is under the pointer ----

  function pickAt(px, py) {
    if (!map.onPick || !base) return;
    const [x, y] = fromFrame(view, px, py),
      reach = 12 / view.scale;
    map.onPick({ ...base.pick(x, y, reach), reach });
  }

  function explain(px, py) {
    const tip = parts.tip;
    tip.textContent = textAt(px, py);
    tip.hidden = !tip.textContent;
    tip.style.left = `${Math.min(px + 14, Math.max(view.width - tip.offsetWidth - 6, 0))}px`;
    tip.style.top = `${Math.min(py + 14, Math.max(view.height - tip.offsetHeight - 6, 0))}px`;
  }

  function textAt(px, py) {
    if (!base) return "";
    const [x, y] = fromFrame(view, px, py);
    return (
      textOfMark(marks, px, py) || (layer && textOfMark(layer.places, px, py)) || base.describe(x, y, 8 / view.scale)
    );
  }

  function textOfMark(places, px, py) {
    const radius = markRadius(view, places),
      found = places.filter((place) => {
        const [x, y] = markAt(view, place, radius);
        return isPlaceShown(place, state) && Math.hypot(x - px, y - py) < radius + 3;
      });
    return found.length ? found[found.length - 1].text : "";
  }

  // ---- what others call ----

  function setScene(next, { keepView = false } = {}) {
    const before = scene && scene.map,
      isSame = Boolean(before) && isSameMap(before, next.map);
    scene = next;
    if (!isSame) {
      base = createBase(next.map);
      touchLayer(under);
      under.shown = under.job = lines.shown = null;
    }
    parts.credits.textContent = next.map.attribution ? `Map: ${next.map.attribution}` : "";
    scaleShown = 0;
    setLayer(null);
    if (!isSame || !(keepView || fitted === null)) fit(next.map.box);
    redraw();
  }

  function setLayer(next) {
    layer = next && { ...next, room: LANE_ROOM[scene.map.kind] };
    state.detour = state.seat = state.chosen = null;
    state.hidden = new Set();
    changed();
  }

  function setTrip(index) {
    const book = scene.playbook;
    setLayer(index === null || !book ? null : { ...book.trips[index], places: book.places[index] });
  }

  function setState(name, value) {
    const wasSeat = Boolean(state.seat);
    state[name] = value;
    const isLive = !layer || layer.places.length <= LIVE_PLACES; // else marks, which fade, are in the bitmap
    if (name !== "seat" || wasSeat !== Boolean(value) || !isLive) changed();
    else redraw();
  }

  function repaint(isPrinting) {
    theme = themeNow(isPrinting);
    if (isPrinting) state.chosen = null;
    touchLayer(under);
    changed();
    resize();
    if (isPrinting && base) finish();
  }

  // All of the picture at once, for paper.
  function finish() {
    lastMove = -Infinity;
    while (workOn(under, view, ratio, false, 1000, theme.land));
    while (workOn(lines, view, ratio, false, 1000, null));
    compose();
  }

  const map = {
    onPick: null,
    setScene,
    setTrip,
    setLayer,
    fit,
    move,
    zoom,
    redraw,
    fitAll: () => scene && fit(scene.map.box),
    fitTrip: () => fit(tripBox()),
    setHidden: (numbers) => setState("hidden", new Set(numbers)),
    setChosen: (number) => {
      if (state.chosen !== number) setState("chosen", number);
    },
    setDetour: (detour) => setState("detour", detour),
    setSeat: (seat) => setState("seat", seat),
    setMarks: (list) => {
      marks = ownPlaces(list);
      redraw();
    },
    setOverlay: (paint) => {
      overlay = paint;
      redraw();
    },
    toScreen: (x, y) => toFrame(view, x, y),
    view: () => ({ ...view }),
    isDone: () => !isQueued && Boolean(under.shown) && performance.now() - lastMove > SETTLE_MS,
  };
  parts.zoomIn.addEventListener("click", () => zoom(1.5));
  parts.zoomOut.addEventListener("click", () => zoom(1 / 1.5));
  parts.zoomFit.addEventListener("click", () => fit(tripBox()));
  window.addEventListener("beforeprint", () => repaint(true));
  window.addEventListener("afterprint", () => repaint(false));
  onThemeChange(() => repaint(false));
  new ResizeObserver(resize).observe(canvas);
  resize();
  return map;
}

// Whether two scenes have the same map; a better plan for one problem comes with it again.
function isSameMap(one, other) {
  if (one === other) return true;
  if (one.kind !== other.kind || one.box.join() !== other.box.join()) return false;
  const size = (map) =>
    map.kind === "grid" ? map.grid.rows.join("") : `${map.streets.points.length} ${map.streets.sizes.length}`;
  return size(one) === size(other);
}
