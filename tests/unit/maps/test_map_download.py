"""The downloader against a server that fails, stalls, lies and changes its mind."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from veilroute import DownloadError, InvalidInputError
from veilroute.maps import download, find_archive_problem

MakeZip = Callable[[dict[str, bytes]], bytes]


@pytest.fixture
def archive(site: dict[str, bytes], make_zip: MakeZip, arena: bytes) -> bytes:
    """What the server has at ``/a.zip``."""
    site["/a.zip"] = make_zip({"arena.map": arena})
    return site["/a.zip"]


@pytest.fixture
def url(base_url: str) -> str:
    return f"{base_url}/a.zip"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "a.zip"


@pytest.fixture
def part(target: Path) -> Path:
    return target.with_name("a.zip.part")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which are noted rather than waited for."""
    noted: list[float] = []
    monkeypatch.setattr("time.sleep", noted.append)
    return noted


@pytest.fixture
def get(url: str, target: Path, pauses: list[float]) -> Callable[..., Path]:
    def run(**options: object) -> Path:
        return download(url, target, **{"timeout_s": 5, **options})  # type: ignore[arg-type]

    return run


def _ranges(seen: list[dict[str, str]]) -> list[str]:
    return [record["range"] for record in seen]


def _files(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def test_plain_download(get: Callable[..., Path], target: Path, archive: bytes, pauses: list[float]) -> None:
    reports: list[tuple[int, int | None]] = []
    assert get(report=lambda done, total: reports.append((done, total))) == target
    assert target.read_bytes() == archive
    assert _files(target) == ["a.zip"]
    assert pauses == []
    assert reports[0] == (0, len(archive))
    assert reports[-1] == (len(archive), len(archive))
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)


def test_dropped_connection_is_resumed(
    get: Callable[..., Path], target: Path, archive: bytes, faults: list[str], seen: list[dict[str, str]]
) -> None:
    faults.append("drop")
    get()
    half = len(archive) // 2
    assert target.read_bytes() == archive
    assert _ranges(seen) == ["", f"bytes={half}-"]
    assert seen[1]["if-range"].startswith('"')
    assert [int(record["sent"]) for record in seen] == [half, len(archive) - half]


def test_connection_that_drops_again_and_again_still_gets_there(
    get: Callable[..., Path], target: Path, archive: bytes, faults: list[str], pauses: list[float]
) -> None:
    faults.extend(["drop"] * 6)
    get(retries=1)
    assert target.read_bytes() == archive
    assert pauses == [0.5] * 6


def test_later_call_continues(
    get: Callable[..., Path],
    target: Path,
    part: Path,
    archive: bytes,
    faults: list[str],
    seen: list[dict[str, str]],
) -> None:
    faults.append("drop")
    half = len(archive) // 2
    with pytest.raises(DownloadError, match=f"closed after {half} of {len(archive)} bytes.*{half} bytes are kept"):
        get(retries=0)
    assert part.read_bytes() == archive[:half]
    assert not target.exists()
    reports: list[int] = []
    get(report=lambda done, _total: reports.append(done))
    assert reports[0] == half
    assert target.read_bytes() == archive
    assert _ranges(seen) == ["", f"bytes={half}-"]
    assert _files(target) == ["a.zip"]


@pytest.mark.parametrize("habit", ["no-validator", "weak-etag", "folded-etag"])
def test_resume_without_a_strong_tag(
    get: Callable[..., Path],
    target: Path,
    archive: bytes,
    faults: list[str],
    habits: set[str],
    seen: list[dict[str, str]],
    habit: str,
) -> None:
    habits.add(habit)
    faults.append("drop")
    get()
    assert target.read_bytes() == archive
    assert _ranges(seen) == ["", f"bytes={len(archive) // 2}-"]
    assert seen[1]["if-range"] == ("" if habit == "no-validator" else "Sat, 01 Jan 2022 00:00:00 GMT")


