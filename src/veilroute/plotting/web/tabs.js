// Tabs: one view at a time, chosen by mouse or with the arrow keys; what is in them comes and goes by show(), hide().
import { buildElement } from "./elements.js";

// views: [{ name, panel, make }], where make(panel) returns { show, hide } and is called when the view is first shown.
// Returns the list of tabs and go(name); onChange is told the name of the view that is shown.
export function createTabs(views, onChange = () => {}) {
  const made = new Map();
  let current = null;
  const tabs = views.map(({ name, panel }) => {
    const id = name.toLowerCase();
    panel.id = `view-${id}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    panel.tabIndex = 0;
    panel.hidden = true;
    return buildElement(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${id}`,
        "aria-controls": panel.id,
        "aria-selected": "false",
        tabindex: -1,
        onclick: () => go(name),
      },
      name,
    );
  });
  const list = buildElement("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement),
      num = tabs.length;
    const to = { ArrowRight: (at + 1) % num, ArrowLeft: (at - 1 + num) % num, Home: 0, End: num - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    tabs[to].focus();
    go(views[to].name);
  });

  function go(name) {
    if (name === current) return;
    if (current !== null) made.get(current).hide();
    current = name;
    views.forEach((view, i) => {
      const isOn = view.name === name;
      view.panel.hidden = !isOn;
      tabs[i].setAttribute("aria-selected", String(isOn));
      tabs[i].tabIndex = isOn ? 0 : -1;
      if (isOn && !made.has(name)) made.set(name, view.make(view.panel));
    });
    made.get(name).show();
    onChange(name);
  }
  return { list, go };
}
