"""The worker of the studio: which commands it runs for a plan, and what can be seen of their results meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from veilroute.cli import Attempt, Interrupts
from veilroute.studio import Store, make_work

SET = ("plan.json", "playbook.json", "scene.json")


class Plan:
    """A plan job whose commands are played: each writes its name and the number of its plan."""

    def __init__(self, store: Store, *statuses: str) -> None:
        self.store = store
        self.store.add_job("plan", {"source": "0" * 16}, None, 10)
        job = self.store.claim()
        assert job is not None
        self.job, self.statuses = job, statuses
        self.folder = self.store.attempt_folder(job.id, 1)
        for name in ("results", "first", "last", "scenes"):
            (self.folder / name).mkdir(parents=True)
        self.told: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []
        self.commands: list[str] = []
        self.interrupts = Interrupts()
        self.play: dict[str, Callable[[], int]] = {}

    def results(self) -> dict[str, str]:
        """What a client would get now."""
        found = {name: self.store.result_path(self.job, name) for name in self.store.results_of(self.job)}
        return {name: path.read_text() for name, path in found.items() if path is not None}

    def _run(self, argv: list[str]) -> int:
        self.seen.append(self.results())
        self.commands.append(argv[0])
        where = next((word.split("/")[0] for word in argv if "/" in word), "")
        number = {"first": 1, "last": 2}[where]
        name = f"{argv[0]} {number}"
        if name in self.play:
            return self.play[name]()
        if "-o" in argv:
            Path(argv[argv.index("-o") + 1]).write_text(f"{number}")
        if argv[0] == "plan":
            print(json.dumps({"status": self.statuses[number - 1], "num_anonymized": 4, "number": number}))
        if "--json" in argv and argv[0] != "plan":
            print(number)
        return 0

    def run(self, **params: Any) -> dict[str, Any]:
        """Run it; the report of its end."""
        steps = make_work("plan", {"source": "0" * 16, **params}, lambda _: ".map", 60.0).steps
        message = {"job": self.job.id, "attempt": 1, "folder": str(self.folder), "checked": [], "has_more": False}
        message["steps"] = [step.to_dict() for step in steps]

        def tell(event: str, **values: Any) -> None:
            self.told.append({"event": event, **values})

        Attempt(message, tell, self.interrupts, self._run).run()
        return self.told[-1]

    @property
    def numbers(self) -> set[str]:
        """Of which plans the results are."""
        return numbers_in(self.results())


def numbers_in(results: dict[str, str]) -> set[str]:
    texts = [text.strip() for text in results.values()]
    return {text if text in "12" else str(json.loads(text)["number"]) for text in texts}


@pytest.fixture
def plan_job(tmp_path: Path) -> Iterator[Callable[..., Plan]]:
    with ExitStack() as stack:
        yield lambda *statuses: Plan(stack.enter_context(Store(tmp_path / "-".join(statuses))), *statuses)


def assert_of_one_plan(results: dict[str, str]) -> None:
    """Every result that is there is of the same plan, and no plan is there without its routes."""
    assert not results or set(SET) <= set(results)
    assert len(numbers_in(results)) <= 1


ALL = ["plan", "scene", "plan", "scene", "audit", "risk"]


@pytest.mark.parametrize(
    ("statuses", "fails", "state", "number", "commands"),
    [
        (("feasible", "optimal"), {}, "done", "2", ALL),
        (("feasible", "feasible"), {}, "done", "2", ALL),
        (("optimal", "optimal"), {}, "done", "1", ["plan", "scene", "audit", "risk"]),  # not planned again
        (("feasible", "optimal"), {"scene 2": 2}, "failed", "1", ALL[:4]),
        (("feasible", "optimal"), {"plan 2": 130}, "cancelled", "1", ["plan", "scene", "plan", "audit", "risk"]),
    ],
)
def test_all_results_are_of_one_plan_at_any_time(
    plan_job: Callable[..., Plan], statuses: tuple[str, ...], fails: dict[str, int], state: str, number: str,
    commands: list[str],
) -> None:  # fmt: skip
    job = plan_job(*statuses)
    job.play = {name: partial(int, code) for name, code in fails.items()}
    assert job.run()["state"] == state
    assert (job.commands, job.numbers) == (commands, {number})
    for results in [*job.seen, job.results()]:
        assert_of_one_plan(results)
    assert set(job.results()) == {*SET, *(["audit.json", "risk.json"] if state != "failed" else [])}
    finals = [each["is_final"] for each in job.told if each.get("name") == "scene.json"]
    if state == "done":
        assert finals == [False] * (number == "2") + [True]


def test_cancelled_between_a_plan_and_its_picture_keeps_both(plan_job: Callable[..., Plan]) -> None:
    job = plan_job("feasible", "optimal")

    def plan_and_be_interrupted() -> int:
        Path("last/playbook.json").write_text("2")
        print(json.dumps({"status": "feasible", "num_anonymized": 4, "number": 2}))
        job.interrupts.is_wanted = True  # the signal comes when the command has just ended
        return 0

    job.play["plan 2"] = plan_and_be_interrupted
    assert job.run()["state"] == "cancelled"
    assert set(SET) <= set(job.results())
    assert job.numbers == {"2"}


def test_a_finished_job_keeps_one_folder_of_results(plan_job: Callable[..., Plan]) -> None:
    job = plan_job("feasible", "optimal")
    job.run()
    before = job.results()
    finished = job.store.finish(job.job, "done")
    assert finished is not None
    job.store.clean_attempts(finished)
    job.job = finished
    assert job.results() == before
    assert [path.name for path in job.folder.iterdir()] == ["results"]
    assert len(list((job.folder / "results").iterdir())) == 1


def test_results_of_an_earlier_version_are_found(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        store.add_job("plan", {}, None, 10)
        job = store.claim()
        assert job is not None
        folder = store.attempt_folder(job.id, 1) / "results"
        folder.mkdir(parents=True)
        (folder / "2-a.json").write_text("{}")
        assert store.results_of(job) == ("2-a.json",)
        assert store.result_path(job, "2-a.json") == folder / "2-a.json"
        finished = store.finish(job, "done")
        assert finished is not None
        store.clean_attempts(finished)
        assert store.result_path(finished, "2-a.json") == folder / "2-a.json"
