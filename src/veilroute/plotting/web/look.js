// Look: what was planned, the classes and their routes, one at a time or all, directions, detours, who is not hidden.
import { buildElement, isolated, nameElement, observerFacts } from "./elements.js";

export function createLook(panel, map, scene) {
  const book = scene.playbook,
    state = { trip: book.shown || 0, hidden: new Set(), single: null, isShown: false, wasFitted: false };
  const lead = buildElement("p", { class: "lead" }),
    list = buildElement("ul", { class: "classes" });
  const stepper = lookStepper(stepTo),
    ways = lookWays(book, choose);
  const trips = book.trips.length > 1 ? tripField(book, state.trip, setTrip) : null;

  function setTrip(index) {
    [state.trip, state.single] = [index, null];
    state.hidden = new Set();
    fillTrip();
    if (!state.isShown) return;
    map.setTrip(state.trip);
    apply();
    map.fitTrip();
  }

  const classes = () => book.trips[state.trip].classes;

  function fillTrip() {
    const trip = book.trips[state.trip];
    lead.textContent = trip.lead;
    list.replaceChildren(...trip.classes.map((group) => classItem(book, trip, group, actions)));
    ways.set(false);
    showSingle();
  }

  // ---- one at a time, or all ----

  function choose(isSingle) {
    state.single = isSingle ? 0 : null;
    apply();
    showSingle();
    if (isSingle) fitSingle();
    else map.fitTrip();
  }

  function stepTo(by) {
    const num = classes().length;
    state.single = (state.single + by + num) % num;
    apply();
    showSingle();
    fitSingle();
  }

  const fitSingle = () => map.fit(classes()[state.single].box);

  function showSingle() {
    const group = state.single === null ? null : classes()[state.single];
    stepper.set(group ? `Class ${group.number} of ${classes().length}` : "");
    for (const item of list.children) {
      const isOne = Boolean(group) && Number(item.dataset.number) === group.number;
      item.classList.toggle("is-chosen", isOne);
      item.classList.toggle("is-off", group ? !isOne : state.hidden.has(Number(item.dataset.number)));
      item.querySelector("input").checked = group ? isOne : !state.hidden.has(Number(item.dataset.number));
      if (isOne) item.scrollIntoView({ block: "nearest" });
    }
  }

  // What the map shows.
  function apply() {
    const group = state.single === null ? null : classes()[state.single];
    const others = classes()
      .map(({ number }) => number)
      .filter((number) => group && number !== group.number);
    map.setHidden(group ? new Set(others) : state.hidden);
    map.setChosen(group ? group.number : null);
    map.setDetour(null);
  }

  const actions = {
    toggle(number, isOn) {
      if (state.single !== null) {
        // whoever ticks boxes looks at several
        state.hidden = new Set(
          classes()
            .map((group) => group.number)
            .filter((other) => other !== classes()[state.single].number),
        );
        state.single = null;
        ways.set(false);
      }
      if (isOn) state.hidden.delete(number);
      else state.hidden.add(number);
      apply();
      showSingle();
    },
    point(number) {
      if (state.single === null && state.isShown) map.setChosen(number);
    },
    zoomTo(group) {
      if (state.single !== null) {
        stepTo(classes().indexOf(group) - state.single);
        return;
      }
      if (state.hidden.has(group.number)) this.toggle(group.number, true);
      map.fit(group.box);
    },
    openDetour(item, detour) {
      for (const other of list.querySelectorAll("details.detour[open]")) if (other !== item) other.open = false;
      map.setDetour(detour);
      map.fit(detour.box);
    },
    closeDetour() {
      if (state.isShown && !list.querySelector("details.detour[open]")) map.setDetour(null);
    },
  };

  panel.append(
    ...[
      lead,
      trips,
      observerFacts(book.observer),
      summaryList(book),
      classesHead(book),
      ways.element,
      stepper.element,
      list,
      othersText(book),
      hintText(book),
    ].filter(Boolean),
  );
  fillTrip();
  return {
    show() {
      state.isShown = true;
      map.setTrip(state.trip);
      apply();
      if (!state.wasFitted) map.fitTrip();
      state.wasFitted = true;
    },
    hide() {
      state.isShown = false;
      map.setHidden(new Set());
      map.setChosen(null);
      map.setDetour(null);
    },
  };
}

function tripField(book, shown, onChange) {
  const way = ({ start, goal }) =>
    start.label === goal.label
      ? `${isolated(start.name)} and back`
      : `${isolated(start.name)} to ${isolated(goal.name)}`;
  const options = book.trips.map((trip, i) =>
    buildElement("option", { value: i, selected: i === shown }, `Trip ${i}: ${way(trip)}`),
  );
  const select = buildElement("select", { onchange: () => onChange(Number(select.value)) }, ...options);
  return buildElement("label", { class: "field" }, buildElement("span", {}, "Trip"), select);
}

function summaryList(book) {
  const rows = book.summary.flatMap(([name, value]) => [
    buildElement("dt", {}, name),
    buildElement("dd", {}, nameElement(value)),
  ]);
  return buildElement("dl", { class: "facts" }, ...rows);
}

