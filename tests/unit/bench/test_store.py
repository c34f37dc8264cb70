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
from veilroute import FileFormatError, InvalidInputError
from veilroute.bench import (
    FILE_NAME,
    OPTIMAL,
    Cell,
    Outcome,
    Record,
    RecordStore,
    failed_outcome,
    provenance,
    read_records,
    record_from_dict,
)

OUTCOME = Outcome("optimal", True, None, 8, 8, 1.0, 0.25, 0.25, 0.0625, ((0.03125, 8, 0.25),), 101.5)


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return quick_cells(small_terrain())


def record_of(cell: Cell, outcome: Outcome = OUTCOME) -> Record:
    return Record(cell, outcome, provenance("test"))


def fill(folder: Path, cells: list[Cell]) -> list[Record]:
    with RecordStore(folder) as store:
        return [store.append(record_of(cell).to_dict()) for cell in cells]


def test_what_is_written_is_read_back(tmp_path: Path, cells: list[Cell]) -> None:
    written = fill(tmp_path / "new" / "folder", cells)
    path = tmp_path / "new" / "folder" / FILE_NAME
    assert list(read_records(path).values()) == written
    assert [record.cell for record in written] == cells
    assert written[0].outcome == OUTCOME
    with RecordStore(path.parent) as store:
        assert len(store) == len(cells)
        assert cells[0].key in store
        assert "another" not in store
        assert store[cells[3].key] == written[3]


def test_each_record_is_in_the_file_when_append_returns(tmp_path: Path, cells: list[Cell]) -> None:
    with RecordStore(tmp_path) as store:
        for number, cell in enumerate(cells[:3], start=1):
            store.append(record_of(cell).to_dict())
            assert (tmp_path / FILE_NAME).read_bytes().count(b"\n") == number


@pytest.mark.parametrize("kept", [1, 40, -2])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, cells: list[Cell], kept: int) -> None:
    fill(tmp_path, cells[:3])
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:kept])
    assert len(read_records(path)) == 2, "reading alone passes it over"
    fill(tmp_path, cells[3:4])
    assert path.read_bytes().startswith(b"".join(lines[:2]) + b'{"cell"')
    assert [record.cell for record in read_records(path).values()] == [*cells[:2], cells[3]]


def test_a_last_line_that_lacks_only_its_end_is_kept(tmp_path: Path, cells: list[Cell]) -> None:
    fill(tmp_path, cells[:2])
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with RecordStore(tmp_path) as store:
        assert len(store) == 2
    assert path.read_bytes() == whole


@pytest.mark.parametrize("damage", [b"{", b"\0\0\0", b"[]", b'{"format":"something/1"}', b""])
def test_a_damaged_line_in_the_middle_is_refused(tmp_path: Path, cells: list[Cell], damage: bytes) -> None:
    fill(tmp_path, cells[:3])
    path = tmp_path / FILE_NAME
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], damage, lines[2]]) + b"\n")
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match="line 2: not a record; delete the line"), RecordStore(tmp_path):
        pass
    assert path.read_bytes() == before
    path.write_bytes(b"\n".join([lines[0], lines[2]]) + b"\n")
    with RecordStore(tmp_path) as store:
        assert len(store) == 2


def test_a_record_that_was_altered_is_refused(tmp_path: Path, cells: list[Cell]) -> None:
    fill(tmp_path, cells[:1])
    path = tmp_path / FILE_NAME
    data = json.loads(path.read_bytes())
    data["cell"]["k"] += 1
    path.write_text(json.dumps(data) + "\n")
    with pytest.raises(FileFormatError, match="line 1: damaged record"):
        read_records(path)
    data["format"] = "veilroute-record/2"
    path.write_text(json.dumps(data) + "\n")
    with pytest.raises(FileFormatError, match="veilroute-record/2.*another --out"):
        read_records(path)


