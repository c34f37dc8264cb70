// Small helpers to build the studio's pages: elements without HTML strings, and numbers as people read them.

const SVG = "http://www.w3.org/2000/svg";

// element("button", {class: "x", type: "button", onclick: f}, "text", child): strings become text, never HTML.
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function drawing(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// A name from a file: marks that turn the direction of text stay inside it.
export function named(text) {
  return element("bdi", {}, String(text));
}

// A button as the shared page has them; {class: "primary"} and the like say which kind.
export function button(text, onclick, attributes = {}) {
  return element(
    "button",
    { type: "button", onclick, ...attributes, class: `button ${attributes.class ?? ""}`.trim() },
    text,
  );
}

// A button that looks like something else.
export function bareButton(onclick, attributes, ...children) {
  return element("button", { type: "button", onclick, ...attributes }, ...children);
}

let lastId = 0;

export function freshId(stem) {
  lastId += 1;
  return `${stem}-${lastId}`;
}

// A control with its label and, below, a short explanation that screen readers read with it.
export function field(label, control, explanation, extra = null) {
  const id = control.id || (control.id = freshId("field"));
  const note = explanation ? element("p", { class: "explain", id: `${id}-about` }, explanation) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return element(
    "div",
    { class: "ask" },
    element("label", { for: id }, label),
    element("div", { class: "ask-control" }, control, extra),
    note,
  );
}

export function select(options, value, attributes = {}) {
  const node = element(
    "select",
    attributes,
    options.map(([key, text]) => element("option", { value: key }, text)),
  );
  if (value !== undefined && value !== null) node.value = value;
  return node;
}

// Radio buttons side by side: name, [[value, text, explanation]]. Gives the fieldset; its choice is read with chosen().
export function choices(legend, options, value, onchange, attributes = {}) {
  const group = freshId("choice");
  const items = options.map(([key, text, about]) => {
    const input = element("input", { type: "radio", name: group, value: key, checked: key === value, onchange });
    return element("label", { class: "choice", title: about }, input, element("span", {}, text));
  });
  return element(
    "fieldset",
    { class: "choices", ...attributes },
    element("legend", {}, legend),
    element("div", { class: "choice-row" }, items),
  );
}

export function chosen(fieldset) {
  return fieldset.querySelector("input:checked")?.value ?? null;
}

export function choose(fieldset, value) {
  for (const input of fieldset.querySelectorAll("input[type=radio]")) input.checked = input.value === value;
}

// What is wrong with the rows of a table and the like: where it is, what it is, and what could be typed instead.
export function problemList(problems) {
  return element(
    "ul",
    { class: "problems" },
    problems.map(({ what, file, row, column, field: key, name, did_you_mean: meant }) => {
      const where = [row ? `Row ${row}` : (file ?? key), column, name].filter(Boolean).join(", ");
      const hint = meant?.length ? ` Did you mean ${meant.join(" or ")}?` : "";
      return element("li", {}, where ? element("strong", {}, named(where), ": ") : null, named(what), hint);
    }),
  );
}

// A line for an error next to what it is about, with a list where it is several; empty it takes no room.
export function errorLine() {
  const node = element("div", { class: "error", role: "alert" });
  return {
    node,
    show(error) {
      const problems = error?.problems ?? [];
      if (problems.length > 1) node.replaceChildren(`${problems.length} problems`, problemList(problems));
      else node.textContent = error ? String(error.message ?? error) : "";
    },
    clear() {
      node.textContent = "";
    },
  };
}

// A table whose rows are lists of cells, the first of which names the row; in a box that scrolls where it is too wide.
export function tableOf(heads, rows, attributes = {}) {
  const head = element("tr", {}, heads.map((text) => element("th", { scope: "col" }, text)));
  const cell = (content, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, content);
  const body = rows.map((row) => element("tr", {}, row.map(cell)));
  return element(
    "div",
    { class: "table-scroll", ...attributes },
    element("table", {}, element("thead", {}, head), element("tbody", {}, body)),
  );
}

export function percentText(share, digits = 1) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  return `${(100 * share).toFixed(Math.abs(share) < 1e-12 ? 0 : digits)} %`;
}

export function secondsText(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds),
    minutes = Math.floor(whole / 60) % 60,
    hours = Math.floor(whole / 3600);
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

export function bytesText(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

// Hands a file to the browser's downloads, from memory.
export function saveBlob(blob, name) {
  const address = URL.createObjectURL(blob),
    link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
