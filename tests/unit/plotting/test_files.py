from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

import veilroute as vr
from veilroute import UnknownMethodError
from veilroute.plotting import draw_playbook

MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.fixture
def playbook(two_rooms: vr.Domain) -> vr.Playbook:
    problem = vr.Problem(two_rooms, [vr.Trip((0, 0), (2, 6))], [(0, 2), (2, 2), (0, 4), (2, 4)])
    return vr.solve(problem, vr.Privacy(k=2, ell=2))


@pytest.mark.parametrize("suffix", MAGIC)
def test_equal_playbooks_give_equal_bytes(playbook: vr.Playbook, tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    draw_playbook(playbook, first)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 20, "savefig.bbox": "tight", "svg.fonttype": "none"}):
        draw_playbook(playbook, str(second))
        assert mpl.rcParams["font.size"] == 20
    data = first.read_bytes()
    assert data == second.read_bytes()
    assert data.startswith(MAGIC[suffix])
    assert b"Date" not in data


def test_routes_and_candidates_are_named_in_svg(playbook: vr.Playbook, tmp_path: Path) -> None:
    path = tmp_path / "playbook.svg"
    draw_playbook(playbook, path)
    text = path.read_text()
    for name in ("start", "goal", "walls", "route-1", "candidate-1", "arrows-1"):
        assert f'id="{name}"' in text


def test_suffix_in_capitals(playbook: vr.Playbook, tmp_path: Path) -> None:
    draw_playbook(playbook, tmp_path / "PLAYBOOK.PNG")
    assert (tmp_path / "PLAYBOOK.PNG").read_bytes().startswith(MAGIC[".png"])


def test_size_and_resolution(playbook: vr.Playbook, tmp_path: Path) -> None:
    path = tmp_path / "small.png"
    draw_playbook(playbook, path, size=(6, 4), dpi=50)
    assert struct.unpack(">II", path.read_bytes()[16:24]) == (300, 200)
    draw_playbook(playbook, path, size=(1, 1), dpi=50)
    assert struct.unpack(">II", path.read_bytes()[16:24]) == (50, 50)


@pytest.mark.parametrize("name", ["picture.gif", "picture", "picture.jpeg"])
def test_unknown_format(playbook: vr.Playbook, tmp_path: Path, name: str) -> None:
    with pytest.raises(UnknownMethodError, match=r"picture format: expected one of \.png, \.svg, \.pdf, got"):
        draw_playbook(playbook, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [{"dpi": 0}, {"size": (0, 4)}, {"size": (5,)}, {"size": 7}, {"trip": 1}])
def test_bad_options(playbook: vr.Playbook, tmp_path: Path, options: dict[str, object]) -> None:
    (field,) = options
    with pytest.raises(vr.InvalidInputError, match=f"^{field}"):
        draw_playbook(playbook, tmp_path / "picture.png", **options)  # type: ignore[arg-type]


def test_importing_veilroute_does_not_import_matplotlib() -> None:
    code = "import sys, veilroute, veilroute.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
