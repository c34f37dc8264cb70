"""`veilroute audit --simulate`: what an observer on the street achieves, beside what is printed."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from veilroute.analysis.posterior import find_exposures, measure_risk
from veilroute.app.day_files import DAY_FILE
from veilroute.app.load import load_playbook
from veilroute.app.replan import read_replan
from veilroute.auditing import audit_linked, audit_playbook, street
from veilroute.auditing.day_risk import observe_day
from veilroute.auditing.linked import LinkedReport
from veilroute.base.checks import check_name
from veilroute.base.errors import InvalidInputError
from veilroute.base.keys import Key
from veilroute.cli.console import DONE, VIOLATED, emit, emit_json, live_progress
from veilroute.fleet import Exposure, exposure, pad
from veilroute.ledger.ledger import read_ledger
from veilroute.model.closure import GIVE_UP, Replan
from veilroute.model.day import Day, read_day
from veilroute.model.entry import TRIPS
from veilroute.model.playbook import Playbook
from veilroute.planners.replan import replan

NUM_TRIPS = 10_000
_MOST_DAYS = 6  #: for at most this many days all sets of days are linked
_KNOWS = "A simulated observer on the street. It knows the map, the places and this program; it reads no group."


def simulate_files(
    paths: Sequence[Path],
    ledger: Path | None,
    trips: str | None,
    replan: Path | None,
    day: Path | None,
    domain: Path | None,
    movement: int,
    *,
    json: bool,
) -> int:
    """Simulate an observer of what is named; exit 1 if it exceeds a figure."""
    if not paths:
        raise InvalidInputError("PLAYBOOK", "with --simulate the playbooks: a ledger has no routes to look at")
    if None not in (replan, day) or ((replan or day) is not None and (len(paths) > 1 or ledger is not None)):
        raise InvalidInputError("--simulate", "with --replan or --day one playbook, and nothing else")
    if trips is not None:
        check_name("--trips", trips, TRIPS)
        if ledger is not None or len(paths) == 1:
            raise InvalidInputError("--trips", "several playbooks and no ledger, whose first line says it", trips)
    books = [load_playbook(path, domain, movement) for path in paths]
    with live_progress("watching the street"):
        if replan is not None:
            found = simulate_replan(books[0], read_replan(books[0], replan))
        elif day is not None:
            found = simulate_day(books[0], read_day(day / DAY_FILE if day.is_dir() else day))
        elif len(books) == 1 and ledger is None:
            found = simulate_playbook(books[0])
        else:
            found = simulate_linked(books, ledger, trips)
    if json:
        emit_json(found.to_dict())
    else:
        emit(found.to_text())
    return VIOLATED if found.exceeded else DONE


def simulate_playbook(book: Playbook) -> street.Simulation:
    """One playbook, seen once, with all that `plan`, `risk`, `audit` and its contingencies say of it."""
    found = street.compare_playbook(book, _printed(book), num_trips=NUM_TRIPS)
    report = measure_risk(book)
    no_trip = report.no_trip
    is_warned = no_trip.identified is not None
    rows = street.compare_silent(book, report.hidden_mass, no_trip.candidates, is_warned=is_warned)
    closures = {entry.closure: entry.trip for entry in book.contingencies if entry.choice is not None}
    for closure, trip in closures.items():
        news = [street.News(closure)]
        rows += street.compare_detours(book, "Contingencies", news, trip=trip, entries=book.contingencies)
    return street.Simulation((*found.rows, *rows), found.notes)


def _printed(book: Playbook) -> Iterator[street.Shown]:
    """What is printed of a playbook by itself."""
    seen = [None] if book.privacy.m is None else [book.privacy.m, None]
    for each, m in zip(find_exposures(book).exposures, seen, strict=False):
        names = ("num_possible", "worst_place", "worst_area", "bayes_success")
        figures = {name: getattr(each, name) for name in names}
        yield street.Shown(f"An observer who sees {each.seen}", figures, m)
    for step in measure_risk(book).over_time:
        figures = dict(zip(("worst_area", "worst_place", "bayes_success", "num_possible"), step.figures, strict=True))
        yield street.Shown("On the way, as `veilroute risk` has it", figures, step.m, where=f"after {step.m} nodes")
    for seen_so_far in audit_playbook(book).anonymity:
        counts = {"num_possible": seen_so_far.smallest_class, "num_apart": seen_so_far.widest_witness}
        trip, m = seen_so_far.trip, seen_so_far.m
        where = f"trip {trip}, after {m} nodes"
        yield street.Shown("On the way, as `veilroute audit` has it", counts, m, trip, where, is_counted=True)


def simulate_replan(book: Playbook, found: Replan) -> street.Simulation:
    """A replan from a file; all other vehicles meet the same closed roads, or hear of them where this one did."""
    steps = [found]
    while (earlier := steps[0].after) is not None:
        steps.insert(0, earlier)
    rows = []
    for when in ("all hear of it at once", "each meets it"):
        news = [street.News(each.closure, each.position if when.startswith("all") else None) for each in steps]
        for who, choice in (("by the rule", None), ("if all choose the same", found.choice)):
            otherwise = found.choice or GIVE_UP
            compared = street.compare_detours(
                book,
                "The replan",
                news,
                trip=found.trip,
                choice=choice,
                otherwise=otherwise,
                given=found,
                replan=replan,
            )
            rows += [replace(row, where=f"{row.where}, {who}, {when}") for row in compared]
    notes = [_KNOWS, "It asked what the vehicle of every place does about the roads that have changed."]
    return street.Simulation(tuple(rows), tuple(notes))


def simulate_day(book: Playbook, day: Day) -> street.Simulation:
    """A day of a fleet: what it tells of orders, beside all that `fleet` and `audit --day` print of it."""
    if day.after is not None:
        raise InvalidInputError("--day", "with --simulate a whole day; of the rest of one say `--day` without it")
    shown = exposure(book, day)
    number_of = {place: at for at, group in enumerate(book.hidden_classes, 1) for place in group.members}

    def touch(orders: frozenset[Hashable]) -> frozenset[int]:
        return frozenset(number_of[place] for place in orders)

    def run(touched: frozenset[int], key: Key) -> street.Seen | None:
        try:
            return pad(book, touched, day.terms, key=key)
        except InvalidInputError:
            return None  # more classes have to be driven than agreed: such a day is refused

    rates = {place: shown.rates[place] for place in number_of}
    said = [street.SaidOfDay("The day", _printed_of_day(shown)), _audited_day(book, day)]
    rows, is_sampled = street.compare_day(street.streets_of(book), rates, touch, run, day.touched, said)
    notes = [_KNOWS, "Customers order at the rates of the terms; all sets of orders were tried."]
    if is_sampled:
        notes[1] = "Customers order at the rates of the terms; there are too many sets of orders, so they were sampled."
    return street.Simulation(tuple(rows), tuple(notes))


def _printed_of_day(shown: Exposure) -> dict[str, float | None]:
    """All that `fleet` prints of what can be found out."""
    return {
        "num_behind": shown.smallest_left,
        "worst_order": shown.worst,
        "worst_order_area": shown.worst_area,
        "worst_order_ever": shown.bound,
        "worst_order_area_ever": shown.bound_area,
        "best_orders": shown.bayes_success,
        "identified": len(shown.identified),
    }


def _audited_day(book: Playbook, day: Day) -> street.SaidOfDay:
    """All that `audit --day` prints of it."""
    audited = observe_day(book, day)
    figures = {
        "num_behind": audited.num_possible,
        "worst_order": audited.worst_place,
        "worst_order_area": audited.worst_area,
    }
    return street.SaidOfDay("The day, as `veilroute audit --day` has it", figures)


def simulate_linked(books: Sequence[Playbook], ledger: Path | None, trips: str | None) -> street.Simulation:
    """Trips of one secret on several days, linked, with what `audit` says of them and each playbook's promise."""
    report = audit_linked(books, ledger=ledger, trips=trips)
    notes = list[str]()
    order, occasions = list(books), list[str | None]([None] * len(books))
    if ledger is not None:
        record = read_ledger(ledger)
        trips = record.trips
        by_hash = {book.sha256: book for book in books}
        at_hand = [entry for entry in record.entries if entry.kind == "playbook" and entry.playbook in by_hash]
        order, occasions = [by_hash[entry.playbook] for entry in at_hand], [entry.occasion for entry in at_hand]
        if missing := len(record.entries) - len(at_hand):
            notes.append(f"Lines of the ledger that were left out, because no playbook here has them: {missing}.")
    is_one_map = len({book.domain_sha256 for book in order}) == 1
    if not is_one_map:
        notes.append("The maps differ: places of one name were taken for the same.")
    days = [
        street.DayOut(book, occasion, (lambda place: place) if is_one_map else book.name)
        for book, occasion in zip(order, occasions, strict=True)
    ]
    is_expected = trips == "expected"
    says = "a day without a trip tells it who has none" if is_expected else "a day without a trip tells it nothing"
    notes.insert(0, f"An observer who links all trips of one secret over {len(days)} days, simulated; {says}.")
    left: dict[Hashable, int] = {
        each.candidate if is_one_map else each.name: each.over_time[-1].num_left
        for each in report.candidates
        if each.over_time[-1] is not None
    }
    identified = report.playbooks[-1].num_identified
    said = street.SaidOfDays("Linked audit", left, lambda _: report.holds, identified, figures=linked_figures(report))
    # Under a risk, fewer trips may tell more of an area than all of them.
    is_risk = any(book.privacy.beta is not None for book in order)
    subsets = is_risk and len(days) <= _MOST_DAYS
    if subsets:
        notes.append("The promises were compared with what any of the trips tell, not only all of them.")
    elif is_risk:
        notes.append(f"All trips were linked; fewer of them were not tried, as there are more than {_MOST_DAYS} days.")
    rows = street.compare_days(days, [said], is_expected=is_expected, subsets=subsets)
    return street.Simulation(tuple(rows), tuple(notes))


def linked_figures(report: LinkedReport) -> list[tuple[int | None, dict[str, float | None]]]:
    """What a linked audit prints of each observer."""
    return [
        (each.m, {"num_possible": each.num_possible, "worst_place": each.worst_place, "worst_area": each.worst_area})
        for each in report.observers
    ]