function classesHead(book) {
  const num = book.trips[0].classes.length;
  return buildElement("h2", {}, num === 1 ? "1 class" : `${num} classes`);
}

function lookWays(book, onChange) {
  const group = freshGroup(),
    radio = (isSingle, text) => {
      const input = buildElement("input", {
        type: "radio",
        name: group,
        checked: !isSingle,
        onchange: () => onChange(isSingle),
      });
      return [input, buildElement("label", {}, input, buildElement("span", {}, text))];
    };
  const [all, allLabel] = radio(false, "All routes"),
    [one, oneLabel] = radio(true, "One at a time");
  const element = buildElement(
    "fieldset",
    { class: "ways" },
    buildElement("legend", { class: "visually-hidden" }, "Show"),
    allLabel,
    oneLabel,
  );
  element.hidden = book.trips[0].classes.length < 2;
  return {
    element,
    set: (isSingle) => {
      one.checked = isSingle;
      all.checked = !isSingle;
    },
  };
}

let numGroups = 0;
function freshGroup() {
  return `ways-${++numGroups}`;
}

function lookStepper(onStep) {
  const said = buildElement("output", { "aria-live": "polite" });
  const step = (by, sign, label) =>
    buildElement("button", { type: "button", class: "button", "aria-label": label, onclick: () => onStep(by) }, sign);
  const element = buildElement(
    "div",
    { class: "stepper" },
    step(-1, "‹", "Previous class"),
    said,
    step(1, "›", "Next class"),
  );
  element.hidden = true;
  return {
    element,
    set: (text) => {
      said.textContent = text;
      element.hidden = !text;
    },
  };
}

// ---- a class in the list ----

function classItem(book, trip, group, actions) {
  const item = buildElement("li", { class: "class", "data-number": group.number });
  item.style.setProperty("--class", group.colour);
  item.style.setProperty("--on-class", group.ink);
  const box = buildElement("input", {
    type: "checkbox",
    checked: true,
    "aria-label": `Show class ${group.number}`,
    onchange: () => actions.toggle(group.number, box.checked),
  });
  const zoomTo = buildElement(
    "button",
    { type: "button", title: `Zoom to class ${group.number}`, onclick: () => actions.zoomTo(group) },
    buildElement("span", { class: "number" }, String(group.number)),
    membersText(book, group),
    " ",
    buildElement("span", { class: "cost" }, group.costs),
  );
  item.append(
    buildElement("div", { class: "row" }, buildElement("label", { class: "tick" }, box), zoomTo),
    ...(group.bar ? [chancesBar(book, group.bar)] : []),
  );
  item.append(...group.directions.map(directionsBlock));
  for (const detour of trip.detours) if (detour.number === group.number) item.append(detourBlock(detour, actions));
  for (const kind of ["pointerenter", "focusin"]) item.addEventListener(kind, () => actions.point(group.number));
  for (const kind of ["pointerleave", "focusout"]) item.addEventListener(kind, () => actions.point(null));
  return item;
}

function membersText(book, group) {
  const names = group.members.flatMap((at, i) => {
    const { name, letters } = book.candidates[at];
    return [i ? ", " : "", ...(letters ? [buildElement("b", {}, letters), " "] : []), nameElement(name)];
  });
  return buildElement("span", { class: "members" }, ...names);
}

// How probable each place is to whoever saw the route, as parts of a bar, the most probable first.
function chancesBar(book, bar) {
  const said = bar
    .map(([at, chance]) => `${isolated(book.candidates[at].name)} ${Math.round(100 * chance)}%`)
    .join("; ");
  const element = buildElement("div", { class: "bar", role: "img", title: said, "aria-label": said });
  for (const [, chance] of bar) {
    const piece = buildElement("i", {}, `${Math.round(100 * chance)}%`);
    piece.style.width = `${100 * chance}%`;
    element.append(piece);
  }
  return element;
}

// Steps are put in when they are asked for: a large playbook has thousands.
function directionsBlock({ title, steps }) {
  const block = buildElement("details", {}, buildElement("summary", {}, nameElement(title)));
  block.addEventListener("toggle", () => {
    if (block.open && block.children.length === 1)
      block.append(buildElement("ol", {}, ...steps.map((text) => buildElement("li", {}, nameElement(text)))));
  });
  return block;
}

function detourBlock(detour, actions) {
  const block = buildElement("details", { class: "detour" }, buildElement("summary", {}, nameElement(detour.title)));
  block.append(buildElement("p", {}, nameElement(detour.about)), ...detour.directions.map(directionsBlock));
  block.addEventListener("toggle", (event) => {
    if (event.target === block) block.open ? actions.openDetour(block, detour) : actions.closeDetour();
  });
  return block;
}

function othersText(book) {
  if (!book.notHidden.length) return null;
  const names = book.notHidden.flatMap((name, i) => [i ? ", " : "", nameElement(name)]);
  return buildElement("p", { class: "others" }, buildElement("b", {}, "Not hidden: "), ...names);
}

function hintText(book) {
  return buildElement(
    "p",
    { class: "hint" },
    `${book.hint} Check it: `,
    buildElement("code", {}, "veilroute audit PLAYBOOK"),
  );
}
