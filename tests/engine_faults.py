"""Faults planted in the engine, one at a time, for the harness to find (tests/harness.py).

``python tests/engine_faults.py`` plants each of them and prints after how many problems it was found, or that it was
not. Names of files choose some: ``python tests/engine_faults.py kernels/ rules.py``. Nothing is written to the sources:
a fault is in what one process imports.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

MOST_PROBLEMS = 200  #: that a fault may stay unseen for
FAULTS = """
partition/bitmask.py: enumerate(task.weights): => enumerate(task.weights[:1]):
partition/class_space.py: qualifies[kept] & is_there & (reduced => is_there & (reduced
partition/master.py: np.sort(duals)[:num_grouped].sum() => duals.sum()
partition/weighed_space.py: chosen[space.rule.qualify(grown.sets[chosen])] => chosen
kernels/branching.py: grouped > 0 and cost * num >= ( => grouped > 0 and cost * num <= (
kernels/extension.py: bound = offset + rest[x] => bound = offset - rest[x]
kernels/floors.py: for _ in range(k - 1): => for _ in range(k):
kernels/regroup.py: size >= k and (not is_loose or has_clique(far, mask, k)) => size >= k
kernels/regroup.py: levels[OUTSIDE, depth] = away => pass
kernels/set_partition.py: and value < best_cost): => and value > best_cost):
kernels/strolls.py: value = values[i, mask] + rate * to_goal => value = values[i, mask] + 2 * rate * to_goal
kernels/subsets.py: row = previous[smaller[i]] => row = previous[smaller[0]]
kernels/weighing.py: missing -= masses[members[i]] => missing -= 0.0
covering/prefixes.py: % 2 == (m - 1) % 2 => % 2 == m % 2
covering/states.py: kept &= (came < 0) | ~np.isin => kept |= (came < 0) | ~np.isin
covering/task.py: is_close = row < limit => is_close = row <= limit
planners/pbp.py: completions.complete(walk[:m], member => completions.complete(walk[: max(1, m - 1)], member
planners/randomised.py: shares[Member(i % num)] += amount => shares[Member(i % num)] += 2 * amount
planners/rbp.py: num_nodes >= m, watch) => num_nodes >= m - 1, watch)
planners/reuse.py: for members in left if rule.qualifies(members) => for members in left if members
areas.py: if area & (area - 1): => if area.bit_count() > 2:
rules.py: limit = self.beta * total * (1 + ROUNDING) => limit = self.beta * total * 1.1
rules.py: is_class[rows] = self.own.hides( => is_class[rows] |= self.own.hides(
""".strip().split("\n")
"""Where a fault is planted, the text that it takes the place of, and the fault."""


class _Planted(SourceFileLoader):
    """Loads a module with another text, and keeps no compiled file of it."""

    def __init__(self, spec: ModuleSpec, before: str, after: str) -> None:
        super().__init__(spec.name, str(spec.origin))
        text = Path(str(spec.origin)).read_text(encoding="utf-8")
        if text.count(before) != 1:
            raise SystemExit(f"{spec.name}: {before!r} is there {text.count(before)} times")
        self._text = text.replace(before, after)

    def get_code(self, fullname: str) -> CodeType:
        """The module's code."""
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Gardener(MetaPathFinder):
    """Finds the one module in which a fault is planted."""

    def __init__(self, fault: str) -> None:
        file, change = fault.split(": ", 1)
        self._name = "veilroute." + file.removesuffix(".py").replace("/", ".")
        self._before, self._after = change.split(" => ")

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """The module's place, with a loader that changes its text."""
        spec = PathFinder.find_spec(fullname, path) if fullname == self._name else None
        if spec is not None:
            spec.loader = _Planted(spec, self._before, self._after)
        return spec


def search(fault: str) -> tuple[int, list[str]]:
    """How many problems it took until a planted fault was found, 0 if it was not; and what the harness printed."""
    # A kernel with a fault would have to be compiled, with all that call it. Not counted: what is run is not the text.
    where = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    where |= {"NUMBA_DISABLE_JIT": "1"} if fault.startswith("kernels/") else {}
    command = [sys.executable, __file__, "--plant", fault]
    found = subprocess.run(command, env=where, capture_output=True, text=True, check=False)
    lines = [*found.stdout.splitlines(), *found.stderr.splitlines()]
    told = next((line for line in lines if " problems, " in line), "")
    if not told:
        raise RuntimeError("\n".join(lines))
    return (int(told.split()[0]) if told.endswith(" 1 differ") else 0), lines


def main(given: Sequence[str]) -> int:
    """Plant the faults in some files, or one in this very process."""
    if given[:1] == ["--plant"]:
        sys.meta_path.insert(0, _Gardener(given[1]))
        import harness

        sys.argv[1:] = [str(MOST_PROBLEMS), "--most", "1", "--as-drawn"]
        return harness.main()
    missed = 0
    for fault in FAULTS:
        if given and not fault.startswith(tuple(given)):
            continue
        num, lines = search(fault)
        missed += num == 0
        what = next((line.strip() for line in lines if line.startswith("  ") and ": " in line[2:].lstrip()), "")
        print(f"{num or 'NOT FOUND':>9}  {fault}\n{'':11}{what[:110]}" if num else f"NOT FOUND  {fault}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
