"""Memory for fields: budget and spill."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import veilroute as vr
from veilroute import Watch
from veilroute.covering import (
    FieldStepper,
    Posts,
    SharedFields,
    allocate_rows,
    as_members,
    check_room,
    compute_class_costs,
    prepare_task,
)


def test_fields_grow_in_memory_then_in_a_file() -> None:
    """A hundred members at ten posts, ten at each; posts stand a step apart, the start is a hundred from the first."""
    posts = Posts.of([np.array([number // 10], dtype=np.uint32) for number in range(100)])
    line = np.arange(10.0)
    stepper = FieldStepper(posts, np.abs(line[:, None] - line))
    fields = SharedFields(stepper, 100 + line, 40 * 80, is_backward=False)
    was_spilled = []
    for number in range(100):
        fields.add([as_members([number])], Watch())
        was_spilled.append(fields.rows.nbytes > fields.num_bytes)
    assert was_spilled == [False] * 39 + [True] * 61, "the empty set has a row as well"
    assert np.array_equal(fields[()], 100 + line)
    for number in range(100):
        at = number // 10
        assert np.array_equal(fields[as_members([number])], 100 + at + np.abs(line - at))


def test_a_file_of_rows_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spilled = allocate_rows(1000, 8, in_memory=False)
    spilled[:] = 3.0
    assert list(tmp_path.iterdir()) == []
    assert spilled.sum() == 24000
    assert type(spilled) is np.ndarray


def test_a_full_disk_or_none_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=2_000_000))
    check_room(1_000_000)
    with pytest.raises(vr.InvalidInputError, match=r"room for 3 MB .*, got '2 MB'"):
        check_room(3_000_000)
    for name in ("posix_fallocate", "ftruncate"):
        monkeypatch.setattr(os, name, refuse, raising=False)
    with pytest.raises(vr.InvalidInputError, match=r"room for 67 MB in the temporary folder .*TMPDIR.*No space"):
        allocate_rows(2**20, 8, in_memory=False)
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    with pytest.raises(vr.InvalidInputError, match=r"fields: expected room for 67 MB.*No such file"):
        allocate_rows(2**20, 8, in_memory=False)
    monkeypatch.undo()
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    with pytest.raises(vr.InvalidInputError, match=r"fields: expected room for 1000 MB.*No such file"):
        check_room(10**9)


def test_class_costs_do_not_depend_on_the_budget() -> None:
    domain = vr.generate_rooms(20, 24, seed=3)
    start, goal = domain.label(0), domain.label(domain.num_nodes - 1)
    candidates = vr.draw_candidates(domain, start, goal, 7, seed=1)
    trips = [vr.Trip(start, goal), vr.Trip(goal, start)]
    task = prepare_task(vr.Problem(domain, trips, candidates, vr.WithinDistance(4)))
    needed = np.arange(1 << 7) > 0
    roomy = compute_class_costs(task, needed, Watch())
    tight = compute_class_costs(task, needed, Watch(), field_bytes=0)
    assert np.isfinite(roomy.costs[:, 1:]).all()
    assert np.array_equal(roomy.costs, tight.costs)
