// A layer of the map is kept as a bitmap somewhat larger than what is seen of it. While the map is moved or zoomed the
// bitmap is only moved and scaled; a new one is painted in slices between the frames and takes its place when done.

const PAD = 0.25; // of the width and height that is seen, on each side
const FIRST_QUOTA = 2500; // wide streets, or as much work, in the first slice; the next is adapted to how long it took

const probe = document.createElement("canvas").getContext("2d");

// paint(ctx, frame) is a generator; land, where it is given, is the colour that the layer is filled with first.
export function createLayer(paint) {
  return { paint, shown: null, job: null, spare: null, version: 0, quota: FIRST_QUOTA };
}

// Have a layer painted anew, because what it shows has changed; until then the old one is shown.
export function touchLayer(layer) {
  layer.version++;
}

function padded(view) {
  const pad = (size) => Math.round(Math.min(size * PAD, 320));
  return {
    x: view.x,
    y: view.y,
    scale: view.scale,
    width: view.width + 2 * pad(view.width),
    height: view.height + 2 * pad(view.height),
  };
}

function covers(frame, view, spare) {
  const halfWide = frame.width / 2 / frame.scale,
    halfHigh = frame.height / 2 / frame.scale;
  const wide = (view.width / 2 / view.scale) * spare,
    high = (view.height / 2 / view.scale) * spare;
  return Math.abs(frame.x - view.x) + wide <= halfWide + 1e-6 && Math.abs(frame.y - view.y) + high <= halfHigh + 1e-6;
}

// Whether a bitmap is as good as a new one would be. While the map moves it need only be about to cover what is seen.
function isGood(made, layer, view, ratio, isMoving) {
  if (!made || made.version !== layer.version) return false;
  if (isMoving) return covers(made.frame, view, 1.15);
  return made.frame.scale === view.scale && made.ratio === ratio && covers(made.frame, view, 1);
}

// Work on a layer for some milliseconds; returns whether there is more to do.
export function workOn(layer, view, ratio, isMoving, budget, fill) {
  const job = layer.job;
  if (isGood(layer.shown, layer, view, ratio, isMoving)) {
    layer.job = null;
    return false;
  }
  const isStale = job && (job.version !== layer.version || (!isMoving && !isGood(job, layer, view, ratio, false)));
  if (!job || isStale) layer.job = startJob(layer, view, isMoving ? Math.min(ratio, 1.25) : ratio, fill);
  if (!runSlice(layer, budget)) return true;
  layer.spare = layer.shown && layer.shown.canvas;
  layer.shown = layer.job;
  layer.job = null;
  return !isGood(layer.shown, layer, view, ratio, isMoving);
}

function startJob(layer, view, ratio, fill) {
  const frame = { ...padded(view), ratio },
    canvas = layer.job ? layer.job.canvas : layer.spare || document.createElement("canvas");
  layer.spare = null;
  const [width, height] = [Math.ceil(frame.width * ratio), Math.ceil(frame.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const ctx = canvas.getContext("2d", { alpha: !fill });
  ctx.reset();
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (fill) {
    ctx.fillStyle = fill;
    ctx.fillRect(0, 0, frame.width, frame.height);
  }
  return { canvas, frame, ratio, version: layer.version, steps: layer.paint(ctx, frame) };
}

// Some of a job; whether it is done. Drawing is only noted down until the canvas is read, so it is read after each
// slice, or nobody would know how long it takes.
function runSlice(layer, budget) {
  const begun = performance.now(),
    { steps, canvas } = layer.job;
  for (let spent = 0; spent < layer.quota;) {
    const step = steps.next();
    if (step.done) return true;
    spent += step.value;
  }
  probe.drawImage(canvas, 0, 0, 1, 1, 0, 0, 1, 1);
  const took = Math.max(performance.now() - begun, 0.2);
  layer.quota = Math.min(Math.max(layer.quota * Math.min(Math.max(budget / took, 0.3), 2), 50), 1e5);
  return false;
}

// Show a layer on the canvas as it is now, for the view of now.
export function showLayer(ctx, layer, view, ratio) {
  const made = layer.shown || layer.job; // at first, as much as there is
  if (!made) return;
  const { canvas, frame, ratio: own } = made,
    grown = view.scale / frame.scale;
  const left = (frame.x - view.x) * view.scale + (view.width - frame.width * grown) / 2;
  const top = (view.y - frame.y) * view.scale + (view.height - frame.height * grown) / 2;
  if (grown === 1 && own === ratio) {
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.drawImage(canvas, Math.round(left * ratio), Math.round(top * ratio));
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  } else {
    ctx.imageSmoothingEnabled = false; // it is for a moment only, and three times as fast
    ctx.drawImage(canvas, left, top, (canvas.width / own) * grown, (canvas.height / own) * grown);
  }
}
