"""Findings R2, R3, F8 and F12 of the review, Ctrl-C while Python imports, and what a second review found about these.

Each failed before it was mended.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from veilroute.cli import run

posix = pytest.mark.skipif(os.name != "posix", reason="limits and owners of files are those of POSIX")
START = "import sys; sys.argv[0] = 'veilroute'; from veilroute.cli import main; main()"


def small_book(k: int = 2) -> vr.Playbook:
    domain = vr.grid_domain(["." * 12] * 3)
    return vr.solve(vr.Problem(domain, [vr.Trip((0, 0), (0, 11))], [(2, 2), (2, 5), (0, 7), (2, 9)]), vr.Privacy(k=k))


def child(*words: object, script: str = START, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def limited(most_bytes: int) -> Callable[[], None]:
    """What a child runs first: it can then write no file of more bytes, as on a disk that is nearly full."""

    def limit() -> None:
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return limit


@posix
@pytest.mark.parametrize(
    "suffix", [".json", ".pdf", *(pytest.param(suffix, marks=pytest.mark.slow) for suffix in (".html", ".png"))]
)
def test_r2_a_full_disk_leaves_the_old_file(tmp_path: Path, suffix: str) -> None:
    small_book().write(tmp_path / "book.json")
    words = ["draw" if suffix == ".png" else "export", "book.json"]
    if suffix == ".json":
        (tmp_path / "a.map").write_text("type octile\nheight 3\nwidth 12\nmap\n" + ("." * 12 + "\n") * 3)
        words = ["plan", "a.map", "--start", "0,0", "--goal", "0,11", "--candidates", "2,2 2,5"]
    out = tmp_path / f"out{suffix}"
    for end in ("", "; what was there before is unchanged"):
        before = contents_of(tmp_path)
        done = child(*words, "-o", out.name, cwd=tmp_path, preexec_fn=limited(600))
        assert done.returncode == 2 and out.name in done.stderr and done.stderr.endswith(f"{end}\n")
        assert contents_of(tmp_path) == before, "nothing half-written is left"
        out.write_bytes(b"what was there")


FLEET = ("fleet", "book.json", "--touched", "1", "--vehicles", "1", "--iterations", "20", "-o", "day")


@posix
@pytest.mark.slow
def test_r2_a_former_day_stays_when_the_disk_is_full_and_the_file_that_was_meant_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyvrp")
    small_book().write(tmp_path / "book.json")
    for end in ("", "; what was there before is unchanged"):
        before = contents_of(tmp_path / "day")
        done = child(*FLEET, cwd=tmp_path, preexec_fn=limited(3000))
        assert done.returncode == 2 and contents_of(tmp_path / "day") == before
        assert done.stderr.startswith("veilroute: day/day.png: cannot be written (File too large)")
        assert done.stderr.endswith(f"{end}\n")
        assert child(*FLEET, cwd=tmp_path).returncode == 0
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "one.map").write_text("type octile\nheight 1\nwidth 2\nmap\n..\n")
    cache = {**os.environ, "VEILROUTE_CACHE": str(tmp_path / "cache")}
    done = child("maps", "add", "maps", cwd=tmp_path, preexec_fn=limited(5), env=cache)
    assert done.returncode == 2
    assert f"{tmp_path / 'cache' / 'maps' / 'added.json'}: cannot be written" in done.stderr


def contents_of(folder: Path) -> dict[str, bytes | None]:
    """The files of a folder, if there is one; folders within it are None."""
    paths = sorted(folder.iterdir()) if folder.exists() else []
    return {path.name: path.read_bytes() if path.is_file() else None for path in paths}


def test_r2_links_modes_and_new_files(tmp_path: Path) -> None:
    """A link stays a link, an old file keeps who may read it, and what is not a file is written to as it is."""
    book = small_book()
    kept = tmp_path / "kept.json"
    book.write(kept)
    kept.chmod(0o640)
    (tmp_path / "link.json").symlink_to(kept)
    small_book(k=1).write(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(kept.read_bytes())["privacy"]["k"] == 1
    if os.name == "posix":
        assert kept.stat().st_mode & 0o777 == 0o640
        book.write(os.devnull)
        assert Path(os.devnull).is_char_device()
    with pytest.raises(vr.FileFormatError, match=r"gone.*check the path"):
        book.write(tmp_path / "gone" / "book.json")


def test_r3_memory_that_the_system_refuses_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python says so by an OSError without a number."""

    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError

    monkeypatch.setattr(sys.modules["veilroute.cli.main"], "find_app", refuse)
    assert run(["plan"]) == 2
    said = capsys.readouterr().err
    assert "out of memory" in said and "None" not in said


KERNEL = """
from veilroute.kernels.jit import jit

@jit
def twice(x):
    return 2 * x

print(twice(4), *twice.stats.cache_hits.values())
"""


