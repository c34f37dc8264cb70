"""Journals: no change of a closed line goes unnoticed, and nothing that was reported written is ever lost."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import random
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from journal_writers import FORMAT, entry_of, start
from veilroute import FileFormatError, InvalidInputError
from veilroute.base import journal

POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="signals, permissions and special files of POSIX")
ENTRIES: list[dict[str, Any]] = [
    {"hidden": ["a", "b"], "k": 2},
    {"Straße": 'é"\\\n\u2028🚲', "cost": -1.5e-7, "deep": [[], {}, [1, {"x": None}]]},
    {},
    {"last": [True, False, None, 12, 0.1, "x"], "map": {"b": 1, "c": "{[,:"}},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of five lines: the first one, and four entries."""
    path = tmp_path / "ledger.jsonl"
    journal.new_journal(path, FORMAT)
    for entry in ENTRIES:
        journal.append(path, FORMAT, entry)
    return path


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def refusal_of(path: Path, raw: bytes) -> FileFormatError:
    """The refusal of these bytes, which reading and adding share; they stay as they are."""
    path.write_bytes(raw)
    with pytest.raises(FileFormatError) as reading:
        journal.read_journal(path, FORMAT)
    with pytest.raises(FileFormatError) as adding:
        journal.append(path, FORMAT, {})
    assert str(adding.value) == str(reading.value)
    assert path.read_bytes() == raw
    return reading.value


def test_lines_are_what_the_module_says_and_the_same_each_time(path: Path, tmp_path: Path) -> None:
    book, previous = journal.read_journal(path, FORMAT), ""
    assert (list(book.entries), book.head, book.torn) == (ENTRIES, book.hashes[-1], False)
    assert len(book.hashes) == len(set(book.hashes)) == 5
    for line, sha256 in zip(lines_of(path), book.hashes, strict=True):
        data = json.loads(line)
        body = {"entry": data["entry"], "previous": data["previous"]}
        plain = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        assert data["previous"] == previous
        assert data["sha256"] == sha256
        if b"e-7" not in line and b"1.5" not in line:
            assert hashlib.sha256(plain.encode()).hexdigest() == sha256
        previous = sha256
    journal.new_journal(tmp_path / "again", FORMAT)
    for entry in ENTRIES:
        longer = journal.append(tmp_path / "again", FORMAT, dict(reversed(entry.items())))
        assert longer == journal.read_journal(tmp_path / "again", FORMAT)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_heads_of_the_past_are_held_until_lines_are_made_again(path: Path) -> None:
    """The chain is no signature; what was written down elsewhere shows it."""
    whole = journal.read_journal(path, FORMAT)
    assert all(map(whole.holds, whole.hashes)) and not whole.holds("")
    path.write_bytes(b"".join(lines_of(path)[:3]))
    for entry in ({"forged": True}, ENTRIES[3]):
        journal.append(path, FORMAT, entry)
    after = journal.read_journal(path, FORMAT)
    assert after.entries[3] == whole.entries[3] and not after.holds(whole.head)


def parsed(path: Path, raw: bytes) -> journal.Journal:
    """What these bytes say."""
    return journal._parse(raw, path, FORMAT)


