// Mouse, fingers and keys on the map. What they do is up to the map.

const CLICK_PX = 4; // whoever moves further than this drags, and does not click

// acts: { move(px, py), zoom(factor, x, y), explain(x, y), unsay(), click(x, y), isPicking() }
export function listenToPointers(canvas, acts) {
  const fingers = new Map();
  let travelled = 0;
  const on = (kind, act) => {
    const listen = (event) => {
      const box = canvas.getBoundingClientRect();
      act(event, event.clientX - box.left, event.clientY - box.top);
    };
    canvas.addEventListener(kind, listen, { passive: false });
  };
  on("pointerdown", (event, x, y) => {
    canvas.setPointerCapture(event.pointerId);
    if (!fingers.size) travelled = 0;
    fingers.set(event.pointerId, [x, y]);
    if (fingers.size > 1) travelled = Infinity; // a pinch is no click
  });
  for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) {
    on(kind, (event) => fingers.delete(event.pointerId));
  }
  on("pointerleave", acts.unsay);
  on("pointermove", (event, x, y) => {
    const before = fingers.get(event.pointerId),
      other = [...fingers].find(([id]) => id !== event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") acts.explain(x, y);
      return;
    }
    travelled += Math.hypot(x - before[0], y - before[1]);
    if (!other && travelled < CLICK_PX) return;
    fingers.set(event.pointerId, [x, y]);
    acts.unsay();
    if (other) pinch(acts, before, [x, y], other[1]);
    else acts.move(x - before[0], y - before[1]);
  });
  on("click", (event, x, y) => {
    if (travelled < CLICK_PX) acts.click(x, y);
  });
  on("dblclick", (event, x, y) => {
    if (!acts.isPicking()) acts.zoom(2, x, y);
  });
  on("wheel", (event, x, y) => {
    event.preventDefault();
    acts.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), x, y);
  });
}

// One of two fingers has moved: the map stays below both.
function pinch(acts, before, now, other) {
  const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
  acts.move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  acts.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
}

// acts: { move, zoom, fit(), cross(isOn), hasCross(), pick(), say(), unsay(), isReady() }; say() tells what is at the
// cross.
export function listenToKeys(canvas, acts) {
  const step = () => (acts.hasCross() ? 20 : 60);
  const keys = {
    ArrowLeft: () => acts.move(step(), 0),
    ArrowRight: () => acts.move(-step(), 0),
    ArrowUp: () => acts.move(0, step()),
    ArrowDown: () => acts.move(0, -step()),
    "+": () => acts.zoom(1.5),
    "=": () => acts.zoom(1.5),
    "-": () => acts.zoom(1 / 1.5),
    0: acts.fit,
    Home: acts.fit,
    c: () => acts.cross(!acts.hasCross()),
    C: () => acts.cross(!acts.hasCross()),
    Enter: () => acts.hasCross() && acts.pick(),
    Escape() {
      acts.unsay();
      if (acts.hasCross()) acts.cross(false);
    },
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || !acts.isReady() || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
    if (acts.hasCross() && event.key.startsWith("Arrow")) acts.say();
  });
  canvas.addEventListener("blur", () => {
    if (acts.hasCross()) acts.cross(false);
  });
}
