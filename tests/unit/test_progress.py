"""Reports of running work: incumbent, bound and gap."""

from __future__ import annotations

import pytest

from veilroute import Incumbent, Progress, Watch


@pytest.mark.parametrize(
    ("mac", "bound", "gap"),
    [(0.0441, 0.0437, 0.0004 / 0.0437), (0.04, 0.04, 0.0), (0.04, 0.05, 0.0), (1e-13, 0.0, 0.1), (0.0, 0.0, 0.0)],
)
def test_gap_is_relative_to_the_bound_and_never_negative(mac: float, bound: float, gap: float) -> None:
    assert Progress("search", incumbent=Incumbent(1.0, 8, mac), bound=bound).gap == pytest.approx(gap)


def test_without_incumbent_or_bound_there_is_no_gap() -> None:
    assert Progress("search", incumbent=Incumbent(1.0, 8, 0.1)).gap is None
    assert Progress("search", bound=0.1).gap is None


def test_every_report_has_what_was_found_and_proved_before() -> None:
    heard: list[Progress] = []
    watch = Watch(heard.append)
    watch.tell("fields", 1, 4)
    found = watch.tell_improvement("search", 8, 0.5)
    watch.tell_bound("search", 0.2)
    watch.tell("search", 3, 9)
    watch.tell_bound("search", 0.1)
    better = watch.tell_improvement("search", 8, 0.4)
    assert [(one.incumbent, one.bound) for one in heard] == [
        (None, None),
        (found, None),
        (found, 0.2),
        (found, 0.2),
        (found, 0.2),
        (better, 0.2),
    ]
    assert (heard[3].stage, heard[3].done, heard[3].total) == ("search", 3, 9)
    assert (watch.incumbent, watch.bound) == (better, 0.2)
    assert heard[3].incumbent is found, "the same object until there is a better one"
    assert better.elapsed_s >= found.elapsed_s
    assert heard[-1].gap == pytest.approx(1.0)


def test_a_bound_is_for_one_number_of_members() -> None:
    heard: list[Progress] = []
    watch = Watch(heard.append)
    watch.tell_bound("search", 0.05)  # for what the search is after
    watch.tell_improvement("search", 6, 0.1)
    watch.tell_improvement("search", 8, 0.5)
    watch.tell_bound("search", 0.01)
    assert [one.bound for one in heard] == [0.05, 0.05, None, 0.01]