@posix
@pytest.mark.parametrize("fault", ["", "file", "folder"])
def test_f8_kernels_that_others_could_have_written_are_not_run(tmp_path: Path, fault: str) -> None:
    chosen, script = tmp_path / "chosen", tmp_path / "script.py"
    script.write_text(KERNEL)

    def call() -> str:
        done = subprocess.run(
            [sys.executable, script], env={**os.environ, "NUMBA_CACHE_DIR": str(chosen)}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert call() == "8"
    (found,) = chosen.rglob("*.nbc")
    assert not found.stat().st_mode & 0o022
    if fault:
        was_run = tmp_path / "was-run"
        harmful = pickle.dumps(Harmful(str(was_run)))
        found.write_bytes(found.read_bytes()[:32] + harmful)
        (found if fault == "file" else found.parent).chmod(0o777)
        if fault == "folder" and os.geteuid() == 0:
            os.chown(found.parent, 65534, 65534)
        elif fault == "folder":
            pytest.skip("only root can give a folder away; one of our own is closed to others instead")
        assert call() == "8"
        assert not was_run.exists()
    else:
        assert call() == "8 1"


class Harmful:
    """What makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (open, (self.path, "w"))


FORMS = {"script": ["-c", "import sys; sys.argv[0] = 'veilroute'; from veilroute_start import main; main()"]}
FORMS["module"] = ["-m", "veilroute"]
"""How the program can be started."""
SPY = """
import sys

class Spy:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("veilroute."):
            import ctypes, os, resource
            is_dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) if sys.platform == "linux" else 0
            print(*resource.getrlimit(resource.RLIMIT_CORE), is_dumpable, flush=True)
            os._exit(0)

sys.meta_path.insert(0, Spy())
"""


@posix
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("words", ["route --transit 4,8", "fleet --orders -", "plan --transit 4,8"])
def test_f12_no_core_dump_while_a_secret_is_in_memory(tmp_path: Path, form: str, words: str) -> None:
    """It is forbidden before the first module of the package is imported: the secret may be among what was typed."""
    (tmp_path / "sitecustomize.py").write_text(SPY)
    found = os.pathsep.join([str(tmp_path), *sys.path])
    env = {**os.environ, "PYTHONPATH": found}
    said = [
        subprocess.run(
            [sys.executable, *FORMS[form], *typed.split()], env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, cwd=tmp_path, preexec_fn=allow_core_dumps,
        ).stdout.split()
        for typed in (words, "audit book.json")
    ]  # fmt: skip
    assert said[0] == ["0", "0", "0"]
    assert said[1][1:] != ["0", "0"], "the control: for other commands nothing is forbidden"


def allow_core_dumps() -> None:
    """What a child runs first."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def heed_ctrl_c() -> None:
    """What a child runs first: under nohup, or in the background of a shell, it would ignore Ctrl-C."""
    import signal

    signal.signal(signal.SIGINT, signal.default_int_handler)


