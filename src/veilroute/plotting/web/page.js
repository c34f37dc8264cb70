// An exported playbook: Look, Watch and Drive in one file. Everything it shows is in the block of data in the page; the
// page's policy lets the browser ask for nothing.
import { createMap } from "./canvas.js";
import { createDrive } from "./drive.js";
import { buildElement } from "./elements.js";
import { createLook } from "./look.js";
import { readPacked } from "./packed.js";
import { createTabs } from "./tabs.js";
import { createWatch } from "./watch.js";

function openPage(scene) {
  const side = document.getElementById("side"),
    map = createMap(document.getElementById("map"));
  map.setScene(scene);
  const makers = {
    Look: (panel) => createLook(panel, map, scene),
    Watch: (panel) => createWatch(panel, map, scene),
    Drive: (panel) => createDrive(panel, map, scene, { seal: () => {} }), // the page's own policy is the seal
  };
  const views = Object.entries(makers).map(([name, make]) => ({ name, panel: viewPanel(), make }));
  const tabs = createTabs(views);
  const head = buildElement("header", { class: "head" }, buildElement("h1", {}, scene.playbook.title), tabs.list);
  side.replaceChildren(head, ...views.map(({ panel }) => panel));
  tabs.go("Look");
}

function viewPanel() {
  return buildElement("div", { class: "panel" });
}

readPacked(openPage);