@pytest.mark.parametrize("all_bytes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_change_of_a_single_byte_is_detected(path: Path, *, all_bytes: bool) -> None:
    """Each byte, newlines too, becomes several others; it is also removed, doubled, and others come in between."""
    raw, known = path.read_bytes(), journal.read_journal(path, FORMAT)
    for spot, byte in enumerate(raw):
        number = raw.count(b"\n", 0, spot) + 1
        others = (set(range(256)) if all_bytes else {byte ^ 1, byte ^ 32, 0, *b'\n"}'}) - {byte}
        damaged = [raw[:spot] + bytes([other]) + raw[spot + 1 :] for other in others]
        damaged += [raw[:spot] + raw[spot + 1 :]]
        damaged += [raw[:spot] + bytes([other]) + raw[spot:] for other in b"\n 0\\"]
        for changed in damaged:
            try:
                book = parsed(path, changed)
            except FileFormatError as error:
                assert error.line in (number, number + 1), (spot, error)
            else:
                # The last newline was removed, and its line is still there.
                assert (changed, book) == (raw[:-1], known)


def test_wherever_the_file_is_cut_all_closed_lines_are_kept(path: Path) -> None:
    raw = path.read_bytes()
    whole = journal.read_journal(path, FORMAT)
    first = raw.index(b"\n")
    for size in range(len(raw) + 1):
        path.write_bytes(raw[:size])
        if size < first:
            with pytest.raises(FileFormatError):
                journal.read_journal(path, FORMAT)
            continue
        book = journal.read_journal(path, FORMAT)
        closed = raw.count(b"\n", 0, size)
        is_whole = raw[size : size + 1] == b"\n"  # all of the line but its newline
        assert book.hashes == whole.hashes[: closed + is_whole]
        assert book.torn == (raw[size - 1 : size] != b"\n" and not is_whole)
        assert path.read_bytes() == raw[:size], "reading repairs nothing"
        if size % 5 == 0 or is_whole:  # each time the disk is waited for
            longer = journal.append(path, FORMAT, {"new": 1})
            assert longer == journal.read_journal(path, FORMAT)
            assert longer.hashes[:-1] == book.hashes
            assert not longer.torn


TORN = [
    b'{"entry":{"a":"\xc3', b'{"entry":{"a":"\\', b'{"entry":{"a":"\\u00', b'{"entry":{"a":tru', b'{"entry":{"a":-',
    b'{"entry":{"a":[1,2', b'{"entry":{"a":{"b"', b'{"entry":{}', b"{", b'{"entry":{', b'{"entry":{"a":[1,"',
]  # fmt: skip
DAMAGE = [
    *(bytes([byte]) for byte in range(256) if byte not in b"{"),
    *(b'{"entry":{"a":' + rest for rest in (b'"\xc3"', b'"\xff', b'"\t', b"trux", b"1.50,", b"NaN", b"1,2", b"1e999,")),
    *(b'{"entry":{"a":' + rest for rest in (b'1,"a":2', b" 1", b"[1,2}", b'{"b","c"', b"[" * 200)),
    *(b'{"entry":{}' + rest for rest in (b"]", b',"previous":"00', b',"x', b"}", b'}{"entry":{')),
    *(b'{"entry":{"b":1,"a":2', b'{"entry":[', b'{"entry":{' + b"\0" * 40, b"\0" * 4096, b"remember to add Tuesday"),
]


def test_what_may_be_a_torn_line_and_what_is_damage(path: Path) -> None:
    """If a closed and a torn line without the newline between them were taken for one, the closed one would be lost."""
    raw = path.read_bytes()
    for tail in TORN:
        assert parsed(path, raw + tail).torn, tail
    for tail in DAMAGE:
        with pytest.raises(FileFormatError) as refused:
            print(tail, parsed(path, raw + tail))
        assert refused.value.line == 6
    for torn in TORN[-3:]:
        for other in (b"", *(bytes([byte]) for byte in range(256) if byte != 10)):
            with pytest.raises(FileFormatError, match="line 5"):
                parsed(path, raw[:-1] + other + torn)


def other_lines(tmp_path: Path) -> list[bytes]:
    journal.new_journal(tmp_path / "other", FORMAT)
    for number in range(4):
        journal.append(tmp_path / "other", FORMAT, {"other": number})
    return lines_of(tmp_path / "other")


CHANGES: dict[str, tuple[int, Callable[[list[bytes], list[bytes]], list[bytes]]]] = {
    "swapped": (3, lambda mine, _: [*mine[:2], mine[3], mine[2], mine[4]]),
    "removed": (3, lambda mine, _: [*mine[:2], *mine[3:]]),
    "the first removed": (1, lambda mine, _: mine[1:]),
    "the last doubled": (6, lambda mine, _: [*mine, mine[4]]),
    "from another journal": (3, lambda mine, other: [*mine[:2], other[2], *mine[3:]]),
    "added from another journal": (6, lambda mine, other: [*mine, other[4]]),
    "blank": (3, lambda mine, _: [*mine[:2], b"\n", *mine[2:]]),
    "line ends of Windows": (1, lambda mine, _: [line.replace(b"\n", b"\r\n") for line in mine]),
    "a byte order mark": (1, lambda mine, _: [b"\xef\xbb\xbf", *mine]),
    "a key twice": (4, lambda mine, _: [*mine[:3], mine[3].replace(b"{}", b'{"a":1,"a":1}'), mine[4]]),
    "not a number": (4, lambda mine, _: [*mine[:3], mine[3].replace(b"{}", b'{"a":NaN}'), mine[4]]),
    "escapes": (5, lambda mine, _: [*mine[:4], mine[4].replace(b'"last"', b'"l\\u0061st"')]),
    "another order": (2, lambda mine, _: [mine[0], json.dumps(json.loads(mine[1])).encode() + b"\n", *mine[2:]]),
    "another key": (6, lambda mine, _: [*mine, b'{"entry":{},"more":1,"previous":"","sha256":""}\n']),
    "a list": (6, lambda mine, _: [*mine, b"[]\n"]),
    "no object inside": (6, lambda mine, _: [*mine, b'{"entry":[],"previous":"","sha256":""}\n']),
    "a number for a hash": (6, lambda mine, _: [*mine, b'{"entry":{},"previous":0,"sha256":0}\n']),
    "a torn line that was closed": (6, lambda mine, _: [*mine, b'{"entry":{"a\n']),
}


@pytest.mark.parametrize("how", CHANGES)
def test_changed_lines_are_refused_with_their_number(path: Path, tmp_path: Path, how: str) -> None:
    number, change = CHANGES[how]
    refused = refusal_of(path, b"".join(change(lines_of(path), other_lines(tmp_path))))
    assert refused.line == number
    assert f"ledger.jsonl, line {number}: " in str(refused) or len(str(path)) > 90
    assert "copy" in str(refused)
    assert "\n" not in str(refused)


def test_another_format_or_none_is_refused(path: Path, tmp_path: Path) -> None:
    calls: list[Callable[[], journal.Journal]] = [
        lambda: journal.read_journal(path, "test-journal/2"),
        lambda: journal.append(path, "test-journal/2", {}),
    ]
    for call in calls:
        with pytest.raises(FileFormatError, match="expected the format 'test-journal/2', got 'test-journal/1'"):
            call()
    for raw in (b"", b"\n", b"hello\n", b'{"format":"veilroute-playbook/1"}\n', b"{", b'{"entry":{"format":'):
        refusal_of(tmp_path / "other", raw)


def test_a_file_that_is_there_is_never_made_anew(path: Path, tmp_path: Path) -> None:
    raw = path.read_bytes()
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder").mkdir()
    for name in (path.name, "dangling", "folder"):
        with pytest.raises(FileFormatError, match="is there already"):
            journal.new_journal(tmp_path / name, FORMAT)
    for name in ("no/ledger", "l\0", "\udcff" * 300):
        with pytest.raises(FileFormatError):
            journal.new_journal(tmp_path / name, FORMAT)
    for nowhere in ("", ".", "/"):
        with pytest.raises(FileFormatError):
            journal.new_journal(nowhere, FORMAT)
    assert path.read_bytes() == raw
    assert sorted(item.name for item in tmp_path.iterdir()) == ["dangling", "folder", "ledger.jsonl"]
    (tmp_path / "link").symlink_to(path)
    journal.append(tmp_path / "link", FORMAT, {"through": "link"})
    assert (tmp_path / "link").is_symlink()
    assert journal.read_journal(path, FORMAT).entries[-1] == {"through": "link"}


@POSIX_ONLY
def test_first_the_line_is_on_the_disk_then_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger"
    synced: list[tuple[bool, bool]] = []
    real = os.fsync

    def sync(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    before = os.umask(0o027)
    try:
        book = journal.new_journal(path, FORMAT)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640, "for everybody whom the user lets in"
    assert synced == [(False, False), (True, True)]
    assert book == journal.read_journal(path, FORMAT)


def nested(depth: int) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for _ in range(depth):
        entry = {"a": entry}
    return entry


def test_what_would_not_come_back_is_not_written(path: Path) -> None:
    raw = path.read_bytes()
    bad: list[Any] = [[1], None, "text", {1: "a"}, nested(100)]
    bad += [{"a": each} for each in (float("nan"), [float("inf")], (1, 2), 2**70, {1, 2}, "\ud800", Path("x"))]
    for entry in bad:
        with pytest.raises(InvalidInputError, match="plain JSON data"):
            journal.append(path, FORMAT, entry)
    assert path.read_bytes() == raw
    journal.append(path, FORMAT, nested(98))


def test_a_function_decides_on_what_is_there(path: Path) -> None:
    seen: list[journal.Journal] = []

    def decide(book: journal.Journal) -> dict[str, Any]:
        seen.append(book)
        return {"after": book.head}

    before = journal.read_journal(path, FORMAT)
    assert journal.append(path, FORMAT, decide).entries[-1] == {"after": before.head}
    assert seen == [before]

    def refuse(book: journal.Journal) -> dict[str, Any]:
        raise InvalidInputError("playbook", "one that is not there yet")

    raw = path.read_bytes() + b'{"entry":{"torn'
    path.write_bytes(raw)
    with pytest.raises(InvalidInputError, match="not there yet"):
        journal.append(path, FORMAT, refuse)
    assert path.read_bytes() == raw


@pytest.mark.parametrize("torn", [b"", b'{"entry":{"torn'])
@pytest.mark.parametrize("failing", ["write", "fsync", "interrupt"])
def test_a_failing_disk_leaves_what_was_there(
    path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, torn: bytes
) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw + torn)

    def fail(handle: int, data: bytes = b"") -> None:
        os.write(handle, bytes(data[:20]))
        if failing == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        if failing == "fsync":
            patch.setattr(os, "fsync", fail)
        else:
            patch.setattr(journal, "_write", fail)
        with pytest.raises(KeyboardInterrupt if failing == "interrupt" else FileFormatError) as refused:
            journal.append(path, FORMAT, {"a": "b" * 100})
        if failing == "fsync":
            with pytest.raises(FileFormatError, match="No space left"):
                journal.new_journal(path.with_name("new"), FORMAT)
            assert [each.name for each in path.parent.iterdir()] == [path.name], "no half of a new one either"
    if failing != "interrupt":
        assert "cannot be written (No space left on device)" in str(refused.value)
    assert path.read_bytes() == raw


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_devices_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("/dev/full", tmp_path / "pipe", tmp_path / "folder", tmp_path / "nowhere", "a\0"):
        with pytest.raises(FileFormatError):
            journal.read_journal(name, FORMAT)
        with pytest.raises(FileFormatError):
            journal.append(name, FORMAT, {})


@POSIX_ONLY
def test_a_file_that_must_not_be_written_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def deny(name: Any, flags: int, *rest: Any) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(name, flags, *rest)

    monkeypatch.setattr(os, "open", deny)  # a superuser may write whatever the mode
    assert len(journal.read_journal(path, FORMAT).entries) == 4
    with pytest.raises(FileFormatError, match=r"cannot be written \(Permission denied\)"):
        journal.append(path, FORMAT, {})


def replaced(path: Path) -> None:
    (path.parent / "new").write_bytes(path.read_bytes())
    (path.parent / "new").replace(path)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"a note\n")