@posix
@pytest.mark.parametrize("form", FORMS)
def test_ctrl_c_while_python_imports_ends_with_one_line(form: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-X", "importtime", *FORMS[form], "demo"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    assert running.stderr is not None
    for line in running.stderr:
        if "veilroute.base.errors" in line:
            break
    running.send_signal(2)
    said = [line for line in running.stderr.read().splitlines() if not line.startswith("import time:")]
    running.wait()
    running.stderr.close()
    assert said == ["veilroute: interrupted"]
    assert running.returncode == 130


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no file system below /dev")
def test_r2_files_below_dev_are_files_like_others() -> None:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        out = folder / "book.json"
        small_book().write(out)
        before = out.read_bytes()
        script = "import sys, veilroute as vr; vr.read_playbook(sys.argv[1]).write(sys.argv[1])"
        done = child(out, script=script, preexec_fn=limited(600))
        assert "what was there before is unchanged" in done.stderr
        assert out.read_bytes() == before
        assert [path.name for path in folder.iterdir()] == ["book.json"]
    finally:
        shutil.rmtree(folder)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the open files of a process are not listed in /proc")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_r2_open_files_are_written_to_as_they_are(tmp_path: Path, name: str) -> None:
    """Also if they are files with a name: others hold them open, too."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    small_book().write(tmp_path / "book.json")
    script = "import sys, veilroute as vr; vr.read_playbook('book.json').write(sys.argv[1])"
    with (tmp_path / "said").open("wb+") as said:
        subprocess.run([sys.executable, "-c", script, name], cwd=tmp_path, stdout=said, check=True)
        assert said.read() == (tmp_path / "book.json").read_bytes()


NO_LINKS = """
import errno, os, sys

def refuse(*_given, **_options):
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

os.link = refuse
if sys.argv.pop(1) == "named":
    os.__dict__.pop("O_TMPFILE", None)
"""


@posix
@pytest.mark.parametrize("kind", ["nameless", "named"])
def test_r2_file_systems_without_hard_links(tmp_path: Path, kind: str) -> None:
    """As on vfat and exFAT: new files, new keys and ledgers, which never overwrite one, and files that are replaced."""
    script = NO_LINKS + START
    small_book().write(tmp_path / "book.json")
    for words in ("key new my.key", "ledger new my.jsonl"):
        out = tmp_path / words.split()[-1]
        done = child(kind, *words.split(), script=script, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        before = out.read_bytes()
        done = child(kind, *words.split(), script=script, cwd=tmp_path)
        assert done.returncode == 2 and "is there already" in done.stderr
        assert out.read_bytes() == before
    assert vr.read_key(tmp_path / "my.key")
    (tmp_path / "out.html").write_text("old")
    done = child(kind, "draw", "book.json", "-o", "out.html", script=script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "<html" in (tmp_path / "out.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.json", "my.jsonl", "my.key", "out.html"]


@posix
@pytest.mark.parametrize("kind", ["nameless", "named"])
def test_r2_a_private_file_stays_private_and_its_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    out = tmp_path / "book.json"
    small_book().write(out)
    out.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(out, 65534, 65534)
    owner = (out.stat().st_uid, out.stat().st_gid)
    sizes: list[int] = []
    modes: list[int] = []
    real = os.fchmod

    def note(handle: int, mode: int) -> None:
        sizes.append(os.fstat(handle).st_size)
        modes.append(os.fstat(handle).st_mode & 0o777)
        real(handle, mode)

    monkeypatch.setattr(os, "fchmod", note)
    small_book(k=1).write(out)
    assert (sizes, modes) == ([0], [0o600]), "nobody else can read it before its mode is that of the old file"
    assert out.stat().st_mode & 0o777 == 0o600
    assert (out.stat().st_uid, out.stat().st_gid) == owner


@posix
@pytest.mark.parametrize(("mode", "expected"), [(0o660, 0o600), (0o664, 0o644), (0o604, 0o604)])
def test_r2_another_group_can_do_no_more_than_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, expected: int
) -> None:
    """If the group of a file cannot be kept, its permissions are not given to ours."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to a group that it is not in")

    def refuse(*_given: object) -> None:
        raise PermissionError

    out = tmp_path / "book.json"
    small_book().write(out)
    os.chown(out, -1, 65534)
    out.chmod(mode)
    monkeypatch.setattr(os, "fchown", refuse)
    small_book(k=1).write(out)
    assert out.stat().st_mode & 0o777 == expected


KILLED = """
import os, sys
at, num = os.path.realpath(sys.argv.pop(1)), 0

def watch(event, given):
    global num
    if event == "os.rename" and os.path.dirname(os.path.realpath(given[1])) == at:
        num += 1
        if num == WHEN:
            os.kill(os.getpid(), 9)

sys.addaudithook(watch)
"""


@posix
@pytest.mark.parametrize("when", [1, *(pytest.param(when, marks=pytest.mark.slow) for when in (2, 3))])
def test_r2_a_killed_fleet_loses_no_file_and_the_next_run_tidies_up(tmp_path: Path, when: int) -> None:
    pytest.importorskip("pyvrp")
    small_book().write(tmp_path / "book.json")
    folder = tmp_path / "day"

    def call(script: str, *more: str, seed: str) -> int:
        return child(*more, *FLEET, "--seed", seed, script=script + START, cwd=tmp_path).returncode

    assert call("", seed="1") == 0
    new = contents_of(folder)
    assert call("", seed="2") == 0
    (folder / "vehicle-7.txt").write_text("of a day with more vehicles")
    (folder / ".veilroute-day-mine").mkdir()  # not a name of ours
    old = contents_of(folder)
    assert set(new) == {"day.json", "day.png", "report.pdf"}
    assert new["day.json"] != old["day.json"]
    assert call(KILLED.replace("WHEN", str(when)), str(folder), seed="1") == -9
    found = contents_of(folder)
    (left,) = set(found) - set(old)
    assert left.startswith(".veilroute-day-")
    moved = ["day.json", "day.png", "report.pdf"][: when - 1]
    assert {name: found[name] for name in old} == {**old, **{name: new[name] for name in moved}}
    audited = child("audit", "book.json", "--day", "day", "--reruns", "1", cwd=tmp_path)
    assert audited.returncode == 1
    assert "VIOLATED  same-files" in audited.stdout
    assert call("", seed="1") == 0
    assert contents_of(folder) == {**new, ".veilroute-day-mine": None}


def test_serve_says_why_a_file_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    (tmp_path / "random.map").write_bytes(bytes(range(128, 256)))
    (tmp_path / "my.key").write_text("veilroute-key/1\n")
    for name, reason in (("random.map", "the content is not a Moving AI map; choose"), ("my.key", "a private key")):
        done = child("serve", name, "--data", "data", "--port", "0", cwd=tmp_path, timeout=120)
        assert done.returncode == 2
        assert done.stderr.startswith(f"veilroute: {name}: ") and reason in done.stderr
