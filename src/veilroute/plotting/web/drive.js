// The driver's seat: the secret is typed, and the page gives the route that the playbook has for it. All that is needed
// is in the scene, so nothing is asked of anybody; the page is sealed before the field for the secret is there.
//
// Rules that this file keeps. What was typed is read once and turned into a position among the candidates in one
// synchronous step, and its field is replaced by a new one, which has no history of edits. Nothing is stored, logged or
// put into the address. Messages are fixed sentences. What is shown, copied and saved is made from the class and its
// route, never from the member; files have the same names for all.
import { chooseDraw, findPlace, openKey, routeText } from "./draw.js";
import { buildElement, labelled } from "./elements.js";

const KEY_FILE_BYTES = 100;
const FILE_KINDS = {
  gpx: ["route.gpx", "application/gpx+xml"],
  json: ["route.json", "application/json"],
  text: ["route.txt", "text/plain"],
  directions: ["directions.txt", "text/plain"],
};
const SAVE_NAMES = { gpx: "Save GPX", json: "Save JSON", text: "Save nodes", directions: "Save directions" };

export function createDrive(panel, map, scene, { seal = () => {} } = {}) {
  const drive = scene.playbook?.drive;
  panel.replaceChildren(buildElement("h2", {}, "Driver’s seat"));
  if (!drive) {
    panel.append(buildElement("p", {}, "There is no playbook to drive by."));
    return { show() { seal(); }, hide() {} };
  }
  const seat = createDriverSeat(map, scene, drive);
  panel.append(...seat.elements);
  return {
    show() {
      seal();
      seat.show();
    },
    hide: seat.hide,
  };
}

function createDriverSeat(map, scene, drive) {
  const { trips } = scene.playbook, parts = driverParts(drive, scene.playbook);
  // key: what openKey gave; given: class, routes and parts of the route that is shown; asked: which press is the last.
  const state = { key: null, given: null, asked: 0, isShown: false };
  parts.trip.value = String(scene.playbook.shown || 0);
  const say = (name) => { parts.status.textContent = name ? drive.sentences[name] : ""; };

  // Reads the field, empties it, and says which candidate is meant: the text itself is gone when this returns.
  function takePlace() {
    const at = findPlace(drive, parts.secret().value);
    parts.renewSecret(giveOnEnter);
    return at;
  }

  async function give() {
    const asked = ++state.asked, occasion = parts.occasion.value;
    clearRoute();
    const at = takePlace();
    if (drive.isRandomised && occasion !== "" && !state.key) return say("occasion");
    if (at < 0) return say("unknown");
    if (drive.places[at].refusal) return say(drive.places[at].refusal);
    try {
      const draw = await chooseDraw(drive, at, state.key, occasion);
      if (asked !== state.asked) return undefined;
      // A copy: what is kept from here on is the same for all who get this route.
      state.given = { class: draw.class, routes: [...draw.routes], parts: [...draw.parts] };
    } catch {
      return say("other");
    }
    say(drive.isRandomised && !state.key ? "drawn" : null);
    showRoute();
    parts.heading.focus();
    return undefined;
  }

  function giveOnEnter(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    give();
  }

  function showRoute() {
    const { given } = state, trip = Number(parts.trip.value), route = given.routes[trip];
    const format = drive.formats.includes("directions") ? "directions" : "text";
    parts.heading.textContent = `Your route: class ${given.class}${trips.length > 1 ? `, trip ${trip}` : ""}`;
    parts.sheet.textContent = routeText(drive, route, format);
    parts.result.hidden = false;
    if (state.isShown) showRouteOnMap(map, trips[trip], trip, given);
  }

  function clearRoute() {
    state.given = null;
    parts.result.hidden = true;
    parts.sheet.textContent = "";
    parts.heading.textContent = "";
    say(null);
    if (state.isShown) showMapOnly();
  }

  function showMapOnly() {
    map.setTrip(Number(parts.trip.value));
    map.setSeat(null);
  }

  function forgetKey() {
    state.key = null;
    parts.keyFile.value = "";
    parts.keyState.textContent = "No key: each draw is a fresh one.";
  }

  async function readKey() {
    const [file] = parts.keyFile.files;
    if (!file) return;
    try {
      const bytes = new Uint8Array(await file.slice(0, KEY_FILE_BYTES).arrayBuffer());
      const key = file.size <= KEY_FILE_BYTES ? await openKey(bytes) : null;
      forgetKey();
      if (!key) return say("key");
      state.key = key;
      parts.keyState.textContent = "Key read. It stays in this page until you press Forget or leave.";
      say(null);
    } catch {
      forgetKey();
      say("key");
    }
  }

  function forget() {
    state.asked += 1;
    parts.renewSecret(giveOnEnter);
    clearRoute();
    forgetKey();
    parts.occasion.value = "";
  }

  const currentText = (format) => routeText(drive, state.given.routes[Number(parts.trip.value)], format);
  const save = (format) => { if (state.given) saveText(currentText(format), ...FILE_KINDS[format]); };
  async function copy() {
    if (!state.given) return;
    const isDone = await copyText(parts.sheet.textContent);
    parts.copied.textContent = isDone ? "Copied." : "The browser does not allow it; save the route instead.";
  }

  parts.give.addEventListener("click", give);
  parts.forget.addEventListener("click", () => {
    forget();
    parts.secret().focus();
  });
  parts.keyFile.addEventListener("change", readKey);
  parts.copy.addEventListener("click", copy);
  parts.saves.forEach(([format, button]) => button.addEventListener("click", () => save(format)));
  parts.trip.addEventListener("change", () => (state.given ? showRoute() : state.isShown && showMapOnly()));
  const whenHidden = () => { if (document.hidden) parts.renewSecret(giveOnEnter); };
  forgetKey();

  return {
    elements: parts.elements,
    show() {
      state.isShown = true;
      parts.renewSecret(giveOnEnter);
      window.addEventListener("pagehide", forget);
      document.addEventListener("visibilitychange", whenHidden);
      showMapOnly();
    },
    hide() {
      forget();
      parts.removeSecret();
      window.removeEventListener("pagehide", forget);
      document.removeEventListener("visibilitychange", whenHidden);
      state.isShown = false;
      map.setSeat(null);
      map.setHidden(new Set());
      map.setChosen(null);
    },
  };
}

