// The observer's seat: a route is watched node by node. The map shows where the vehicle is and whose place is still
// possible; the panel shows how probable each is, how that grows on the way, and what is promised. As a game, a route
// is drawn and the stop is to be guessed.
import { buildRiskChart } from "./chart.js";
import { drawWeighted, freshBelow } from "./draw.js";
import { buildElement, isolated, labelled, nameElement, observerFacts, percent } from "./elements.js";
import { decode } from "./geometry.js";
import { bestGuesses, createObserver, positionOn } from "./observer.js";
import { buildStack } from "./stacked.js";

const WHOLE_PLAY_MS = 12000;
const CALM_STEPS = 12;

export function createWatch(panel, map, scene, { days = null } = {}) {
  const watch = scene.playbook?.watch;
  const stack = buildElement("div");
  const setDays = (report) => stack.replaceChildren(...(report ? [buildStack(report)] : []));
  panel.replaceChildren(buildElement("h2", {}, "Observer’s seat"));
  setDays(days);
  const why = whyNot(watch);
  if (why) {
    panel.append(buildElement("p", {}, why), stack);
    return { show() { map.setTrip(scene.playbook ? 0 : null); }, hide() {}, setDays };
  }
  const seat = createSeat(map, scene, watch);
  panel.append(...seat.elements, stack);
  return { show: seat.show, hide: seat.hide, setDays };
}

function whyNot(watch) {
  if (!watch) return "There is no playbook to watch.";
  if (watch.refused) return `This playbook cannot be watched: ${watch.refused}`;
  return watch.ways.length ? "" : "No place is hidden that an observer could look for: there is no route to watch.";
}

function createSeat(map, scene, watch) {
  const { candidates, trips } = scene.playbook, observer = createObserver(watch);
  const state = { way: 0, trip: 0, step: 1, timer: null, round: null, isShown: false, told: "" };
  const parts = seatParts(watch, trips, scene.playbook.observer);
  const bars = createBars(candidates, observer.hidden);
  const game = createGame(candidates);
  const charts = watch.trips.map((figures) => buildRiskChart(figures, watch));
  const isGuessing = () => Boolean(state.round && !state.round.isOver);
  // In the game a route is not to be known by its length.
  const lasting = () => (isGuessing() ? watch.trips[state.trip].length : observer.numSteps(state.way, state.trip));

  function refresh() {
    const { way, trip, step, round } = state, num = observer.numNodes(way, trip);
    const chances = observer.chances(way, trip, step);
    const seen = step > num ? "has ended" : isGuessing() ? `${step} seen` : `${step} of ${num} nodes`;
    parts.scrubber.max = lasting();
    parts.scrubber.value = step;
    parts.scrubber.setAttribute("aria-valuetext", seen);
    parts.count.textContent = seen;
    bars.show(chances, round);
    tell(chances);
    parts.promise.textContent = promiseText(watch, observer.isPromised(way, trip, step), observer.figures(trip, step));
    charts[trip].setStep(step);
    if (state.isShown) showOnMap(chances);
  }

  // Read aloud only when something has changed, not at every node.
  function tell(chances) {
    const area = observer.area(chances);
    const num = observer.numPlaces(chances);
    let text = `${num} place${num === 1 ? " is" : "s are"} still possible. `
      + `The observer is at most ${percent(observer.place(chances))} sure of one place`;
    text += area === null ? "." : ` and at most ${percent(area)} sure of ${areaText(watch)}.`;
    if (text !== state.told) parts.status.textContent = state.told = text;
  }

  function showOnMap(chances) {
    const { trip, step } = state;
    // In the game all that look alike are drawn as the first of them, whose colour gives nothing away.
    const shown = isGuessing() ? observer.alike(state.way, trip, step)[0] : state.way;
    map.setSeat({ ...positionOn(trips[trip], watch.ways[shown].parts[trip], step, decode), chances });
  }

  function goTo(step) {
    state.step = Math.min(Math.max(step, 1), lasting());
    if (state.step === lasting()) stop();
    refresh();
  }

  function choose(way, trip) {
    stop();
    [state.way, state.trip, state.step] = [way, trip, 1];
    // Nowhere in the page while it is to be guessed.
    parts.route.value = isGuessing() ? "" : String(way);
    parts.trip.value = String(trip);
    parts.chart.replaceChildren(charts[trip].figure);
    if (state.isShown) map.setTrip(trip);
    refresh();
  }

  function play() {
    if (state.step >= lasting()) goTo(1);
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches, num = lasting();
    const stride = isCalm ? Math.ceil(num / CALM_STEPS) : 1;
    const pause = isCalm ? 1000 : Math.min(Math.max(WHOLE_PLAY_MS / num, 40), 500);
    state.timer = setInterval(() => goTo(state.step + stride), pause);
    parts.play.textContent = "Pause";
  }

  function stop() {
    clearInterval(state.timer);
    state.timer = null;
    parts.play.textContent = "Play";
  }

  async function newRound() {
    if (!watch.sights.joint.some((chance) => chance > 0)) return;
    const sight = await drawWeighted(watch.sights.joint, freshBelow);
    state.round = { secret: watch.sights.candidates[sight], isOver: false };
    parts.route.closest("label").hidden = true;
    bars.setPick(null);
    choose(watch.sights.ways[sight], 0);
    game.start(observer.figures(trips.length - 1, Infinity).bayes);
    play();
  }

  function guess() {
    const picked = bars.picked();
    if (picked === null) return game.ask();
    stop();
    const { way, trip, step, round } = state;
    round.isOver = true;
    game.settle(picked, round.secret, observer.chances(way, trip, step), observer.figures(trip, step).bayes);
    return refresh();
  }

  function endGame() {
    state.round = null;
    parts.route.closest("label").hidden = false;
    parts.route.value = String(state.way);
    game.end();
    refresh();
  }

  parts.route.addEventListener("change", () => choose(Number(parts.route.value), state.trip));
  parts.trip.addEventListener("change", () => choose(state.way, Number(parts.trip.value)));
  parts.scrubber.addEventListener("input", () => { stop(); goTo(Number(parts.scrubber.value)); });
  parts.play.addEventListener("click", () => (state.timer === null ? play() : stop()));
  game.listen({ newRound, guess, endGame });
  choose(0, scene.playbook.shown || 0);

  return {
    elements: [...parts.elements, game.element, bars.element, parts.chart],
    show() {
      state.isShown = true;
      map.setChosen(null);
      map.setHidden(new Set());
      map.setTrip(state.trip);
      map.onPick = (pick) => { if (isGuessing()) bars.setPick(nearestPlace(candidates, observer.hidden, pick)); };
      refresh();
    },
    hide() {
      stop();
      state.isShown = false;
      map.onPick = null;
      map.setSeat(null);
    },
  };
}

