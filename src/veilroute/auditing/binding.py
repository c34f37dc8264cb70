"""What an audit is bound to: what the playbook says it is about, and whether that is what the user meant."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from veilroute.auditing.survey import metres_apart, on_sphere
from veilroute.auditing.verdicts import BoundTo, ClaimVerdict, Said, call_names, judge, names, number
from veilroute.base.errors import InvalidInputError
from veilroute.base.io import dump_canonical
from veilroute.domain.geography import Streets
from veilroute.domain.graph import Domain, Label, label_text, plain_label
from veilroute.domain.visibility import AtNode, Explicit, LineOfSight, Visibility, WithinDistance, visibility_to_dict
from veilroute.model.playbook import Playbook
from veilroute.model.problem import Privacy, Problem, Trip, names_sha256, places_sha256

LonLat = tuple[float, float]

_PROMISES = ("k", "ell", "measure", "m", "spread", "risk", "mechanism")
_NOTHING = Said(None, "none")
_EVEN = Said(None, "all candidates the same")
_USUAL = {
    "risk": _NOTHING,
    "mechanism": Said("partition", "partition"),
    "prior": _EVEN,
    "objective": Said("mac", "mac"),
    "past": _NOTHING,
    "places": _NOTHING,
}


def bind(
    playbook: Playbook, instance: Problem | None, privacy: Privacy | None, unstated: Collection[str]
) -> tuple[BoundTo, ...]:
    """Everything that the claims of a playbook are about, beside what was meant where that is stated.

    ``unstated`` is what ``instance`` and ``privacy`` hold only because something must stand there: ``visibility``,
    ``objective``, ``prior`` or names of fields of :class:`Privacy`. It is either k or a risk that is stated.
    """
    if instance is not None and not isinstance(instance, Problem):
        raise InvalidInputError("instance", "a Problem, such as read_instance(path).problem", type(instance).__name__)
    found = playbook.problem
    stated = {**_about(found), **_promised(playbook.privacy)}
    meant = {**({} if instance is None else _about(instance)), **({} if privacy is None else _promised(privacy))}
    # Nobody had a choice of these for long, so they are said only where they are not the usual.
    for name, usual in _USUAL.items():
        said = stated.pop(name)
        if not said == usual == meant.get(name, usual):
            stated[name] = said
    if privacy is None or privacy.risk is None:
        unstated = {*unstated, *({"risk"} if "k" in unstated else ())}
    else:
        unstated = set(unstated) - {"k", "risk"}
    bound = []
    for what, said in stated.items():
        wanted = None if what in unstated else meant.get(what)
        if what in ("names", "drawing", "past", "places") and wanted == _NOTHING != said:
            wanted = None  # formats that cannot hold them say nothing of them
        difference = ""
        if wanted is not None and wanted.value != said.value:
            detail = "" if instance is None else _difference(what, instance, found)
            difference = f"{what}: {detail or f'the instance says {wanted.text}, the playbook {said.text}'}"
        bound.append(BoundTo(what, said, wanted, difference))
    return tuple(bound)


def check_instance(bound: Sequence[BoundTo]) -> ClaimVerdict:
    """The playbook is about what was meant; what nobody stated is not taken for granted."""
    differences = [item.difference for item in bound if item.difference]
    if differences:
        return ClaimVerdict("instance", False, "; ".join(differences))
    same = ", ".join(item.what for item in bound if item.instance is not None)
    unstated = [f"{item.what} (the playbook says {item.playbook.text})" for item in bound if item.instance is None]
    evidence = f"as meant: {same}" if same else "nothing was stated"
    if unstated:
        evidence += f"; not stated by the instance: {', '.join(unstated)}"
    return ClaimVerdict("instance", True, evidence, checked=not unstated)


def check_shown(playbook: Playbook, bound: Sequence[BoundTo]) -> ClaimVerdict:
    """What people are shown (names, bends, places) is what was there when the playbook was made.

    Whoever rewrites a playbook can rewrite its hashes too: they show damage and careless changes. What settles it is
    the user's own copy, to which ``bound`` compares them.
    """
    domain = playbook.problem.domain
    pairs = (
        ("names", playbook.names_sha256, names_sha256(playbook.names)),
        ("drawing", playbook.drawing_sha256, domain.drawing_sha256),
        ("places", playbook.places_sha256, places_sha256(playbook.places)),
    )
    as_meant = {item.what for item in bound if item.agrees}
    problems, doubts, sound = [], [], []
    for what, stated, found in pairs:
        if stated is None and found is not None and what not in as_meant:
            doubts.append(f"the playbook holds no hash of its {what}, which anybody may have changed")
        elif what == "drawing" and stated is not None and found is None:
            doubts.append("the map at hand is not drawn, so the hash of its drawing was not compared")
        elif stated is not None and stated != found:
            problems.append(f"{what}: hashed as {stated[:12]} when it was planned, but now {(found or 'none')[:12]}")
        elif found is not None:
            sound.append(what)
    if domain.streets is not None:
        problems += _wild_bends(domain, domain.streets)
    evidence = f"{' and '.join(sound)} as hashed" if sound else "no names, and nothing but the map"
    return judge("shown", problems, "; ".join(doubts) or evidence, checked=not doubts)


def _about(problem: Problem) -> dict[str, Said]:
    domain, said = problem.domain, call_names(problem.names, problem.candidates)
    size = {"sha256": domain.sha256, "num_nodes": domain.num_nodes, "num_edges": domain.num_edges}
    text = f"{domain.sha256}, {number(domain.num_nodes, 'node')}, {number(domain.num_edges, 'edge')}"
    trips = [{"start": trip.start, "goal": trip.goal, "weight": trip.weight} for trip in problem.trips]
    stops = {"number": len(problem.candidates), "sha256": _sha256(problem.candidates)}
    called, num = names_sha256(problem.names), len(problem.names)
    return {
        "map": Said(size, text),
        "drawing": _NOTHING if domain.drawing_sha256 is None else Said(domain.drawing_sha256, domain.drawing_sha256),
        "trips": Said(trips, names(_trip_text(trip, said) for trip in problem.trips)),
        "candidates": Said(stops, f"{len(problem.candidates):,}, {stops['sha256']}"),
        "visibility": _sight(problem.visibility),
        "names": _NOTHING if called is None else Said({"number": num, "sha256": called}, f"{num:,}, {called}"),
        "prior": _prior(problem),
        "objective": Said(problem.objective, problem.objective),
        "past": _past(problem),
        "places": _places(problem),
    }


def _places(problem: Problem) -> Said:
    found, num = places_sha256(problem.places), len(problem.places)
    return _NOTHING if found is None else Said({"number": num, "sha256": found}, f"{num:,}, {found}")


def _past(problem: Problem) -> Said:
    if problem.past is None:
        return _NOTHING
    past = problem.past.to_dict()
    said = {"ledger": past["ledger"], "number": len(past["left"]), "sha256": _sha256(past)}
    return Said(said, f"{number(said['number'], 'history', 'histories')} of the ledger {past['ledger']}")


def _promised(privacy: Privacy) -> dict[str, Said]:
    values = {name: getattr(privacy, name) for name in _PROMISES}
    texts = {"ell": f"{privacy.ell:.15g}"} | ({"m": "the whole route"} if privacy.m is None else {})
    texts |= {"risk": "none" if privacy.risk is None else f"{privacy.risk:.15g}"}
    return {name: Said(value, texts.get(name, str(value))) for name, value in values.items()}


def _prior(problem: Problem) -> Said:
    if problem.prior is None or len(set(problem.prior)) == 1:
        return _EVEN
    weights = {"number": len(problem.prior), "sha256": _sha256(problem.prior)}
    return Said(weights, f"for {weights['number']:,}, {weights['sha256']}")


def _sight(visibility: Visibility) -> Said:
    match visibility:
        case AtNode():
            text = "a node sees itself only"
        case WithinDistance(radius, measure):
            text = f"within {radius:.15g}" + ("" if measure == "cost" else f" m {measure}")
        case LineOfSight(reach):
            text = f"in line of sight within {reach:.15g}"
        case Explicit(sees):
            table = {label_text(plain_label(seer)): [plain_label(x) for x in seen] for seer, seen in sees.items()}
            listed = {"kind": "explicit", "number": len(table), "sha256": _sha256(table)}
            return Said(listed, f"listed for {number(len(table), 'node')}, {listed['sha256']}")
    return Said(visibility_to_dict(visibility), text)


def _sha256(data: object) -> str:
    return hashlib.sha256(dump_canonical(data)).hexdigest()


def _trip_text(trip: Trip | None, called: Mapping[Label, str] | None = None) -> str:
    if trip is None:
        return "no such trip"
    start, goal = ((called or {}).get(end, end) for end in (trip.start, trip.goal))
    return f"{start} to {goal}" + ("" if trip.weight == 1 else f" with weight {trip.weight:.15g}")


def _difference(what: str, meant: Problem, found: Problem) -> str:
    """What exactly is not the same, for the things that are too large to be shown whole."""
    match what:
        case "map":
            return _map_difference(meant.domain, found.domain)
        case "trips":
            for i, (wanted, stated) in enumerate(zip_longest(meant.trips, found.trips)):
                if wanted != stated:
                    return f"trip {i} is {_trip_text(wanted)} in the instance, {_trip_text(stated)} in the playbook"
        case "candidates":
            return _candidates_difference(meant.candidates, found.candidates)
        case "names":
            return _names_difference(meant.names, found.names)
        case "places":
            return _places_difference(meant.places, found.places)
        case "prior" if meant.candidates == found.candidates:
            return _prior_difference(meant, found)
        case "drawing" if meant.domain.sha256 == found.domain.sha256:
            return _drawing_difference(meant.domain, found.domain)
    return ""


def _map_difference(meant: Domain, found: Domain) -> str:
    """The first cell or edge that is not the same, on maps that have the same size or the same nodes."""
    sums = f"SHA-256 {meant.sha256[:12]} in the instance, {found.sha256[:12]} in the playbook"
    if meant.grid is not None and found.grid is not None and meant.grid.free.shape == found.grid.free.shape:
        cells = np.argwhere(meant.grid.free != found.grid.free)
        if not cells.size:
            return f"{meant.grid.movement}-way in the instance, {found.grid.movement}-way in the playbook; {sums}"
        row, col = cells[0].tolist()
        state = "free in the instance, blocked" if meant.grid.free[row, col] else "blocked in the instance, free"
        return f"({row}, {col}) is {state} in the playbook; {sums}"
    if meant.grid is not None or found.grid is not None or meant.labels != found.labels:
        return ""
    (tails, heads, costs), (others, ends, prices) = meant.edge_arrays(), found.edge_arrays()
    wide = max(meant.num_nodes, found.num_nodes)
    here, there = tails * wide + heads, others * wide + ends
    for domain, edges, known, side in ((meant, here, there, "instance"), (found, there, here, "playbook")):
        for edge in np.setdiff1d(edges, known)[:1].tolist():
            tail, head = map(domain.label, divmod(edge, wide))
            return f"only the {side} has the edge from {tail} to {head}; {sums}"
    for i in np.flatnonzero(costs != prices)[:1].tolist():
        edge = f"the edge from {meant.label(int(tails[i]))} to {meant.label(int(heads[i]))}"
        return f"{edge} costs {costs[i]:.15g} in the instance, {prices[i]:.15g} in the playbook; {sums}"
    if meant.turns != found.turns:
        return f"{_turns_difference(meant, found)}; {sums}"
    if meant.also != found.also:
        odd = sorted(set(meant.also) ^ set(found.also), key=str)[0]
        return f"{odd[0]} is not at the same node, or at one only; {sums}"
    return f"the edges are the same, but not what is measured along them; {sums}"


def _turns_difference(meant: Domain, found: Domain) -> str:
    """The first rule for turns that is not the same."""
    if meant.turns is None or found.turns is None:
        return f"only the {'instance' if found.turns is None else 'playbook'} has rules for turns"
    for domain, stretches, known, side in (
        (meant, meant.turns.banned, found.turns.banned, "instance"),
        (found, found.turns.banned, meant.turns.banned, "playbook"),
    ):
        for stretch in sorted(set(stretches) - set(known))[:1]:
            nodes = ", ".join(label_text(domain.label(node)) for node in stretch)
            return f"only the {side} bans {nodes}"
    wanted, stated = meant.turns, found.turns
    if wanted.u_turns != stated.u_turns:
        return f"one may turn round: {wanted.u_turns} in the instance, {stated.u_turns} in the playbook"
    return f"turning round costs {wanted.u_turn_cost:.15g} in the instance, {stated.u_turn_cost:.15g} in the playbook"


def _candidates_difference(meant: Sequence[Label], found: Sequence[Label]) -> str:
    wanted, stated = set(meant), set(found)
    missing = [label for label in meant if label not in stated]
    added = [label for label in found if label not in wanted]
    parts = [f"{len(missing)} of the instance's {len(meant)} are missing: {names(missing)}"] if missing else []
    parts += [f"{len(added)} are not in the instance: {names(added)}"] if added else []
    if parts:
        return ", ".join(parts)
    place = next(i for i, (a, b) in enumerate(zip(meant, found, strict=True)) if a != b)
    return f"in another order: number {place} is {meant[place]} in the instance, {found[place]} in the playbook"


def _names_difference(meant: Mapping[Label, str], found: Mapping[Label, str]) -> str:
    odd = [label for label in dict.fromkeys((*meant, *found)) if meant.get(label) != found.get(label)]
    wanted, stated = (repr(held[odd[0]][:60]) if odd[0] in held else "nothing" for held in (meant, found))
    others = f"; {len(odd) - 1} more differ" if len(odd) > 1 else ""
    return f"{odd[0]} is called {wanted} in the instance, {stated} in the playbook{others}"


def _places_difference(meant: Mapping[Label, LonLat], found: Mapping[Label, LonLat]) -> str:
    odd = [label for label in dict.fromkeys((*meant, *found)) if meant.get(label) != found.get(label)]
    if not (odd[0] in meant and odd[0] in found):
        return f"only the {'instance' if odd[0] in meant else 'playbook'} says where {odd[0]} is"
    there = metres_apart(*on_sphere(np.array([meant[odd[0]], found[odd[0]]])))
    others = f"; {len(odd) - 1} more differ" if len(odd) > 1 else ""
    return f"{odd[0]} is {float(there):,.1f} m away from where the instance says{others}"


def _prior_difference(meant: Problem, found: Problem) -> str:
    everybody = range(len(meant.candidates))
    pairs = [(meant.prior_of(everybody)[i], found.prior_of(everybody)[i], meant.candidates[i]) for i in everybody]
    wanted, stated, label = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
    return f"{label} has a probability of {wanted:.9g} in the instance, of {stated:.9g} in the playbook"


def _drawing_difference(meant: Domain, found: Domain) -> str:
    """The first thing that is drawn otherwise, on maps with the same edges."""
    a, b = meant.streets, found.streets
    if a is None or b is None:
        return "the nodes stand elsewhere"
    tails, heads, _ = meant.edge_arrays()
    for edge, (tail, head) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
        street = f"the street from {meant.label(tail)} to {meant.label(head)}"
        if not np.array_equal(a.bends(edge), b.bends(edge)):
            return f"the bends of {street} are not the same"
        if a.name(edge) != b.name(edge):
            return f"{street} is called {a.name(edge)[:60]!r} in the instance, {b.name(edge)[:60]!r} in the playbook"
        if a.kind(edge) != b.kind(edge):
            return f"{street} is of the kind {a.kind(edge)[:60]!r}, not {b.kind(edge)[:60]!r}"
    return "the credits of the map are not the same"


def _wild_bends(domain: Domain, streets: Streets) -> list[str]:
    """Streets that are drawn far longer than they are said to be: more than twice as long, and by more than 1 km."""
    sizes = np.diff(streets.shape_ptr)
    bent = np.flatnonzero(sizes)
    if not bent.size:
        return []
    tails, heads, _ = domain.edge_arrays()
    nodes, bends = on_sphere(streets.lonlat), on_sphere(streets.shape)
    firsts, lasts = streets.shape_ptr[bent], streets.shape_ptr[bent + 1] - 1
    drawn = np.zeros(sizes.size)
    drawn[bent] = metres_apart(nodes[tails[bent]], bends[firsts]) + metres_apart(bends[lasts], nodes[heads[bent]])
    edges = np.repeat(np.arange(sizes.size), sizes)
    is_inner = edges[1:] == edges[:-1]
    np.add.at(drawn, edges[1:][is_inner], metres_apart(bends[:-1], bends[1:])[is_inner])
    return [
        f"the street from {domain.label(int(tails[edge]))} to {domain.label(int(heads[edge]))} is drawn "
        f"{drawn[edge]:,.0f} m long, but said to be {streets.lengths[edge]:,.0f} m"
        for edge in np.flatnonzero(drawn > 2 * streets.lengths + 1000.0).tolist()
    ]
