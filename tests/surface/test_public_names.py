"""The public surface: names of the contract, and an import that stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

import veilroute as vr

CONTRACT = {
    "Domain", "Privacy", "Problem", "Trip", "WithinDistance", "audit", "read_movingai", "read_playbook", "solve",
}  # fmt: skip


def test_every_exported_name_exists() -> None:
    for name in vr.__all__:
        assert hasattr(vr, name), name
    assert set(vr.__all__) >= CONTRACT


def test_rooms_that_import_on_demand_have_their_names_and_no_others() -> None:
    from veilroute import bench, covering, streets

    for room in (bench, covering, streets):
        assert all(getattr(room, name) is not None for name in room.__all__)
        with pytest.raises(AttributeError, match=f"module '{room.__name__}' has no attribute 'nothing'"):
            _ = room.nothing
    import veilroute.auditing.verdicts  # noqa: F401

    assert callable(covering.cover) and callable(vr.audit), "the functions, not what has the same name"


def test_importing_veilroute_loads_nothing_heavy() -> None:
    heavy = ("numba", "scipy", "matplotlib", "highspy", "networkx", "osmium", "rich", "typer")
    rooms = "veilroute.bench, veilroute.covering, veilroute.kernels, veilroute.streets"
    script = f"import sys, veilroute, {rooms}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_kernels_work_where_no_cache_can_be_written() -> None:
    script = (
        "import numba.core.caching as c\n"
        "def refuse(*a, **k): raise RuntimeError('cannot cache function: no locator available')\n"
        "c.FunctionCache.__init__ = refuse\n"
        "from veilroute.kernels.subsets import count_bits\n"
        "print(count_bits(7))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "3"
