"""Equal inputs, equal bytes: what programs read of what the golden commands write is what it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import veilroute as vr
from golden.differences import differing, everywhere
from golden.runs import DROPPED, INPUTS, Runs, digest_all, playbooks, read_commands, read_digests, unused_rules
from veilroute.auditing import checker

pytest.importorskip("osmium")
pytest.importorskip("pyvrp")
NAMES = (INPUTS, *read_commands())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("name", NAMES)
def test_a_command_writes_what_it_wrote(runs: Runs, name: str) -> None:
    runs.run(name)
    expected = read_digests().get(name, {})
    files = differing({name: expected}, digest_all(runs.root, [name])).get(name, [])
    assert not files, (
        f"{name}: {', '.join(files)} no longer what tests/golden/digests.txt holds. What has changed is shown by\n"
        f"    make golden COMMANDS={name}\nand if it was meant to, is held by\n    make golden-update"
    )


@pytest.mark.parametrize("name", NAMES)
def test_auditor_and_checker_find_nothing_wrong(runs: Runs, name: str) -> None:
    runs.run(name)
    for path in playbooks(runs.root / name):
        data = json.loads(path.read_bytes())
        if "domain" in data:
            assert [line for line in checker.check(data) if line[1] == "BROKEN"] == []
            assert vr.audit(vr.read_playbook(path)).holds


def test_nothing_else_is_held() -> None:
    assert set(read_digests()) == set(NAMES)


@pytest.mark.slow
def test_every_field_that_is_left_out_is_somewhere(runs: Runs) -> None:
    root = runs.run_all()
    assert not unused_rules(root, NAMES)
    assert len(DROPPED) < len(list(playbooks(root)))


@pytest.mark.slow
def test_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """Under other hash seeds, locales, time zones and numbers of workers, and in another order."""
    rows = everywhere(list(NAMES), tmp_path)
    assert {title: differ for title, _, differ in rows if differ} == {}
