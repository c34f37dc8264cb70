// Linked trips, day by day: what is left of each place to whoever links all trips of one secret. It shows the report of
// `veilroute audit --ledger --json`, which has every day, or of `veilroute ledger check --json`, which has the end.
import { buildElement, nameElement } from "./elements.js";

const MOST_PLACES = 60;
const MOST_DAYS = 31;

export function buildStack(days) {
  const all = Array.isArray(days?.candidates) ? days.candidates : [];
  const heading = buildElement("h3", {}, "Linked trips");
  if (!all.length) return buildElement("section", {}, heading, buildElement("p", {}, "The ledger has no trips yet."));
  const hasDays = Array.isArray(days.playbooks) && all.every((each) => Array.isArray(each.over_time));
  const worstFirst = [...all].sort((a, b) => isBroken(b) - isBroken(a) || a.left.length - b.left.length);
  const shown = worstFirst.slice(0, MOST_PLACES);
  return buildElement(
    "section", { class: "seat-stack" }, heading,
    buildElement("p", {}, verdictText(all)),
    buildElement("p", { class: "seat-muted" }, "So many places are left of each to who links all trips up to a day. "
      + "! means that a promise does not hold any more, – that no route is given, · that it was not listed yet."),
    hasDays ? dayTable(days.playbooks, shown) : endTable(shown),
    all.length > shown.length ? buildElement("p", {}, `${all.length - shown.length} more have more left.`) : null,
  );
}

function isBroken(each) {
  if (Array.isArray(each.over_time)) return each.over_time.some((step) => step?.short);
  return each.broken !== null && each.broken !== undefined;
}

function verdictText(all) {
  const numBroken = all.filter(isBroken).length, fewest = Math.min(...all.map((each) => each.left.length));
  if (numBroken) return `Linked trips break a promise for ${numBroken} of ${all.length} places.`;
  return `No promise is broken by linked trips. The fewest that are left of a place: ${fewest}.`;
}

function dayTable(playbooks, shown) {
  const first = Math.max(0, playbooks.length - MOST_DAYS), dates = playbooks.slice(first).map((each) => each.date);
  const most = Math.max(1, ...shown.flatMap((each) => each.over_time.map((step) => step?.left ?? 0)));
  const heads = dates.map((date, i) => buildElement("th", { scope: "col" }, date ?? String(first + i + 1)));
  const rows = shown.map((each) => buildElement(
    "tr", {}, buildElement("th", { scope: "row" }, nameElement(each.name)),
    ...each.over_time.slice(first).map((step) => dayCell(step, most)),
  ));
  return scrolled(buildElement("table", {}, tableHead(...heads), buildElement("tbody", {}, ...rows)));
}

// A number and a bar, stacked day upon day within the column of a day.
function dayCell(step, most) {
  if (!step) return buildElement("td", {}, "·");
  const text = `${step.hidden ? "" : "–"}${step.left}${step.short ? "!" : ""}`;
  const bar = buildElement("span", { class: step.short ? "seat-bar seat-short" : "seat-bar", "aria-hidden": "true" });
  bar.style.width = `${Math.max(4, 100 * step.left / most)}%`;
  return buildElement("td", {}, text, bar);
}

function endTable(shown) {
  const most = Math.max(1, ...shown.map((each) => each.left.length));
  const rows = shown.map((each) => {
    const step = { left: each.left.length, hidden: each.hidden, short: isBroken(each) };
    return buildElement("tr", {}, buildElement("th", { scope: "row" }, nameElement(each.name)), dayCell(step, most));
  });
  const head = tableHead(buildElement("th", { scope: "col" }, "Left at the end"));
  return scrolled(buildElement("table", {}, head, buildElement("tbody", {}, ...rows)));
}

function tableHead(...heads) {
  return buildElement("thead", {}, buildElement("tr", {}, buildElement("th", { scope: "col" }, "Place"), ...heads));
}

// Wide tables scroll by themselves, also with the keyboard.
function scrolled(table) {
  const about = { class: "seat-scroll", tabindex: "0", role: "group", "aria-label": "Linked trips, day by day" };
  return buildElement("div", about, table);
}
