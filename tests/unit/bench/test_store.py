"""The records file: nothing finished is lost, nothing damaged is taken for a record."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench_runs import quick_cells, small_terrain
from bench_samples import make_record
from veilroute import FileFormatError, InvalidInputError, bench

OUTCOME = bench.Outcome("optimal", True, None, 8, 8, 1.0, 0.25, 0.25, 0.0625, ((0.03125, 8, 0.25),), 101.5)


@pytest.fixture(scope="module")
def cells() -> list[bench.Cell]:
    return quick_cells(small_terrain())


def record_of(cell: bench.Cell, outcome: bench.Outcome = OUTCOME) -> bench.Record:
    return bench.Record(cell, outcome, bench.provenance("test"))


def fill(folder: Path, cells: list[bench.Cell]) -> list[bench.Record]:
    with bench.RecordStore(folder) as store:
        return [store.append(record_of(cell).to_dict()) for cell in cells]


def test_what_is_written_is_read_back_and_is_there_when_append_returns(tmp_path: Path, cells: list[bench.Cell]) -> None:
    path = tmp_path / "new" / "folder" / bench.FILE_NAME
    written = []
    with bench.RecordStore(path.parent) as store:
        for number, cell in enumerate(cells, start=1):
            written.append(store.append(record_of(cell).to_dict()))
            assert path.read_bytes().count(b"\n") == number
    assert list(bench.read_records(path).values()) == written
    assert [record.cell for record in written] == cells and written[0].outcome == OUTCOME
    with bench.RecordStore(path.parent) as store:
        assert len(store) == len(cells) and store[cells[3].key] == written[3]
        assert cells[0].key in store and "another" not in store


@pytest.mark.parametrize("kept", [1, 40, -2, -1])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, cells: list[bench.Cell], kept: int) -> None:
    """One that lacks only its end is kept."""
    fill(tmp_path, cells[:3])
    path = tmp_path / bench.FILE_NAME
    lines = path.read_bytes().splitlines(keepends=True)
    whole = lines if kept == -1 else lines[:2]
    path.write_bytes(b"".join(lines[:2]) + lines[2][:kept])
    assert len(bench.read_records(path)) == 2, "reading alone passes it over"
    fill(tmp_path, cells[3:4])
    assert path.read_bytes().startswith(b"".join(whole) + b'{"cell"')
    assert [record.cell for record in bench.read_records(path).values()] == [*cells[: len(whole)], cells[3]]


@pytest.mark.parametrize("damage", [b"\0\0\0", b"[]", b'{"format":"veilroute-record/2"}', b""])
def test_a_damaged_line_in_the_middle_is_refused(tmp_path: Path, cells: list[bench.Cell], damage: bytes) -> None:
    fill(tmp_path, cells[:3])
    path = tmp_path / bench.FILE_NAME
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], damage, lines[2]]) + b"\n")
    before = path.read_bytes()
    words = "line 2: .*veilroute-record/2.*another --out" if b"record/2" in damage else "line 2: not a record; delete"
    with pytest.raises(FileFormatError, match=words), bench.RecordStore(tmp_path):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("cell k", 7),
        ("key", "0" * 16),
        *((f"outcome {name}", ...) for name in ("apr", "error")),
        ("outcome mac", float("inf")),
        ("outcome runtime_s", None),
        ("outcome is_finished", 1),
        ("provenance", {}),
        ("provenance plugins", {"planner": {"package": "twos", "version": "1.0"}}),
    ],
)
def test_a_damaged_record_is_refused(tmp_path: Path, cells: list[bench.Cell], place: str, value: object) -> None:
    data = json.loads(json.dumps(record_of(cells[0]).to_dict()))
    assert bench.record_from_dict(data).cell == cells[0]
    *outer, name = place.split()
    holder = data
    for each in outer:
        holder = holder[each]
    holder[name] = value
    if value is ...:
        del holder[name]
    (tmp_path / bench.FILE_NAME).write_text(json.dumps(data) + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 1: (damaged|not a) record"):
        bench.read_records(tmp_path / bench.FILE_NAME)


def test_of_two_records_of_a_cell_the_first_counts(tmp_path: Path, cells: list[bench.Cell]) -> None:
    with bench.RecordStore(tmp_path) as store:
        store.append(record_of(cells[0]).to_dict())
        for other in (replace(OUTCOME, mac=0.5), bench.failed_outcome("bad luck")):
            store.append(record_of(cells[0], other).to_dict())
        assert store[cells[0].key].outcome.mac == 0.25
        for trouble in ("bad luck", "worse luck"):
            store.append(record_of(cells[1], bench.failed_outcome(trouble)).to_dict())
        assert store[cells[1].key].outcome.error == "bad luck"
        store.append(record_of(cells[1]).to_dict())  # tried again, with more luck
    records = bench.read_records(tmp_path / bench.FILE_NAME)
    assert [record.outcome for record in records.values()] == [OUTCOME, OUTCOME]


def test_only_one_run_writes_and_a_killed_one_leaves_no_lock(tmp_path: Path, cells: list[bench.Cell]) -> None:
    with bench.RecordStore(tmp_path) as store:
        with pytest.raises(InvalidInputError, match="no other run"), bench.RecordStore(tmp_path):
            pass
        store.append(record_of(cells[0]).to_dict())
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom veilroute.bench import RecordStore\n"
        "with RecordStore(Path(sys.argv[1])):\n    print('locked', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "locked\n"
        with pytest.raises(InvalidInputError, match="no other run"):
            fill(tmp_path, cells[:1])
        other.send_signal(signal.SIGKILL)
    assert len(fill(tmp_path, cells[1:2])) == 1 and len(bench.read_records(tmp_path / bench.FILE_NAME)) == 2


def test_keys_are_what_they_were() -> None:
    """So that the records of everybody's runs stay of use."""
    assert make_record(bench.Method("optimal")).cell.key == "4589575deab7c5aa"
    watched = make_record(bench.Method("by-cost", extra=(("size", 3),)), watching={"is_watched": True})
    assert watched.cell.key == "c05503cb817ef585"
    watching = {"is_watched": True, "risk": 0.5, "mechanism": "randomised"}
    bounded = make_record(bench.OPTIMAL, guesses=(("bayesian", 0.5, 0.75),), watching=watching)
    assert bench.record_from_dict(json.loads(json.dumps(bounded.to_dict()))) == bounded


def test_records_of_earlier_versions_are_read() -> None:
    """They lack counts, call the memory of the process that of the work, and took the end of a program for success."""
    found = []
    for method in (bench.OPTIMAL, bench.Method(bench.EXTERNAL, extra=(("command", "true"),))):
        data = make_record(method).to_dict()
        for name in ("cpu_s", "num_expansions", "num_searches", "num_partitions", "memory_mb"):
            del data["outcome"][name]
        one = bench.record_from_dict(data | {"outcome": data["outcome"] | {"peak_memory_mb": 731.5}}).outcome
        found.append((one.memory_mb, one.cpu_s, one.is_finished))
    assert found == [(None, None, True), (731.5, None, None)]
