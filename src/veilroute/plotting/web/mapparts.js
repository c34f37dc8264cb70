// The elements around the map's canvas: buttons, scale, credits, the tip beside the pointer, and what is read aloud.

export function mapParts(root) {
  const canvas = root.querySelector("canvas") || document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  if (!canvas.hasAttribute("aria-label"))
    canvas.setAttribute(
      "aria-label",
      "Map: arrow keys move, plus and minus zoom, 0 shows all, C shows a cross-hair to pick with",
    );
  const tip = mapElement("div", "map-tip"),
    said = mapElement("div", "visually-hidden"),
    notes = mapElement("div", "map-notes");
  const credits = mapElement("span", "map-credits"),
    scale = mapElement("span", "map-scale"),
    buttons = mapElement("div", "map-zoom");
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  said.setAttribute("role", "status");
  notes.append(credits, scale);
  const [zoomIn, zoomOut, zoomFit] = [
    ["+", "Zoom in"],
    ["−", "Zoom out"],
    ["⤢", "Show all routes"],
  ].map(([sign, label]) => {
    const button = mapElement("button", "");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", label);
    button.title = label;
    return button;
  });
  buttons.append(zoomIn, zoomOut, zoomFit);
  root.append(canvas, buttons, tip, notes, said);
  return { canvas, tip, said, credits, scale, zoomIn, zoomOut, zoomFit };
}

function mapElement(tag, name) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  return element;
}
