"""Files and JSON: read up to the limits, refused beyond them before anything is spent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilroute import FileFormatError, InvalidInputError
from veilroute.base.errors import shorten
from veilroute.base.io import measure, parse_json, read_bytes, staging

KEYS = st.text(alphabet='ab":\\{[é', max_size=3)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(alphabet='x":\\[]{},\u2028', max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
)


def depth_of(data: Any) -> int:
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else None
    return 0 if parts is None else 1 + max(map(depth_of, parts), default=0)


def num_keys_of(data: Any) -> int:
    if isinstance(data, dict):
        return len(data) + sum(map(num_keys_of, data.values()))
    return sum(map(num_keys_of, data)) if isinstance(data, list) else 0


@given(TREES, st.sampled_from([2, 3, 5, 16, 2**20]), st.booleans())
def test_sound_json_comes_back_whatever_its_texts_hold(tree: Any, chunk: int, is_ascii: bool) -> None:
    """Marks within texts do not count, also where an escape lies across the end of a chunk."""
    raw = json.dumps(tree, ensure_ascii=is_ascii).encode()
    assert measure(raw, chunk) == (depth_of(tree), num_keys_of(tree))
    assert parse_json(raw, "a.json") == tree


def test_equal_keys_are_refused() -> None:
    for text in (b'[{"a": {"b": 1, "a": 2, "b": {}}}]', b'{"b": 1' + b"0" * 300 + b', "\\u0062": 2}'):
        with pytest.raises(FileFormatError, match="'b'.* is there twice in one object"):
            parse_json(text, "a.json")


def test_too_deep_or_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_json(b"[" * 100 + b"]" * 100, "a.json")
    with pytest.raises(FileFormatError, match="nested 101 deep, at most 100"):
        parse_json(b"[" * 101 + b"]" * 101, "a.json")
    assert len(parse_json(b"[" + b"1," * 999 + b"1]", "a.json", most_values=1000)) == 1000
    monkeypatch.setattr("orjson.loads", lambda raw: pytest.fail("parsed"))
    with pytest.raises(FileFormatError, match="nested 1,000,000 deep"):
        parse_json(b"[" * 10**6, "a.json")
    for text in (b"[" + b"1," * 1000 + b"1]", *(b"[" + text * 1001 for text in (b"[],", b'{"a":0},', b"[[],"))):
        with pytest.raises(FileFormatError, match="at most 1,000 are read; use .npz"):
            parse_json(text, "a.json", most_values=1000)


def test_files_up_to_a_size(tmp_path: Path) -> None:
    """What is no file is refused in the tests of every format."""
    path = tmp_path / "a.json"
    path.write_bytes(b"[1]")
    assert read_bytes(path, most=3) == b"[1]"
    with pytest.raises(FileFormatError, match="3 bytes, and at most 2 are read"):
        read_bytes(path, most=2)


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(b"[]")
    known = os.fstat

    def smaller(handle: int) -> os.stat_result:
        found = list(known(handle))
        found[6] = 1
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", smaller)
    with pytest.raises(FileFormatError, match="grows while it is read"):
        read_bytes(path)


def test_messages_are_one_short_line() -> None:
    long = "x" * 10**6
    for error in (
        InvalidInputError(long, long, long),
        InvalidInputError("k", "a number", [long, {long: [[[[1]]]]}] * 10**5),
        InvalidInputError("k", "a number", 10**5000),
        FileFormatError(f"/a/{long}/book.json", f"begins here {long} and ends here", 10**9),
        FileFormatError("a\n\x1b[31m\u202e\ud800.json", "b\r\nc"),
    ):
        assert len(str(error)) <= 280 and str(error).isprintable()
    assert str(FileFormatError("a", f"begins {long} ends")).endswith("x ends")
    plain: list[object] = [[1, [2, (3,)], {"a": None}], (), {}, "a'b", b"\xff", 1.5, True, None]
    for value in plain:
        assert shorten(value) == repr(value)


@pytest.mark.skipif(os.name != "posix", reason="folders are locked as POSIX does it")
def test_a_folder_in_which_another_run_makes_its_files_stays(tmp_path: Path) -> None:
    with staging(tmp_path, ".veilroute-day-") as mine:
        (mine / "day.json").write_text("half")
        with staging(tmp_path, ".veilroute-day-") as other:
            assert other != mine
        assert (mine / "day.json").exists()
        assert list(tmp_path.iterdir()) == [mine]
    assert not list(tmp_path.iterdir())
