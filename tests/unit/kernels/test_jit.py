"""Compiled kernels on disk: never older than any kernel, shared by processes, and never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from veilroute.kernels import count_bits, jit

INNER = "from veilroute.kernels.jit import jit\n\nSTEP = {step}\n\n@jit\ndef inner(x):\n    return x + STEP\n"
OUTER = (
    "from veilroute.kernels.inner import inner\n"
    "from veilroute.kernels.jit import jit\n\n\n"
    "@jit\ndef outer(x):\n    return 10 * below(inner(x))\n\n\n"
    "@jit\ndef below(x):\n    return x\n"
)
CALL = "from veilroute.kernels.outer import outer\nprint(outer(1), *outer.stats.cache_hits.values())"


class House:
    """A package with two kernels of its own, one of which calls the other, and our decorator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kernels = folder / "veilroute" / "kernels"
        self.cache = self.kernels / "__pycache__"
        self.num_written = 0
        self.kernels.mkdir(parents=True)
        (folder / "veilroute" / "__init__.py").touch()
        (self.kernels / "__init__.py").touch()
        (self.kernels / "jit.py").write_bytes(Path(jit.__file__).read_bytes())
        (self.kernels / "outer.py").write_text(OUTER)
        self.write(1)

    def write(self, step: int, *, seconds: int | None = None) -> None:
        """Each time with a later date: Python takes two files of one size and one second for the same."""
        path = self.kernels / "inner.py"
        path.write_text(INNER.format(step=step))
        self.num_written += 1
        dated = 1_500_000_000 + self.num_written if seconds is None else seconds
        os.utime(path, (dated, dated))

    def call(self, script: str = CALL, **variables: str) -> str:
        """What a process of its own prints: the result, and how many kernels it found compiled."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**mine, "PYTHONPATH": str(self.folder), **variables},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def entries(self, folder: Path | None = None) -> set[str]:
        return {path.name for path in (folder or self.cache).rglob("*.nb*")}


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house")


def test_a_kernel_follows_the_kernels_that_it_calls(house: House) -> None:
    assert house.call() == "20"
    assert house.call() == "20 1"  # compiled once, for all processes
    first = house.entries()
    house.write(2)
    assert house.call() == "30"
    assert house.call() == "30 1"
    second = house.entries()
    assert len(first) == len(second)
    assert not first & second  # what is old is gone
    house.write(1)
    assert house.call() == "20"


@pytest.mark.parametrize(
    "trouble",
    [  # nowhere to write, nothing to build on, and another way to read entries
        "",
        "kept = c.FunctionCache\ndel c.FunctionCache\nimport veilroute.kernels.jit\nc.FunctionCache = kept",
        "c.FunctionCache.__init__ = lambda self, function: None",
    ],
)
def test_kernels_work_without_a_cache(house: House, trouble: str) -> None:
    variables = {}
    if not trouble:
        house.cache.touch()  # a file, where the directory should be
        variables = dict.fromkeys(("XDG_CACHE_HOME", "HOME", "NUMBA_CACHE_DIR"), str(house.cache))
    assert house.call(f"import numba\nimport numba.core.caching as c\n{trouble}\n{CALL}", **variables) == "20"
    assert not house.entries()


def test_the_time_in_which_a_kernel_is_made_ready_is_counted() -> None:
    for _ in range(2):
        began, before = time.monotonic(), jit.ready_seconds()
        assert jit.specialise(count_bits)(6) == 2
        spent = jit.ready_seconds() - before
        assert spent <= time.monotonic() - began and (spent > 0 or "NUMBA_DISABLE_JIT" in os.environ)


@pytest.mark.slow
def test_damage_is_compiled_again(house: House) -> None:
    assert house.call() == "20"
    for path in house.cache.glob("*.nbc"):
        path.write_bytes(path.read_bytes()[:40])
    assert house.call() == "20"
    assert house.call() == "20 1"


@pytest.mark.slow
def test_processes_that_start_together(house: House) -> None:
    """With kernels that change meanwhile: each gets the result of the kernels that it loaded."""
    with ThreadPoolExecutor(4) as pool:
        first = [pool.submit(house.call) for _ in range(2)]
        assert {done.result().split()[0] for done in first} == {"20"}
        house.write(2)
        second = [pool.submit(house.call) for _ in range(2)]
        assert {done.result().split()[0] for done in second} == {"30"}
    assert house.call() == "30 1"