def test_server_without_ranges_starts_again(
    get: Callable[..., Path],
    target: Path,
    archive: bytes,
    faults: list[str],
    habits: set[str],
    seen: list[dict[str, str]],
) -> None:
    habits.add("no-range")
    faults.append("drop")
    get()
    assert target.read_bytes() == archive
    assert int(seen[1]["sent"]) == len(archive)


def test_server_without_ranges_that_always_drops_is_given_up(
    get: Callable[..., Path], archive: bytes, habits: set[str], seen: list[dict[str, str]]
) -> None:
    habits.update({"no-range", "drop"})
    with pytest.raises(DownloadError, match="3 attempts"):
        get(retries=2)
    assert len(seen) == 3


def test_changed_archive_is_not_glued(
    get: Callable[..., Path],
    target: Path,
    archive: bytes,
    site: dict[str, bytes],
    make_zip: MakeZip,
    faults: list[str],
    seen: list[dict[str, str]],
) -> None:
    faults.append("drop")
    with pytest.raises(DownloadError):
        get(retries=0)
    site["/a.zip"] = make_zip({"arena.map": b"#" * 20_000})
    get(retries=0)
    assert target.read_bytes() == site["/a.zip"]
    assert seen[1]["range"]
    assert len(seen) == 2


@pytest.mark.parametrize("size", [20_000, 9_000])
def test_changed_archive_is_noticed_when_the_server_ignores_if_range(
    get: Callable[..., Path],
    target: Path,
    archive: bytes,
    site: dict[str, bytes],
    make_zip: MakeZip,
    faults: list[str],
    habits: set[str],
    seen: list[dict[str, str]],
    size: int,
) -> None:
    habits.add("ignore-if-range")
    faults.append("drop")
    with pytest.raises(DownloadError):
        get(retries=0)
    site["/a.zip"] = make_zip({"arena.map": b"#" * size})
    get(retries=0)
    assert target.read_bytes() == site["/a.zip"]
    assert [bool(asked) for asked in _ranges(seen)] == [False, True, False]


def test_part_of_unknown_or_other_origin_is_dropped(
    get: Callable[..., Path], url: str, target: Path, part: Path, archive: bytes, seen: list[dict[str, str]]
) -> None:
    sidecar = part.with_name(part.name + ".json")
    part.parent.mkdir()
    for note in (
        None,
        "{",
        '{"other": 1}',
        "[]",
        json.dumps({"url": "http://elsewhere.example/a.zip", "etag": '"x"'}),
        json.dumps({"url": url, "etag": 5}),
    ):
        part.write_bytes(b"old bytes")
        if note is not None:
            sidecar.write_text(note)
        get()
        assert target.read_bytes() == archive
    assert set(_ranges(seen)) == {""}


def test_complete_part_is_accepted(
    get: Callable[..., Path], target: Path, part: Path, archive: bytes, faults: list[str], seen: list[dict[str, str]]
) -> None:
    faults.append("drop")
    with pytest.raises(DownloadError):
        get(retries=0)
    part.write_bytes(archive)
    reports: list[tuple[int, int | None]] = []
    get(report=lambda done, total: reports.append((done, total)))
    assert target.read_bytes() == archive
    assert reports == [(len(archive), len(archive))]
    assert [record["sent"] for record in seen][1:] == ["0"]


def test_part_beyond_the_end_starts_again(
    get: Callable[..., Path], target: Path, part: Path, archive: bytes, faults: list[str], seen: list[dict[str, str]]
) -> None:
    faults.append("drop")
    with pytest.raises(DownloadError):
        get(retries=0)
    part.write_bytes(archive + b"more")
    get(retries=0)
    assert target.read_bytes() == archive
    assert _ranges(seen)[1:] == [f"bytes={len(archive) + 4}-", ""]