function seatParts(watch, trips, known) {
  const route = buildElement("select", {}, ...watch.ways.map(({ title }, i) => {
    return buildElement("option", { value: i }, isolated(title));
  }));
  const trip = buildElement("select", {}, ...trips.map((_, i) => buildElement("option", { value: i }, `Trip ${i}`)));
  const range = { type: "range", min: 1, max: 1, step: 1, value: 1, "aria-label": "Nodes seen" };
  const scrubber = buildElement("input", range);
  const play = buildElement("button", { type: "button", class: "button" }, "Play"), count = buildElement("output");
  const status = buildElement("p", { role: "status" }), promise = buildElement("p", { class: "seat-muted" });
  const tripField = labelled("Trip; those before it count as seen whole", trip);
  tripField.hidden = trips.length < 2;
  const elements = [
    observerFacts(known),
    buildElement("p", { class: "seat-muted" }, "The observer knows the playbook. What does a route tell?"),
    labelled("Route that is watched", route), tripField,
    buildElement("div", { class: "seat-row" }, play, scrubber, count), status, promise,
  ];
  return { route, trip, scrubber, play, count, status, promise, chart: buildElement("div"), elements };
}

function promiseText(watch, isPromised, figures) {
  const risk = riskText(watch, figures);
  if (watch.m === null) return `The promise is about whole routes.${risk}`;
  const until = `The promise is about the first ${watch.m} nodes of every trip`;
  return isPromised ? `${until}.${risk}` : `${until}: more has been seen, and nothing is promised any more.${risk}`;
}

function riskText(watch, { worst, place, bayes, left }) {
  if (worst === null) return "";
  return ` Over all routes, by now: at least ${left} place${left === 1 ? " stays" : "s stay"} possible; an observer is at most ${percent(place)} `
    + `sure of one place and at most ${percent(worst)} sure of ${areaText(watch)}; `
    + `the best guess is right ${percent(bayes)} of the time, averaged over all routes.`;
}

function areaText(watch) {
  return watch.distance === "0" ? "an area (here, a single place)" : `an area less than ${watch.distance} across`;
}

function nearestPlace(candidates, hidden, { x, y, text }) {
  const known = hidden.find((each) => text && candidates[each].label === text);
  if (known !== undefined) return known;
  const away = (each) => Math.hypot(candidates[each].x - x, candidates[each].y - y);
  return hidden.reduce((best, each) => (away(each) < away(best) ? each : best));
}

