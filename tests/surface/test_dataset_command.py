"""`veilroute bench export` and `veilroute bench verify` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import Command, assert_refused

SMALL = ("--map", "rooms-2", "--pairs", "1", "--candidates", "8")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VEILROUTE_CACHE", str(tmp_path / "cache"))


def test_a_data_set_is_exported_verified_and_ranked(command: Command) -> None:
    done = command("bench", "export", "set", *SMALL)
    assert done.code == 0 and "2 instances in set, 2 with a proved optimum" in done.out, done.err
    # Plan with another method, hand in what `plan --json` prints, and hand in something broken.
    mine, broken = Path("set/submissions/mine"), Path("set/submissions/broken")
    for folder in (mine, broken):
        folder.mkdir(parents=True)
    for path in sorted(Path("set/instances").glob("*.json")):
        (mine / path.name).write_text(command("plan", path, "--json").out, encoding="ascii")
        (broken / path.name).write_text(json.dumps({"classes": [{}]}), encoding="ascii")
    done = command("bench", "verify", "set")
    assert done.code == 1 and done.out.index("mine") < done.out.index("broken")
    assert "Refused: broken/rooms-2-1-8-partition: classes[0]: expected an object with members and route" in done.out
    printed = json.loads(command("bench", "verify", "set", mine, "--optima", "--json").out)
    assert [(one["submission"], one["num_optimal"]) for one in printed["ranking"]] == [("mine", 2), ("optima", 2)]
    # The older name writes the same, and the archive stands for the folder.
    again = json.loads(command("bench", "instances", "export", "again", *SMALL, "--json").out)
    assert Path(again["archive"]).read_bytes() == Path("set-1.0.0+generated.zip").read_bytes()
    done = command("bench", "verify", again["archive"], mine, broken, "--page", "page.html")
    assert done.code == 1 and "expected an object with members" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verify", "nothing"), ("nothing", "there is nothing of this name")),
        (("verify", ".", "nowhere"), ("FOLDER",)),
        (("verify", ".", "--page", "no/page.html"), ("--page",)),
        (("instances", "export", "set", "--candidates", "1"), ("--candidates",)),
    ],
)
def test_what_is_no_data_set_is_refused(command: Command, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    assert_refused(command("bench", *words), *said)


def test_the_papers_instances_have_the_papers_optima(command: Command, shared: Path) -> None:
    asked = ("--maps", shared / "maps", "--map", "den101d", "--pairs", "1", "--candidates", "8,12", "--json")
    done = command("bench", "instances", "export", "set", *asked)
    assert done.code == 0, done.err
    assert json.loads(done.out)["is_generated"] is False
    entries = json.loads(Path("set/dataset.json").read_bytes())["entries"]
    rows = [json.loads(line) for line in (shared / "instances" / "paper.jsonl").read_text().splitlines()]
    for entry in (entry for entry in entries if entry["mechanism"] == "partition"):
        (row,) = (
            row for row in rows
            if (row["map"], row["seed"], row["num_candidates"]) == ("dao/den101d.map", 1, entry["num_candidates"])
        )  # fmt: skip
        known = next(o["mac"] for o in row["optimum"] if (o["k"], o["ell"], o["radius"], o["m"]) == (2, 1, 0, None))
        assert entry["mac"] == pytest.approx(known, abs=1e-8)