@POSIX_ONLY
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("meddle", [replaced, Path.unlink, grown])
def test_another_program_that_asks_for_no_lock_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch, when: str, meddle: Callable[[Path], None]
) -> None:
    def decide(book: journal.Journal) -> dict[str, Any]:
        if when == "before":
            meddle(path)
        return {}

    real = os.fsync

    def sync(handle: int) -> None:
        real(handle)
        if when == "after":
            meddle(path)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(FileFormatError, match="replaced, removed or changed"):
        journal.append(path, FORMAT, decide)


def test_a_writer_that_hangs_is_not_waited_for_without_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, ticks = path.read_bytes(), itertools.count(0, 7)
    with path.open("rb") as file:
        assert journal.lock_file(file)
        with monkeypatch.context() as patch, pytest.raises(FileFormatError, match="has been writing to it for 60 s"):
            patch.setattr(time, "monotonic", lambda: float(next(ticks)))
            journal.append(path, FORMAT, {})
        assert next(ticks) > 60 and len(journal.read_journal(path, FORMAT).entries) == 4, "readers do not wait"
    journal.append(path, FORMAT, {})
    assert path.read_bytes().startswith(raw)


def test_no_lock_no_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object, is_shared: bool) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(journal, "_lock_now", refuse)
    raw = path.read_bytes()
    with pytest.raises(FileFormatError, match="cannot be locked"):
        journal.append(path, FORMAT, {})
    assert path.read_bytes() == raw