// The class's route alone. Where members part, how this one goes on: the others' ways stay faint.
function showRouteOnMap(map, trip, index, given) {
  const number = given.class, part = given.parts[index], group = trip.classes.find((each) => each.number === number);
  map.setTrip(index);
  map.setHidden(new Set(trip.classes.map((each) => each.number).filter((each) => each !== number)));
  map.setChosen(number);
  const node = group.parts[part].nodes.length - 1;
  map.setSeat(part ? { position: null, trail: { classNumber: number, part, node } } : null);
  map.fit(group.box);
}

function driverParts(drive, { trips, m }) {
  const holder = buildElement("span", { class: "seat-secret" });
  const shown = buildElement("input", { type: "checkbox" });
  const secret = () => holder.firstElementChild;
  const mask = () => { secret().style.webkitTextSecurity = shown.checked ? "none" : "disc"; };
  const removeSecret = () => {
    if (secret()) secret().value = "";
    holder.replaceChildren();
    shown.checked = false;
  };
  const renewSecret = (onKey) => {
    const hadFocus = holder.contains(document.activeElement);
    removeSecret();
    holder.append(secretField(onKey));
    mask();
    if (hadFocus) secret().focus();
  };
  shown.addEventListener("change", mask);
  const keyFile = buildElement("input", { type: "file", autocomplete: "off", "aria-describedby": "drive-key" });
  const keyState = buildElement("p", { class: "seat-muted", role: "status", id: "drive-key" });
  const occasion = buildElement("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const trip = buildElement("select", { autocomplete: "off" }, ...trips.map((_, i) => {
    return buildElement("option", { value: i }, `Trip ${i}`);
  }));
  const give = buildElement("button", { type: "button", class: "button primary" }, "Give route");
  const forget = buildElement("button", { type: "button", class: "button" }, "Forget");
  const status = buildElement("p", { role: "status", class: "seat-said" });
  const result = resultParts(drive);
  const draws = buildElement("div", {}, labelled("Key file; it is read here and sent nowhere", keyFile), keyState,
    labelled("Occasion, such as a date; needs a key", occasion));
  draws.hidden = !drive.isRandomised;
  const tripField = labelled("Trip", trip);
  tripField.hidden = trips.length < 2;
  const elements = [
    ...introduction(m), draws, tripField, labelled("Where you have to stop", holder),
    buildElement("label", { class: "seat-check" }, shown, " Show what I type"),
    buildElement("div", { class: "seat-row" }, give, forget), status, result.section,
  ];
  return {
    secret, renewSecret, removeSecret, keyFile, keyState, occasion, trip, give, forget, status, elements, ...result,
    result: result.section,
  };
}

// Fields of a form are remembered, completed, corrected and learned from by browsers; this one asks not to be. Its
// label does not say "name" or "address", by which they would know what to remember it as.
function secretField(onKey) {
  return buildElement("input", {
    type: "text", "aria-label": "Where you have to stop", autocomplete: "off", autocorrect: "off",
    autocapitalize: "off", spellcheck: "false", writingsuggestions: "false", translate: "no", enterkeyhint: "go",
    "data-1p-ignore": "true", "data-lpignore": "true", "data-form-type": "other", onkeydown: onKey,
  });
}

function resultParts(drive) {
  const heading = buildElement("h3", { tabindex: "-1" }), sheet = buildElement("pre", { tabindex: "0", dir: "auto" });
  const copy = buildElement("button", { type: "button", class: "button" }, "Copy");
  const copied = buildElement("span", { role: "status" });
  const saves = ["gpx", "directions", "json", "text"].filter((format) => drive.formats.includes(format))
    .map((format) => [format, buildElement("button", { type: "button", class: "button" }, SAVE_NAMES[format])]);
  const buttons = buildElement("div", { class: "seat-row" }, copy, ...saves.map(([, button]) => button), copied);
  sheet.setAttribute("aria-label", "Directions");
  const section = buildElement("section", { class: "seat-route", hidden: true }, heading, buttons, sheet);
  return { heading, sheet, copy, copied, saves, section };
}

function introduction(m) {
  const about = "Type a place as Look calls it; coordinates are understood by the command veilroute route alone. "
    + "What you type stays in this page and is gone when the route is shown. The page asks nobody: it has all routes.";
  const until = `Only the first ${m} nodes of a trip are promised to look the same for others.`;
  const made = (m ? [about, until] : [about]).map((text) => buildElement("p", { class: "seat-muted" }, text));
  if (!window.isSecureContext) {
    const open = "This page came over an unencrypted connection: whoever controls the network could have changed it. "
      + "Use it on the machine itself, or an exported file.";
    made.push(buildElement("p", { class: "seat-warning", role: "note" }, open));
  }
  return made;
}

// A file made from memory; its name is the same whatever is in it.
function saveText(text, name, kind) {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = buildElement("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