def test_of_two_records_of_a_cell_the_first_counts(tmp_path: Path, cells: list[Cell]) -> None:
    with RecordStore(tmp_path) as store:
        store.append(record_of(cells[0]).to_dict())
        store.append(record_of(cells[0], replace(OUTCOME, mac=0.5)).to_dict())
        assert store[cells[0].key].outcome.mac == 0.25
        store.append(record_of(cells[1], failed_outcome("bad luck")).to_dict())
        assert store[cells[1].key].outcome.error == "bad luck"
        # Tried again, with more luck.
        store.append(record_of(cells[1]).to_dict())
    records = read_records(tmp_path / FILE_NAME)
    assert [record.outcome for record in records.values()] == [OUTCOME, OUTCOME]


def test_two_runs_cannot_write_to_one_file(tmp_path: Path, cells: list[Cell]) -> None:
    with RecordStore(tmp_path) as store:
        with pytest.raises(InvalidInputError, match="no other run"), RecordStore(tmp_path):
            pass
        store.append(record_of(cells[0]).to_dict())
    fill(tmp_path, cells[1:2])
    assert len(read_records(tmp_path / FILE_NAME)) == 2


def test_a_killed_run_leaves_no_lock(tmp_path: Path, cells: list[Cell]) -> None:
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from veilroute.bench.results import RecordStore\n"
        "with RecordStore(Path(sys.argv[1])):\n"
        "    print('locked', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(InvalidInputError, match="no other run"):
            fill(tmp_path, cells[:1])
        other.send_signal(signal.SIGKILL)
    assert len(fill(tmp_path, cells[:1])) == 1


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="--out: expected a folder"), RecordStore(tmp_path / "file"):
        pass


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("provenance",), {}),
        (("provenance",), None),
        (("outcome", "mac"), "abc"),
        (("outcome", "runtime_s"), None),
        (("outcome", "is_finished"), 1),
        (("outcome", "improvements"), [[0.5, 8]]),
        (("outcome", "status"), None),
    ],
)
def test_a_record_of_the_wrong_kinds_is_refused(
    tmp_path: Path, cells: list[Cell], place: tuple[str, ...], value: object
) -> None:
    data = json.loads(json.dumps(record_of(cells[0]).to_dict()))
    inside = data
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = value
    (tmp_path / FILE_NAME).write_text(json.dumps(data) + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="damaged record"):
        read_records(tmp_path / FILE_NAME)


@pytest.mark.parametrize("name", ["apr", "runtime_s", "error"])
def test_a_record_without_a_field_of_its_outcome_is_refused(tmp_path: Path, cells: list[Cell], name: str) -> None:
    data = json.loads(json.dumps(record_of(cells[0]).to_dict()))
    del data["outcome"][name]
    (tmp_path / FILE_NAME).write_text(json.dumps(data) + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="damaged record"):
        read_records(tmp_path / FILE_NAME)


def test_a_run_that_records_nothing_leaves_no_trace(tmp_path: Path, cells: list[Cell]) -> None:
    with RecordStore(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    fill(tmp_path / "new", cells[:1])
    with RecordStore(tmp_path / "new"):
        pass
    assert (tmp_path / "new" / FILE_NAME).exists()


def test_guesses_are_kept_and_records_of_old_have_none() -> None:
    watched = make_record(
        OPTIMAL,
        guesses=(("bayesian", 0.5, 0.75),),
        watching={"is_watched": True, "risk": 0.5, "mechanism": "randomised"},
    )
    data = json.loads(json.dumps(watched.to_dict()))
    assert record_from_dict(data) == watched
    assert data["cell"]["mechanism"] == "randomised"
    plain = make_record(OPTIMAL).to_dict()
    assert not {"is_watched", "risk", "mechanism"} & set(plain["cell"])
    assert "guesses" not in plain["outcome"]
    for wrong in ([["bayesian", 0.5]], [["bayesian", 0.5, "all"]], [3]):
        data["outcome"]["guesses"] = wrong
        with pytest.raises((TypeError, ValueError)):
            record_from_dict(data)