def test_wrong_range_starts_again(
    get: Callable[..., Path], target: Path, archive: bytes, faults: list[str], seen: list[dict[str, str]]
) -> None:
    faults.extend(["drop", "off-by-one"])
    get()
    assert target.read_bytes() == archive
    assert [bool(asked) for asked in _ranges(seen)] == [False, True, False]


def test_server_errors_are_retried_with_growing_pauses(
    get: Callable[..., Path], target: Path, archive: bytes, faults: list[str], pauses: list[float]
) -> None:
    faults.extend(["500", "503"])
    get()
    assert target.read_bytes() == archive
    assert pauses == [0.5, 1.0]


def test_server_errors_are_given_up(
    get: Callable[..., Path], archive: bytes, url: str, habits: set[str], pauses: list[float], seen: list[object]
) -> None:
    habits.add("500")
    with pytest.raises(DownloadError, match=r"500 .*5 attempts\); check --url or register local copies") as caught:
        get()
    assert url in str(caught.value)
    assert "\n" not in str(caught.value)
    assert pauses == [0.5, 1.0, 2.0, 4.0]
    assert len(seen) == 5


@pytest.mark.parametrize("status", ["404", "403", "410", "416"])
def test_refusals_are_final(
    get: Callable[..., Path], target: Path, url: str, habits: set[str], seen: list[object], status: str
) -> None:
    habits.add(status)
    with pytest.raises(DownloadError, match=f"{status}.*check --url or register local copies with") as caught:
        get()
    assert url in str(caught.value)
    assert "'veilroute maps add DIR'" in str(caught.value)
    assert len(seen) == 1
    assert not target.parent.exists()


