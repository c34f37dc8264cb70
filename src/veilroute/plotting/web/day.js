// A day of a fleet: tours on their streets, and vehicles that go them as the slider says.
import { createMap } from "./canvas.js";
import { buildElement, nameElement } from "./elements.js";
import { readPacked } from "./packed.js";
import { createClock, paintVan, vanDoing, vanPlace } from "./vans.js";

function vanItem(van, map, hidden) {
  const item = buildElement("li", { class: "class", "data-number": van.number });
  item.style.setProperty("--class", van.colour);
  item.style.setProperty("--on-class", van.ink);
  const box = buildElement("input", { type: "checkbox", checked: true, "aria-label": `Show vehicle ${van.number}` });
  box.addEventListener("change", () => {
    if (box.checked) hidden.delete(van.number);
    else hidden.add(van.number);
    map.setHidden(hidden);
  });
  const zoomTo = buildElement(
    "button",
    { type: "button", title: `Zoom to vehicle ${van.number}`, onclick: () => map.fit(van.box) },
    buildElement("span", { class: "number" }, String(van.number)),
    buildElement("span", { class: "members" }, nameElement(van.about)),
    buildElement("span", { class: "doing" }),
  );
  const lines = (texts) => buildElement("ol", {}, ...texts.map((text) => buildElement("li", {}, nameElement(text))));
  const block = (title, ...inside) => buildElement("details", {}, buildElement("summary", {}, title), ...inside);
  item.append(
    buildElement("div", { class: "row" }, buildElement("label", { class: "tick" }, box), zoomTo),
    block("Stops", lines(van.visits)),
    block(`Directions (${van.total})`, buildElement("p", {}, nameElement(van.note)), lines(van.steps)),
  );
  for (const kind of ["pointerenter", "focusin"]) item.addEventListener(kind, () => map.setChosen(van.number));
  for (const kind of ["pointerleave", "focusout"]) item.addEventListener(kind, () => map.setChosen(null));
  return item;
}

function openDay(scene) {
  const { day } = scene,
    root = document.getElementById("map"),
    side = document.getElementById("side"),
    hidden = new Set();
  const map = createMap(root);
  map.setScene(scene);
  map.setLayer(day);
  const items = day.classes.map((van) => vanItem(van, map, hidden));
  const facts = day.summary.flatMap(([name, value]) => [
    buildElement("dt", {}, name),
    buildElement("dd", {}, nameElement(value)),
  ]);
  side.replaceChildren(
    buildElement("header", { class: "head" }, buildElement("h1", {}, day.title)),
    buildElement(
      "div",
      { class: "panel" },
      buildElement("p", { class: "lead" }, day.lead),
      buildElement("dl", { class: "facts" }, ...facts),
      buildElement("h2", {}, "Vehicles"),
      buildElement("ul", { class: "classes" }, ...items),
      buildElement("p", { class: "hint" }, nameElement(day.hint)),
    ),
  );
  const doings = items.map((item) => item.querySelector(".doing"));
  let now = day.clock.first;
  map.setOverlay((ctx, toScreen, isShown, isFaded) => {
    for (const van of day.classes)
      if (isShown(van.number)) paintVan(ctx, van, toScreen(...vanPlace(van, now)), isFaded(van.number));
  });
  const clock = createClock(day.clock, (time) => {
    now = time;
    day.classes.forEach((van, i) => {
      doings[i].textContent = vanDoing(van, now);
    });
    map.redraw();
  });
  root.append(clock.element);
  clock.set(day.clock.first);
  map.fitTrip();
}

readPacked(openDay);
