"""The downloader against a server that fails, stalls, lies and changes its mind: whole and sound, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from map_server import ARENA, MapServer, make_zip
from veilroute import DownloadError, InvalidInputError
from veilroute.maps import download, find_archive_problem

ARCHIVE = make_zip({"arena.map": ARENA})
HALF = len(ARCHIVE) // 2
DAMAGED = ARCHIVE[:HALF] + bytes([ARCHIVE[HALF] ^ 1]) + ARCHIVE[HALF + 1 :]


class Line:
    """A download of ``ARCHIVE``: the server and the files."""

    def __init__(self, server: MapServer, folder: Path) -> None:
        self.server, self.target = server, folder / "cache" / "a.zip"
        self.part = self.target.with_name("a.zip.part")
        self.url = f"{server.url}/a.zip"
        server.site["/a.zip"] = ARCHIVE

    def get(self, **options: object) -> Path:
        return download(self.url, self.target, **{"timeout_s": 5, **options})  # type: ignore[arg-type]

    def leave_half(self) -> None:
        """A first download that is given up half way."""
        self.server.faults.append("drop")
        with pytest.raises(DownloadError, match=f"{HALF} bytes are kept"):
            self.get(retries=0)
        assert self.part.read_bytes() == ARCHIVE[:HALF] and not self.target.exists()

    def assert_got(self, data: bytes = ARCHIVE) -> None:
        assert self.target.read_bytes() == data
        assert [path.name for path in self.target.parent.iterdir()] == ["a.zip"]


@pytest.fixture
def line(server: MapServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    monkeypatch.setattr("time.sleep", lambda _: None)  # pauses are not waited for
    return Line(server, tmp_path)


@pytest.mark.parametrize(
    ("faults", "habits", "num_sent"),
    [
        ("", "", len(ARCHIVE)),
        ("", "no-length", len(ARCHIVE)),
        ("500,503,425", "", len(ARCHIVE)),
        # A line that drops again and again still gets there: only attempts that bring nothing new count.
        ("drop,drop,drop,drop,drop,drop", "", len(ARCHIVE)),
        ("stall", "", len(ARCHIVE)),
        ("drop", "no-validator", len(ARCHIVE)),
        ("drop", "no-range", HALF + len(ARCHIVE)),
        ("drop,off-by-one", "", None),  # another range than was asked for
        ("drop", "no-length", HALF + len(ARCHIVE)),  # cut short, which only the archive shows
    ],
)
def test_what_breaks_off_is_resumed_or_fetched_again(
    line: Line, faults: str, habits: str, num_sent: int | None
) -> None:
    line.server.faults += faults.split(",")
    line.server.habits.update(habits.split())
    reports: list[tuple[int, int | None]] = []
    assert line.get(timeout_s=0.3, retries=4, report=lambda *report: reports.append(report)) == line.target
    line.assert_got()
    assert num_sent in (None, sum(map(int, line.server.asked("sent"))))
    assert reports[-1] == (len(ARCHIVE), None if "no-length" in habits else len(ARCHIVE))


@pytest.mark.parametrize("habit", ["", "ignore-if-range"])
@pytest.mark.parametrize("size", [20_000, 9_000])  # larger and smaller than the archive was
def test_two_versions_are_never_glued(line: Line, size: int, habit: str) -> None:
    line.leave_half()
    line.server.site["/a.zip"] = changed = make_zip({"arena.map": b"#" * size})
    line.server.habits.update(habit.split())
    line.get(retries=0)
    line.assert_got(changed)


def test_a_part_that_is_left_is_used_only_if_it_is_known_and_fits(line: Line) -> None:
    elsewhere = {"url": "http://elsewhere.example/a.zip", "version": '"x"'}
    for note in (None, "{", "[]", json.dumps(elsewhere), json.dumps({"url": line.url, "version": 5})):
        line.part.parent.mkdir(exist_ok=True)
        line.part.write_bytes(b"old bytes")
        if note is not None:
            line.part.with_name("a.zip.part.json").write_text(note)
        line.get()
        line.assert_got()
    for left, is_used in ((ARCHIVE, True), (ARCHIVE + b"more", False)):
        line.target.unlink()
        line.leave_half()
        line.part.write_bytes(left)
        line.get(retries=0)
        line.assert_got()
        assert (line.server.asked("sent")[-1] == "0") == is_used


def test_redirects_are_followed_over_http_only(line: Line, tmp_path: Path) -> None:
    line.server.site["/moved.zip"] = ARCHIVE
    line.server.faults += ["302 /moved.zip", "drop"]
    line.get()
    line.assert_got()
    (tmp_path / "local.zip").write_bytes(ARCHIVE)
    for elsewhere in (f"file://{tmp_path}/local.zip", "/a.zip"):  # and one that never ends
        line.target.unlink(missing_ok=True)
        line.server.habits = {"302", elsewhere}
        with pytest.raises(DownloadError, match="302"):
            line.get(retries=0)
        assert not line.target.exists()


@pytest.mark.parametrize(
    ("served", "words"),
    [(DAMAGED, r"arena\.map does not unpack"), (b"<html>the hotel's network</html>", "no sound zip archive")],
)
def test_damage_is_fetched_once_more_and_then_refused(line: Line, served: bytes, words: str) -> None:
    line.get()
    line.server.site["/a.zip"] = served
    with pytest.raises(DownloadError, match=f"damaged both times .{words}"):
        line.get()
    assert len(line.server.seen) == 3
    line.assert_got()  # what was there before


def test_any_truncation_or_flip_gives_a_clean_error(tmp_path: Path) -> None:
    whole = make_zip({"a.map": b"0123456789", "b.map": b"abc"})
    file = tmp_path / "x.zip"
    file.write_bytes(whole)
    assert not find_archive_problem(file)
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        assert find_archive_problem(file)
    for place in range(len(whole)):
        for mask in (0x01, 0x80, 0xFF):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
            find_archive_problem(file)  # some flips are harmless; none may raise


def _interrupt(done: int, _total: int | None) -> None:
    if done:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "error"),
    [({"report": _interrupt}, KeyboardInterrupt), ({"should_stop": lambda: True}, DownloadError)],
)
def test_an_interrupt_and_a_stop_keep_what_has_arrived(
    line: Line, options: dict[str, Callable[..., object]], error: type[BaseException]
) -> None:
    line.leave_half()
    with pytest.raises(error):
        line.get(**options)
    assert line.part.read_bytes() == ARCHIVE[: line.part.stat().st_size] and line.part.stat().st_size >= HALF
    assert not line.target.exists()
    line.get()
    line.assert_got()
    assert "" not in line.server.asked("range")[1:]


@pytest.mark.parametrize("address", ["file:///etc/passwd", "a.com/a.zip", "http://h:port/a", "http://a b/c", ""])
def test_unusable_addresses(address: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="--url: expected an address such as https://"):
        download(address, tmp_path / "a.zip")
