// What an observer knows on the way: who is still possible, how probable each is, and what that says at worst.
// Everything is worked out from the scene's "watch" (plotting/seats.py), without a page.
//
// A way is how all trips together may go. Trips before the one that is watched were seen whole, later ones not yet.

export function createObserver(watch) {
  const { candidates, joint, ways } = watch.sights;
  const walkOf = (way, trip) => watch.walks[watch.ways[way].walks[trip]];
  const hidden = [...new Set(candidates)];

  // Whether two ways look the same until so many nodes of a trip.
  const looksLike = (a, b, trip, step) => {
    const [first, second] = [watch.ways[a].walks, watch.ways[b].walks];
    for (let before = 0; before < trip; before++) if (first[before] !== second[before]) return false;
    return first[trip] === second[trip] || commonStart(walkOf(a, trip), walkOf(b, trip)) >= step;
  };

  return {
    hidden,
    numNodes: (way, trip) => walkOf(way, trip).length,

    // So many steps there are to watch: its nodes, and one more where it tells something that the trip has ended.
    numSteps(way, trip) {
      const num = walkOf(way, trip).length;
      return this.alike(way, trip, num).length > this.alike(way, trip, num + 1).length ? num + 1 : num;
    },

    // The ways that are still possible to who has seen so many nodes of this one.
    alike: (way, trip, step) => [...watch.ways.keys()].filter((other) => looksLike(way, other, trip, step)),

    // By candidate, for all who are hidden: how probable it is, 0 where it is ruled out.
    chances(way, trip, step) {
      const isAlike = new Set(this.alike(way, trip, step));
      const found = new Map(hidden.map((candidate) => [candidate, 0]));
      let total = 0;
      candidates.forEach((candidate, i) => {
        if (!isAlike.has(ways[i])) return;
        found.set(candidate, found.get(candidate) + joint[i]);
        total += joint[i];
      });
      if (total > 0) for (const [candidate, mass] of found) found.set(candidate, Math.min(1, mass / total));
      return found;
    },

    // The largest chance of one place (names at one door add up), and of an area: places that are pairwise close.
    // Where there are too many areas to list, that of an area is null.
    place: (chances) => largestSum(watch.doors, chances),
    area: (chances) => watch.areas && largestSum(watch.areas, chances),
    // How many places are possible, names at one door as one.
    numPlaces(chances) {
      const isPossible = (candidate) => chances.get(candidate) > 0;
      const doubled = watch.doors.map((names) => Math.max(0, names.filter(isPossible).length - 1));
      return [...chances.keys()].filter(isPossible).length - doubled.reduce((sum, num) => sum + num, 0);
    },

    // Over all routes, after so many nodes of a trip: {worst, place, bayes, left}; worst is that of an area.
    figures(trip, step) {
      const { at, worst, place, bayes, left } = watch.trips[trip];
      const i = at.findLastIndex((first) => first <= step);
      if (i < 0) return { worst: null, place: null, bayes: null, left: null };
      return { worst: worst[i], place: place[i], bayes: bayes[i], left: left[i] };
    },

    // Whether what has been seen is within what the playbook makes promises about.
    isPromised(way, trip, step) {
      if (watch.m === null) return true;
      const before = watch.ways[way].walks.slice(0, trip).map((walk) => watch.walks[walk].length);
      return [...before, step].every((num) => num <= watch.m);
    },
  };
}

export function commonStart(a, b) {
  let num = 0;
  while (num < a.length && num < b.length && a[num] === b[num]) num++;
  return num;
}

export function bestGuesses(chances) {
  const most = Math.max(0, ...chances.values());
  // Level but for rounding, as adversary/observers.py takes it.
  const isBest = ([, chance]) => chance > 0 && chance >= most * (1 - 1e-9);
  return [...chances].filter(isBest).map(([candidate]) => candidate);
}

function largestSum(groups, chances) {
  const sums = groups.map((group) => group.reduce((sum, candidate) => sum + (chances.get(candidate) ?? 0), 0));
  return Math.min(1, Math.max(0, ...chances.values(), ...sums));
}

// Where a way is after so many nodes of a trip, in map units, and on which part of which class's line.
export function positionOn(trip, [number, part], step, decodeLine) {
  const { parts } = trip.classes.find((each) => each.number === number);
  const numShared = parts[0].nodes.length, isShared = step <= numShared || !part;
  const line = parts[isShared ? 0 : part];
  const node = isShared ? Math.min(step, numShared) - 1 : Math.min(step - numShared, line.nodes.length - 1);
  const points = decodeLine(line.points), at = 2 * line.nodes[node];
  return { position: [points[at], points[at + 1]], trail: { classNumber: number, part: isShared ? 0 : part, node } };
}
