// What an observer knows, worked out by hand: three places behind two routes that part after two nodes, on two trips.
import { bestGuesses, commonStart, createObserver, positionOn } from "./observer.js";
import { createWatch } from "./watch.js";
import { decode } from "./geometry.js";
import { observerFacts } from "./elements.js";
import { equal, near, ok } from "./checks.js";

const watch = {
  m: 3, bound: null, distance: "1",
  walks: [[0, 1, 2, 3], [0, 1, 4, 5, 3], [6, 7], [6, 7, 8]],
  ways: [
    { walks: [0, 2], parts: [[1, 0], [1, 0]], title: "Class 1", classes: [1] },
    { walks: [1, 2], parts: [[2, 0], [2, 0]], title: "Class 2", classes: [2] },
    { walks: [1, 3], parts: [[2, 0], [2, 1]], title: "Class 2, as for C", classes: [2] },
  ],
  sights: { candidates: [0, 1, 1, 2], classes: [1, 1, 2, 2], joint: [0.25, 0.25, 0.125, 0.375], ways: [0, 0, 1, 2] },
  areas: [[0, 1], [1, 2]], doors: [[1, 2]],
  trips: [
    { at: [1, 3], worst: [0.75, 0.8], place: [0.4, 0.75], bayes: [0.375, 0.625], left: [3, 2], length: 5 },
    { at: [1, 3], worst: [0.8, 1], place: [0.75, 1], bayes: [0.625, 0.75], left: [2, 1], length: 3 },
  ],
  promised: { worst: 0.8, place: 0.75, bayes: 0.625, left: 2 }, hiddenMass: 1,
  noTrip: { candidates: [], posterior: [], probability: 0, advice: null },
};
const observer = createObserver(watch);
const chances = (...seen) => [...observer.chances(...seen).values()];

export function testEverybodyIsPossibleAtFirst() {
  equal(observer.alike(0, 0, 1), [0, 1, 2]);
  near(chances(0, 0, 2), [0.25, 0.375, 0.375]);
}

export function testRoutesThatPartTellWhoItIsNot() {
  equal(observer.alike(0, 0, 3), [0]);
  near(chances(0, 0, 3), [0.5, 0.5, 0]);
  near(chances(1, 0, 5), [0, 0.25, 0.75]);
}

export function testEarlierTripsWereSeenWhole() {
  equal(observer.alike(0, 1, 1), [0]);
  equal(observer.alike(1, 1, 2), [1, 2]);
  near(chances(2, 1, 3), [0, 0, 1]);
}

export function testThatATripHasEndedTellsSomething() {
  equal(observer.numSteps(1, 1), 3);
  equal(observer.numSteps(2, 1), 3);
  equal(observer.numSteps(0, 1), 2);
  near(chances(1, 1, 3), [0, 1, 0]);
}

export function testFiguresHoldUntilTheNext() {
  equal(observer.figures(0, 2), { worst: 0.75, place: 0.4, bayes: 0.375, left: 3 });
  equal(observer.figures(0, 4).bayes, 0.625);
  equal(observer.figures(0, 0).bayes, null);
  equal(observer.figures(1, Infinity).bayes, 0.75);
}

export function testPlacesOfAnAreaCountTogether() {
  near(observer.area(observer.chances(0, 0, 1)), 0.75);
  near(observer.area(observer.chances(2, 1, 3)), 1);
  near(observer.area(new Map([[0, 0.6], [1, 0], [2, 0.4]])), 0.6);
}

export function testNamesAtOneDoorAreOnePlace() {
  near(observer.place(new Map([[0, 0.4], [1, 0.3], [2, 0.3]])), 0.6);
  equal(observer.numPlaces(new Map([[0, 0.4], [1, 0.3], [2, 0.3]])), 2);
  equal(observer.numPlaces(new Map([[0, 0], [1, 0.3], [2, 0]])), 1);
}

export function testThePromiseEndsAfterMNodesOfAnyTrip() {
  ok(observer.isPromised(0, 0, 3));
  ok(!observer.isPromised(0, 0, 4));
  ok(!observer.isPromised(0, 1, 1), "the first trip was seen whole, and has four nodes");
  ok(createObserver({ ...watch, m: null }).isPromised(0, 1, 100));
}

export function testGuessesThatAreLevel() {
  equal(bestGuesses(new Map([[4, 0.5], [7, 0.5 - 1e-12], [9, 0.1]])), [4, 7]);
  equal(bestGuesses(new Map([[4, 0]])), []);
  equal(commonStart([1, 2, 3], [1, 2]), 2);
}

const trip = {
  classes: [
    { number: 2, parts: [
      { points: [0, 0, 5, 0, 5, 0, 0, 10], nodes: [0, 2, 3] },
      { points: [10, 10, 10, 0, 0, 5], nodes: [0, 1, 2] },
    ] },
  ],
};

