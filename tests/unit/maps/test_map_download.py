"""The downloader against a server that fails, stalls, lies and changes its mind."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from map_server import ARENA, LAST_MODIFIED, MapServer, make_zip
from veilroute import DownloadError, InvalidInputError
from veilroute.maps import download, find_archive_problem

ARCHIVE = make_zip({"arena.map": ARENA})
HALF = len(ARCHIVE) // 2
RESUMED = ["", f"bytes={HALF}-"]


class Line:
    """A download of ``ARCHIVE``: the server, the files, the pauses between attempts, and what was reported."""

    def __init__(self, server: MapServer, folder: Path) -> None:
        self.server, self.target = server, folder / "cache" / "a.zip"
        self.part = self.target.with_name("a.zip.part")
        self.sidecar = self.target.with_name("a.zip.part.json")
        self.url = f"{server.url}/a.zip"
        server.site["/a.zip"] = ARCHIVE
        self.pauses: list[float] = []
        self.reports: list[tuple[int, int | None]] = []

    def get(self, **options: object) -> Path:
        options = {"timeout_s": 5, "report": lambda *report: self.reports.append(report), **options}
        return download(self.url, self.target, **options)  # type: ignore[arg-type]

    def leave_half(self) -> None:
        """A first download that is given up half way."""
        self.server.faults.append("drop")
        with pytest.raises(DownloadError, match=f"{HALF} bytes are kept"):
            self.get(retries=0)
        assert self.part.read_bytes() == ARCHIVE[:HALF] and not self.target.exists()
        self.reports.clear()

    def assert_got(self, data: bytes = ARCHIVE) -> None:
        assert self.target.read_bytes() == data
        assert [path.name for path in self.target.parent.iterdir()] == ["a.zip"]


@pytest.fixture
def line(server: MapServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    made = Line(server, tmp_path)
    monkeypatch.setattr("time.sleep", made.pauses.append)  # pauses are noted rather than waited for
    return made


@pytest.mark.parametrize("habit", ["", "no-length"])
def test_plain_download(line: Line, habit: str) -> None:
    line.server.habits.add(habit)
    assert line.get() == line.target
    line.assert_got()
    assert line.pauses == [] and line.server.asked("sent") == [str(len(ARCHIVE))]
    assert line.reports[-1] == (len(ARCHIVE), None if habit else len(ARCHIVE))
    assert [done for done, _ in line.reports] == sorted(done for done, _ in line.reports)


def test_faults_that_pass_are_retried(line: Line) -> None:
    line.server.faults += ["500", "503", "425"]
    line.get()
    line.assert_got()
    assert line.pauses == [0.5, 1.0, 2.0]
    # A line that drops again and again still gets there: only attempts that bring nothing new count.
    line.server.faults += ["drop"] * 6
    line.get(retries=1)
    line.assert_got()
    assert line.pauses[3:] == [0.5] * 6
    # A later call goes on where an earlier one was given up, also after a refusal, which is final.
    line.target.unlink()
    line.leave_half()
    line.server.faults.append("404")
    with pytest.raises(DownloadError, match="404"):
        line.get()
    assert line.part.read_bytes() == ARCHIVE[:HALF]
    line.get()
    line.assert_got()
    assert line.reports[0] == (HALF, len(ARCHIVE)) and line.server.asked("range")[-3:] == [*RESUMED, RESUMED[1]]


@pytest.mark.parametrize(
    ("faults", "habits", "ranges", "condition"),
    [
        ("drop", "", RESUMED, '"'),
        ("stall", "", RESUMED, '"'),
        ("drop", "weak-etag", RESUMED, LAST_MODIFIED),
        ("drop", "no-validator", RESUMED, ""),
        ("drop", "no-range", RESUMED, '"'),
        ("drop,off-by-one", "", [*RESUMED, ""], '"'),  # another range than was asked for
        ("drop", "no-length", ["", ""], ""),  # cut short, which only the archive shows
    ],
)
def test_what_breaks_off_is_resumed_or_fetched_again(
    line: Line, faults: str, habits: str, ranges: list[str], condition: str
) -> None:
    line.server.faults += faults.split(",")
    line.server.habits.update(habits.split())
    line.get(timeout_s=0.3)
    line.assert_got()
    assert line.server.asked("range") == ranges
    found = line.server.seen[1]["if-range"]
    assert found.startswith(condition) and bool(found) == bool(condition)
    if ranges == RESUMED:
        rest = len(ARCHIVE) - HALF * (habits != "no-range")
        assert line.server.asked("sent") == [str(HALF), str(rest)] and line.pauses == [0.5]


@pytest.mark.parametrize("habit", ["", "ignore-if-range"])
@pytest.mark.parametrize("size", [20_000, 9_000])  # larger and smaller than the archive was
def test_two_versions_are_never_glued(line: Line, size: int, habit: str) -> None:
    line.leave_half()
    line.server.site["/a.zip"] = changed = make_zip({"arena.map": b"#" * size})
    line.server.habits.update(habit.split())
    line.get(retries=0)
    line.assert_got(changed)
    assert line.server.asked("range") == [*RESUMED, *[""] * bool(habit)]


def test_a_part_of_unknown_or_other_origin_is_dropped(line: Line) -> None:
    elsewhere = {"url": "http://elsewhere.example/a.zip", "version": '"x"'}
    for note in (None, "{", "[]", json.dumps(elsewhere), json.dumps({"url": line.url, "version": 5})):
        line.part.parent.mkdir(exist_ok=True)
        line.part.write_bytes(b"old bytes")
        if note is not None:
            line.sidecar.write_text(note)
        line.get()
        line.assert_got()
    assert set(line.server.asked("range")) == {""}


def test_a_part_that_is_whole_is_taken_and_one_that_is_longer_is_not(line: Line) -> None:
    line.leave_half()
    line.part.write_bytes(ARCHIVE)
    line.get()
    line.assert_got()
    assert line.reports == [(len(ARCHIVE), len(ARCHIVE))] and line.server.asked("sent")[1:] == ["0"]
    line.target.unlink()
    line.leave_half()
    line.part.write_bytes(ARCHIVE + b"more")
    line.get(retries=0)
    line.assert_got()
    assert line.server.asked("range")[-2:] == [f"bytes={len(ARCHIVE) + 4}-", ""]


@pytest.mark.parametrize(
    ("habits", "retries", "num_asked", "pauses", "words"),
    [
        ("500", 4, 5, [0.5, 1.0, 2.0, 4.0], r"500 .*\(5 attempts\)"),
        ("429", 6, 7, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0], r"429 .*\(7 attempts\)"),
        ("no-range drop", 2, 3, [0.5, 1.0], r"closed after \d+ of \d+ bytes \(3 attempts\); \d+ bytes are kept"),
        ("overstate no-range", 1, 2, [0.5], f"closed after {len(ARCHIVE)} of {len(ARCHIVE) + 100} bytes"),
        ("stall", 0, 1, [], r"no answer for 0\.2 s \(1 attempt\); \d+ bytes are kept"),
        # Refusals are final.
        *((str(status), 4, 1, [], f"the server answered {status}") for status in (403, 404, 416)),
    ],
)
def test_what_does_not_pass_is_given_up(
    line: Line, habits: str, retries: int, num_asked: int, pauses: list[float], words: str
) -> None:
    line.server.habits.update(habits.split())
    with pytest.raises(DownloadError, match=words) as caught:
        line.get(retries=retries, timeout_s=0.2)
    assert line.url in str(caught.value) and "'veilroute maps add DIR'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (len(line.server.seen), line.pauses) == (num_asked, pauses)
    assert not line.target.exists() and line.part.exists() == ("kept" in str(caught.value))


def test_redirects_are_followed_over_http_only(line: Line, tmp_path: Path) -> None:
    line.server.site["/moved.zip"] = ARCHIVE
    line.server.faults += ["302 /moved.zip", "drop"]
    line.get()
    line.assert_got()
    assert line.server.asked() == ["/a.zip", "/moved.zip", "/a.zip"], "it goes on from the address that was asked for"
    (tmp_path / "local.zip").write_bytes(ARCHIVE)
    for elsewhere in (f"file://{tmp_path}/local.zip", "/a.zip"):  # and one that never ends
        line.target.unlink(missing_ok=True)
        line.server.habits = {"302", elsewhere}
        with pytest.raises(DownloadError, match="302"):
            line.get(retries=0)
        assert not line.target.exists()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", "204 No Content"),
        (b"SSH-2.0-something else\r\n", "no connection"),
        (b"", r"no answer for 0\.1 s"),
        (None, r"no connection \(.*2 attempts"),
    ],
)
def test_a_server_of_another_kind_or_none(line: Line, answer: bytes | None, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer or b"")

        url = f"http://127.0.0.1:{listener.getsockname()[1]}/a.zip"
        thread = threading.Thread(target=serve)
        if answer:
            thread.start()
        elif answer is None:
            listener.close()
        with pytest.raises(DownloadError, match=words):
            download(url, line.target, retries=answer is None, timeout_s=0.1 if answer == b"" else 5)
        if answer:
            thread.join()


DAMAGED = ARCHIVE[:HALF] + bytes([ARCHIVE[HALF] ^ 1]) + ARCHIVE[HALF + 1 :]


@pytest.mark.parametrize(
    ("served", "words"),
    [(DAMAGED, r"arena\.map does not unpack"), (b"<html>the hotel's network</html>", "no sound zip archive")],
)
def test_damage_is_fetched_once_more_and_then_refused(line: Line, served: bytes, words: str) -> None:
    line.get()
    line.server.site["/a.zip"] = served
    with pytest.raises(DownloadError, match=f"damaged both times .{words}"):
        line.get()
    assert line.server.asked("range") == ["", "", ""]
    line.assert_got()  # what was there before

    def mend(done: int, total: int | None) -> None:
        if done == total:
            line.server.site["/a.zip"] = make_zip({"new.map": b"x"})

    line.get(report=mend)
    line.assert_got(make_zip({"new.map": b"x"}))


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


def test_a_place_that_cannot_be_written(line: Line, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file")
    with pytest.raises(DownloadError, match=r"cannot be written .* set VEILROUTE_CACHE"):
        download(line.url, tmp_path / "blocked" / "a.zip")


@pytest.mark.parametrize("address", ["file:///etc/passwd", "a.com/a.zip", "http://h:port/a", "http://a b/c", ""])
def test_unusable_addresses(address: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="--url: expected an address such as https://"):
        download(address, tmp_path / "a.zip")


@pytest.mark.parametrize("options", [{"retries": -1}, *({"timeout_s": s} for s in (0, float("nan"), 86401))])
def test_unusable_options(line: Line, options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        line.get(**options)
    assert not line.server.seen