// How probable each place is, as bars with figures. In the game they are what is chosen from, and keep their order.
function createBars(candidates, hidden) {
  const list = buildElement("ul", { class: "seat-bars" });
  const legend = buildElement("legend", {}, "Places, by how probable each is by now");
  const element = buildElement("fieldset", { class: "seat-places" }, legend, list);
  const rows = new Map(hidden.map((candidate) => [candidate, barRow(candidates[candidate])]));
  let before = null;

  function show(chances, round) {
    const isGame = Boolean(round && !round.isOver);
    const order = isGame ? hidden : [...hidden].sort((a, b) => chances.get(b) - chances.get(a) || a - b);
    for (const [candidate, row] of rows) {
      const chance = chances.get(candidate);
      row.radio.hidden = !isGame;
      row.radio.disabled = !isGame;
      row.item.classList.toggle("seat-out", !(chance > 0));
      row.figure.textContent = chance > 0 ? percent(chance) : "ruled out";
      row.bar.style.width = `${100 * chance}%`;
      row.note.textContent = round?.isOver && round.secret === candidate ? " was the stop" : "";
    }
    if (order.join() !== before) list.replaceChildren(...order.map((candidate) => rows.get(candidate).item));
    before = order.join();
  }

  return {
    element,
    show,
    picked: () => [...rows].find(([, { radio }]) => radio.checked)?.[0] ?? null,
    setPick(candidate) { for (const [each, { radio }] of rows) radio.checked = each === candidate; },
  };
}

function barRow({ name }) {
  const radio = buildElement("input", { type: "radio", name: "seat-guess", hidden: true });
  const bar = buildElement("i", { "aria-hidden": "true" }), figure = buildElement("span", { class: "seat-figures" });
  const note = buildElement("strong");
  const words = buildElement("span", { class: "seat-name" }, nameElement(name), note);
  const track = buildElement("span", { class: "seat-track" }, bar);
  const item = buildElement("li", {}, buildElement("label", {}, radio, words, figure, track));
  return { item, radio, bar, figure, note };
}

// The game: rounds, what was right, and how often one can be right at best.
function createGame(candidates) {
  const score = { rounds: 0, right: 0, best: 0 };
  const begin = buildElement("button", { type: "button", class: "button" }, "Play the game: guess the stop");
  const guess = buildElement("button", { type: "button", class: "button" }, "This is my guess");
  const end = buildElement("button", { type: "button", class: "button" }, "End the game");
  const about = buildElement("p", { hidden: true }), result = buildElement("p", { role: "status" });
  guess.hidden = end.hidden = true;
  const buttons = buildElement("div", { class: "seat-row" }, begin, guess, end);
  const element = buildElement("section", { class: "seat-game", "aria-label": "Game" }, buttons, about, result);

  function start(bayes) {
    begin.hidden = true;
    guess.hidden = end.hidden = about.hidden = false;
    about.textContent = "Each place is the stop as often as it is probable. Choose one in the list or on the map. "
      + `The best guess of an observer who sees all of it is right ${percent(bayes ?? 0)} of the time, averaged over all `
      + "routes.";
    result.textContent = "";
  }

  function settle(picked, secret, chances, bayes) {
    const isRight = picked === secret, most = Math.max(...chances.values()), best = bestGuesses(chances);
    score.rounds += 1;
    score.right += isRight ? 1 : 0;
    score.best += most;
    begin.hidden = false;
    begin.textContent = "Next round";
    guess.hidden = true;
    const wasBest = best.includes(picked) ? "Yours was a best guess" : "The best guess was ";
    result.replaceChildren(
      isRight ? "Right: it was " : "No: it was ", nameElement(candidates[secret].name), `. ${wasBest}`,
      ...(best.includes(picked) ? [] : [nameElement(candidates[best[0]].name)]), `, with ${percent(most)}. `,
      `After this many nodes the best guess is right ${percent(bayes ?? 0)} of the time, averaged over all routes. `,
      `So far: ${score.right} of ${score.rounds} right; the best guesses would give ${score.best.toFixed(1)} on average.`,
    );
  }

  return {
    element, start, settle,
    ask() { result.textContent = "Choose a place first, in the list or on the map."; },
    end() {
      begin.hidden = false;
      begin.textContent = "Play the game: guess the stop";
      guess.hidden = end.hidden = about.hidden = true;
      result.textContent = "";
    },
    listen({ newRound, guess: onGuess, endGame }) {
      begin.addEventListener("click", newRound);
      guess.addEventListener("click", onGuess);
      end.addEventListener("click", endGame);
    },
  };
}
