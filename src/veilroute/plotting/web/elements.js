// Elements for the seats: made with textContent and attributes only, because names from files may hold anything.

// An element with attributes, listeners ("onclick": function) and children, which are elements or text.
export function buildElement(tag, attributes = {}, ...children) {
  const made = DRAWN_TAGS.has(tag) ? document.createElementNS(drawingSpace(), tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const DRAWN_TAGS = new Set(["svg", "path", "line", "rect", "text", "g"]);

// The name of SVG's elements looks like an address, and no address is to stand in a page that asks for nothing.
function drawingSpace() {
  return new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;
}

// A name from a file: marks in it that turn the direction of writing end with it.
export function nameElement(text) {
  return buildElement("bdi", {}, text);
}

// The same where there can be no element, as in an option: between the signs that isolate a direction.
export function isolated(text, most = 80) {
  const letters = [...text];
  return `\u2068${letters.length > most ? `${letters.slice(0, most).join("")}…` : text}\u2069`;
}

export function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

// What an observer can find out: three figures in their order and an average, for one who sees what is promised about
// and, where that is less, for one who sees all; then what to be careful about. As exposure.py says it.
export function observerFacts({ seats, warnings, notes = [] } = { seats: [], warnings: [] }) {
  const facts = ({ seen, rows }) => [
    buildElement("p", {}, `An observer who sees ${seen}:`),
    buildElement("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [
      buildElement("dt", {}, name), buildElement("dd", {}, value),
    ])),
  ];
  const warned = warnings.map((text) => buildElement("p", { class: "seat-warning" }, `Warning: ${text}`));
  const noted = notes.map((text) => buildElement("p", {}, text));
  return buildElement("section", { class: "observer", "aria-label": "The observer" }, ...seats.flatMap(facts), ...warned, ...noted);
}

export function labelled(text, control) {
  return buildElement("label", { class: "field" }, buildElement("span", {}, text), control);
}