def test_what_looks_like_damage_while_a_line_is_replaced_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look sees half of a torn line and half of the one that took its place."""
    looks = [path.read_bytes() + b'{"entry":{"torn":"x"},"previous', path.read_bytes()]
    monkeypatch.setattr(journal, "_read", lambda *_: looks.pop(0))
    assert len(journal.read_journal(path, FORMAT).entries) == 4
    assert len(looks) == 1
    looks[:] = [path.read_bytes() + b'{"entry":{"torn"x"}', path.read_bytes()]
    assert len(journal.read_journal(path, FORMAT).entries) == 4
    assert not looks


def test_threads_take_turns(path: Path) -> None:
    def work(name: str) -> None:
        for number in range(10):
            journal.append(path, FORMAT, entry_of(name, number))

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, "abc"))
    ids = Counter(entry["id"] for entry in journal.read_journal(path, FORMAT).entries[4:])
    assert ids == Counter(f"{name}-{number}" for name in "abc" for number in range(10))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("num_kills", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_at_random_moments_lose_nothing_that_was_reported(tmp_path: Path, num_kills: int) -> None:
    """Of two writers one is killed again and again: all that was reported is there once, in order."""
    chance, num_torn = random.Random(num_kills), 0
    for begin in range(0, num_kills, 20):  # a new file now and then, because each entry reads all before it
        path, writers, reported = tmp_path / f"ledger-{begin}", list[subprocess.Popen[str]](), dict[str, list[str]]()
        journal.new_journal(path, FORMAT)

        def end(victim: subprocess.Popen[str], reported: dict[str, list[str]] = reported) -> None:
            victim.kill()
            reported[victim.args[3]] += victim.communicate()[0].split()  # type: ignore[index]

        try:
            for number in range(min(20, num_kills - begin) + 2):
                writers.append(start(path, str(number), is_slow=chance.random() < 0.6))
                reported[str(number)] = [(writers[-1].stdout.readline()).strip()] if chance.random() < 0.8 else []  # type: ignore[union-attr]
                if number >= 2:
                    time.sleep(chance.random() * 0.03)
                    end(writers.pop(chance.randrange(2)))
                    seen = journal.read_journal(path, FORMAT)
                    num_torn += seen.torn
                    assert {one for ids in reported.values() for one in ids} <= {each["id"] for each in seen.entries}
        finally:
            for writer in writers:
                end(writer)
        before = journal.read_journal(path, FORMAT)
        assert journal.append(path, FORMAT, {"id": "end-0"}).hashes[:-1] == before.hashes
        found: dict[str, list[str]] = {name: [] for name in reported}
        for entry in before.entries:
            name, number_text = entry["id"].split("-")
            assert entry == entry_of(name, len(found[name])) and number_text == str(len(found[name]))
            found[name].append(entry["id"])
        for name, ids in reported.items():
            assert found[name][: len(ids)] == ids and len(found[name]) <= len(ids) + 1
    assert num_torn > 0 or num_kills < 200, "no kill came amid a line, so nothing was tried"
