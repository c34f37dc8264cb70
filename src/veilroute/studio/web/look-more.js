// Beside Look: what to do when a road is closed, and a day of a fleet. Neither is told a secret.
import { element } from "./pieces.js";

export function createLookMore(panel, studio) {
  const node = element("div");
  panel.append(node);
  return { show() {}, hide() {} };
}
