// Colours of the map: light and dark, with more contrast where the reader asks for it. The panel's are in page.css.

const LIGHT = {
  land: "#f4f3ee",
  floor: "#fdfdfb",
  wall: "#5b5f66",
  cell: "#e6e5df",
  ink: "#1b1d21",
  muted: "#5d616a",
  page: "#ffffff",
  halo: "#fbfaf6",
  oneWay: "#8d8f94",
  accent: "#0b5cad",
  routeCasing: "",
  road0: "#ffffff",
  road1: "#ffffff",
  road2: "#ffffff",
  road3: "#fbfaf7",
  casing0: "#b3b1a8",
  casing1: "#bfbdb4",
  casing2: "#cccac2",
  casing3: "#d8d6cf",
  far0: "#9f9d95",
  far1: "#b0aea6",
  far2: "#c5c3bb",
  far3: "#d6d4cd",
};
const DARK = {
  land: "#191c20",
  floor: "#25292e",
  wall: "#0c0e10",
  cell: "#31363c",
  ink: "#eef0f2",
  muted: "#a9aeb6",
  page: "#15171a",
  halo: "#191c20",
  oneWay: "#8a9098",
  accent: "#7cc0ff",
  routeCasing: "rgba(255,255,255,0.72)",
  road0: "#4b525a",
  road1: "#424850",
  road2: "#383e45",
  road3: "#2f343a",
  casing0: "#0f1114",
  casing1: "#101215",
  casing2: "#121417",
  casing3: "#14171a",
  far0: "#767e87",
  far1: "#5f666e",
  far2: "#474d54",
  far3: "#363b41",
};
const STRONG_LIGHT = {
  land: "#ffffff",
  floor: "#ffffff",
  wall: "#26282c",
  halo: "#ffffff",
  muted: "#2d3036",
  far2: "#8d8b84",
  casing2: "#8d8b84",
};
const STRONG_DARK = {
  land: "#000000",
  floor: "#16181b",
  halo: "#000000",
  muted: "#e0e3e7",
  far2: "#7d858e",
  routeCasing: "#ffffff",
};

const asks = (query) => matchMedia(query).matches;

// The colours for now; paper is always light.
export function themeNow(isPrinting) {
  const isDark = !isPrinting && asks("(prefers-color-scheme: dark)");
  const isStrong = asks("(prefers-contrast: more)") || asks("(forced-colors: active)");
  return { ...(isDark ? DARK : LIGHT), ...(isStrong ? (isDark ? STRONG_DARK : STRONG_LIGHT) : {}), isDark };
}

export function onThemeChange(act) {
  for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", act);
  }
}