def test_refusal_keeps_the_part(get: Callable[..., Path], part: Path, archive: bytes, faults: list[str]) -> None:
    faults.extend(["drop", "404"])
    with pytest.raises(DownloadError, match="404"):
        get()
    assert part.read_bytes() == archive[: len(archive) // 2]


def test_unexpected_status_is_final(get: Callable[..., Path], base_url: str, target: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(DownloadError, match="204 No Content"):
            download(f"http://127.0.0.1:{listener.getsockname()[1]}/a.zip", target)
        thread.join()


def test_stall_is_resumed(
    get: Callable[..., Path], target: Path, archive: bytes, faults: list[str], seen: list[dict[str, str]]
) -> None:
    faults.append("stall")
    get(timeout_s=0.3)
    assert target.read_bytes() == archive
    assert _ranges(seen) == ["", f"bytes={len(archive) // 2}-"]


def test_stall_is_given_up_and_keeps_the_part(
    get: Callable[..., Path], part: Path, archive: bytes, faults: list[str]
) -> None:
    faults.append("stall")
    with pytest.raises(DownloadError, match=r"no answer for 0\.2 s \(1 attempt\).*are kept"):
        get(timeout_s=0.2, retries=0)
    assert part.read_bytes() == archive[: len(archive) // 2]


def test_silence_before_the_answer(target: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/a.zip"
        with pytest.raises(DownloadError, match=r"no answer for 0\.1 s"):
            download(url, target, retries=0, timeout_s=0.1)


def test_no_server(target: Path, pauses: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(DownloadError, match=r"no connection \(.*3 attempts"):
        download(f"http://127.0.0.1:{port}/a.zip", target, retries=2)
    assert pauses == [0.5, 1.0]


def test_overstated_length_is_not_taken_for_complete(
    get: Callable[..., Path], target: Path, part: Path, archive: bytes, habits: set[str]
) -> None:
    habits.update({"overstate", "no-range"})
    with pytest.raises(DownloadError, match=f"closed after {len(archive)} of {len(archive) + 100} bytes"):
        get(retries=1)
    assert part.exists()
    assert not target.exists()


def test_unknown_length(get: Callable[..., Path], target: Path, archive: bytes, habits: set[str]) -> None:
    habits.add("no-length")
    reports: list[tuple[int, int | None]] = []
    get(report=lambda done, total: reports.append((done, total)))
    assert target.read_bytes() == archive
    assert {total for _, total in reports} == {None}


def test_unknown_length_cut_short_is_damage(
    get: Callable[..., Path], target: Path, archive: bytes, habits: set[str], faults: list[str]
) -> None:
    habits.add("no-length")
    faults.append("drop")
    get()
    assert target.read_bytes() == archive


def _damage(archive: bytes) -> bytes:
    middle = len(archive) // 2
    return archive[:middle] + bytes([archive[middle] ^ 1]) + archive[middle + 1 :]


def test_damaged_archive_is_fetched_once_more_then_refused(
    get: Callable[..., Path], target: Path, archive: bytes, site: dict[str, bytes], seen: list[dict[str, str]]
) -> None:
    site["/a.zip"] = _damage(archive)
    with pytest.raises(DownloadError, match=r"damaged both times \(arena\.map does not unpack\)"):
        get()
    assert _ranges(seen) == ["", ""]
    assert _files(target) == []


def test_damaged_archive_is_fetched_once_more_and_accepted(
    get: Callable[..., Path], target: Path, archive: bytes, site: dict[str, bytes]
) -> None:
    site["/a.zip"] = _damage(archive)

    def mend(done: int, total: int | None) -> None:
        if done == total:
            site["/a.zip"] = archive

    get(report=mend)
    assert target.read_bytes() == archive


def test_page_in_place_of_an_archive(get: Callable[..., Path], site: dict[str, bytes]) -> None:
    site["/a.zip"] = b"<html>Please log in to the hotel's network</html>"
    with pytest.raises(DownloadError, match="no sound zip archive"):
        get()


def test_any_truncation_or_flip_gives_a_clean_error(tmp_path: Path, make_zip: MakeZip) -> None:
    whole = make_zip({"a.map": b"0123456789", "b.map": b"abc"})
    file = tmp_path / "x.zip"
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        assert find_archive_problem(file)
    for place in range(len(whole)):
        for mask in (0x01, 0x80, 0xFF):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
            find_archive_problem(file)  # some flips are harmless; none may raise


def test_interrupt_keeps_the_part(get: Callable[..., Path], target: Path, part: Path, archive: bytes) -> None:
    def interrupt(done: int, _total: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(report=interrupt)
    assert part.stat().st_size > 0
    assert archive.startswith(part.read_bytes())
    get()
    assert target.read_bytes() == archive


def test_stop_keeps_the_part(
    get: Callable[..., Path], target: Path, part: Path, archive: bytes, faults: list[str]
) -> None:
    faults.append("drop")
    with contextlib.suppress(DownloadError):
        get(retries=0)
    with pytest.raises(DownloadError, match="stopped after"):
        get(should_stop=lambda: True)
    assert part.read_bytes() == archive[: len(archive) // 2]
    assert not target.exists()


def test_failed_download_leaves_the_old_target(
    get: Callable[..., Path], target: Path, archive: bytes, site: dict[str, bytes]
) -> None:
    get()
    site["/a.zip"] = b"rubbish"
    with pytest.raises(DownloadError):
        get()
    assert target.read_bytes() == archive


def test_place_that_cannot_be_written(url: str, archive: bytes, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file")
    with pytest.raises(DownloadError, match=r"cannot be written .* set VEILROUTE_CACHE"):
        download(url, tmp_path / "blocked" / "a.zip")


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "movingai.com/a.zip", "http://", "http://host:port/a", "http://a b/c", "http://hóst/", ""],
)
def test_unusable_address(address: str, target: Path) -> None:
    with pytest.raises(InvalidInputError, match="--url: expected an address such as https://"):
        download(address, target)


@pytest.mark.parametrize(
    "options", [{"retries": -1}, {"timeout_s": 0}, {"timeout_s": float("nan")}, {"timeout_s": 1e9}]
)
def test_unusable_options(get: Callable[..., Path], options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        get(**options)