export function testPositionsFollowThePartsOfARoute() {
  equal(positionOn(trip, [2, 1], 2, decode), { position: [10, 0], trail: { classNumber: 2, part: 0, node: 1 } });
  equal(positionOn(trip, [2, 1], 4, decode), { position: [20, 10], trail: { classNumber: 2, part: 1, node: 1 } });
  equal(positionOn(trip, [2, 1], 9, decode).position, [20, 15]);
  equal(positionOn(trip, [2, 0], 9, decode).position, [10, 10]);
}

function shownWatch(options) {
  const panel = document.createElement("div"), calls = [];
  const map = new Proxy({}, { get: (_, name) => (...given) => calls.push([name, ...given]), set: () => true });
  const line = { points: [0, 0, 10, 0, 10, 0, 10, 0, 10, 0], nodes: [0, 1, 2, 3, 4] };
  const classes = [1, 2].map((number) => ({ number, parts: [line, line] }));
  const candidates = ["A", "</script>\u202eB", "C"].map((name, i) => ({ name, label: String(i), x: 10 * i, y: 0 }));
  const view = createWatch(panel, map, { playbook: { watch, candidates, trips: [{ classes }, { classes }] } }, options);
  document.body.append(panel);
  view.show();
  return { panel, view, calls };
}

export function testThePanelFollowsTheScrubber() {
  const { panel, view } = shownWatch(), scrubber = panel.querySelector("input[type=range]");
  equal(scrubber.max, "4");
  scrubber.value = "3";
  scrubber.dispatchEvent(new Event("input"));
  ok(panel.textContent.includes("2 places are still possible. The observer is at most"));
  equal([...panel.querySelectorAll(".seat-out bdi")].map((name) => name.textContent), ["C"]);
  equal(scrubber.getAttribute("aria-valuetext"), "3 of 4 nodes");
  view.hide();
  panel.remove();
}

export async function testTheGameTellsNothingBeforeTheGuess() {
  const { panel, view, calls } = shownWatch();
  const buttons = [...panel.querySelectorAll("button")];
  const press = (text) => buttons.find((each) => each.textContent.startsWith(text)).click();
  for (let round = 0; round < 5; round++) {
    calls.length = 0;
    press(round ? "Next round" : "Play the game");
    await new Promise((done) => { setTimeout(done, 0); });
    equal(panel.querySelector("input[type=range]").max, "5");
    equal(panel.querySelector("output").textContent, "1 seen");
    ok(panel.querySelector("select").closest("label").hidden);
    const seats = calls.filter(([name, seat]) => name === "setSeat" && seat).map(([, seat]) => seat.trail.classNumber);
    ok(seats.every((number) => number === 1), "before routes part, the first of them is drawn");
    press("This is my guess");
    ok(panel.textContent.includes("Choose a place first") === true);
    panel.querySelector("input[type=radio]").checked = true;
    press("This is my guess");
    ok(panel.textContent.includes(`of ${round + 1} right`));
  }
  view.hide();
  panel.remove();
}

export function testLinkedTripsAreStackedByDay() {
  const step = (left, short = false, hidden = true) => ({ left, short, hidden });
  const days = {
    playbooks: [{ date: "2026-01-01" }, { date: "2026-01-02" }],
    candidates: [
      { candidate: 1, name: "A", left: [1, 2], over_time: [step(4), step(2)] },
      { candidate: 2, name: "B", left: [2], over_time: [null, step(1, true)] },
    ],
  };
  const { panel, view } = shownWatch({ days });
  const rows = [...panel.querySelectorAll(".seat-stack tbody tr")].map((row) => row.textContent);
  equal(rows, ["B·1!", "A42"]);
  view.setDays({ candidates: [{ name: "A", left: [1, 2, 3], hidden: false, broken: null }] });
  equal([...panel.querySelectorAll(".seat-stack tbody tr")].map((row) => row.textContent), ["A–3"]);
  view.setDays(null);
  equal(panel.querySelectorAll(".seat-stack").length, 0);
  panel.remove();
}

export function testTheThreeFiguresComeInTheirOrderForEachObserver() {
  const rows = [["Places that stay possible", "at least 3"], ["How sure of one place", "at most 33.3%"]];
  const seats = [{ seen: "the first 2 nodes of a route", rows }, { seen: "the whole route", rows }];
  const part = observerFacts({ seats, warnings: ["<b>91%</b>"], notes: ["4 names share 2 doors."] });
  const said = [...part.children].map((each) => each.textContent);
  equal(said[0], "An observer who sees the first 2 nodes of a route:");
  equal(said[1], "Places that stay possibleat least 3How sure of one placeat most 33.3%");
  equal(said.slice(2), ["An observer who sees the whole route:", said[1], "Warning: <b>91%</b>", "4 names share 2 doors."]);
  equal(observerFacts().children.length, 0);
}
