"""The worker of the studio: what it makes for a plan, and what can be seen of its results meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from veilroute import InvalidInputError
from veilroute.app.requests import MethodSpec, PlanRequest, SceneRequest
from veilroute.base.errors import FileFormatError, ManyProblemsError
from veilroute.base.run import Progress, Run
from veilroute.studio import Attempt, Hall, Interrupts, Store, plain

SET = ("plan.json", "playbook.json", "scene.json")


class Plan:
    """A plan job whose functions of ``app`` are played: each gives the number of its plan."""

    def __init__(self, store: Store, *statuses: str) -> None:
        self.store = store
        self.store.add_job("plan", {"source": "0" * 16}, None, 10)
        job = self.store.claim()
        assert job is not None
        self.job, self.statuses = job, statuses
        self.folder = self.store.attempt_folder(job.id, 1)
        (self.folder / "results").mkdir(parents=True)
        self.told: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []
        self.calls: list[str] = []
        self.interrupts = Interrupts()
        self.play: dict[str, Callable[[Plan], object]] = {}
        self.requests: list[PlanRequest] = []

    def results(self) -> dict[str, str]:
        """What a client would get now."""
        found = {name: self.store.result_path(self.job, name) for name in self.store.results_of(self.job)}
        return {name: path.read_text() for name, path in found.items() if path is not None}

    def _call(self, what: str) -> int:
        self.seen.append(self.results())
        self.calls.append(what)
        number = len(self.requests)
        if play := self.play.get(f"{what} {number}"):
            play(self)
        return number

    def plan(self, request: PlanRequest, run: Run) -> object:
        self.requests.append(request)
        run.progress(Progress("searching"))
        number = self._call("plan")
        status = self.statuses[number - 1]
        data = {"status": status, "num_anonymized": 4, "number": number}
        book = SimpleNamespace(
            status=status, claims=SimpleNamespace(num_anonymized=4), write=lambda path: path.write_text(f"{number}")
        )
        return SimpleNamespace(playbook=book, is_stopped=run.should_stop(), to_dict=lambda: data)

    def scene(self, request: SceneRequest, _run: Run) -> dict[str, Any]:
        assert request.file.read_text() == str(len(self.requests))
        return {"number": self._call("scene")}

    def data(self, what: str) -> Callable[[Any, Run], object]:
        def find(request: Any, _run: Run) -> object:
            self._call(what)
            (book,) = getattr(request, "playbooks", None) or (request.playbook,)
            return SimpleNamespace(to_dict=lambda: {"number": int(book.read_text())})

        return find

    def run(self, **method: Any) -> dict[str, Any]:
        """Run it; the report of its end."""
        request = plain(PlanRequest(method=MethodSpec(**({"time_limit": "60"} | method))))
        message = {"job": self.job.id, "attempt": 1, "folder": str(self.folder), "kind": "plan", "request": request}

        def tell(event: str, **values: Any) -> None:
            self.told.append({"event": event, **values})

        hall = Hall(self.plan, self.scene, self.data("audit"), self.data("risk"))
        Attempt({**message, "checked": []}, tell, self.interrupts, hall).run()
        return self.told[-1]

    def interrupt(self) -> None:
        """What a signal does."""
        self.interrupts.handle(2, None)

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


def fail(_: Plan) -> object:
    raise InvalidInputError("start", "a place")


def interrupt(job: Plan) -> None:
    job.interrupt()


def interrupt_twice(job: Plan) -> None:
    job.interrupt()
    job.interrupt()


ALL = ["plan", "scene", "plan", "scene", "audit", "risk"]


@pytest.mark.parametrize(
    ("statuses", "play", "state", "number", "calls"),
    [
        (("feasible", "optimal"), {}, "done", "2", ALL),
        (("feasible", "feasible"), {}, "done", "2", ALL),
        (("optimal", "optimal"), {}, "done", "1", ["plan", "scene", "audit", "risk"]),  # not planned again
        (("feasible", "optimal"), {"scene 2": fail}, "failed", "1", ALL[:4]),
        (
            ("feasible", "optimal"),
            {"plan 2": interrupt_twice},
            "cancelled",
            "1",
            ["plan", "scene", "plan", "audit", "risk"],
        ),
    ],
)
def test_all_results_are_of_one_plan_at_any_time(
    plan_job: Callable[..., Plan], statuses: tuple[str, ...], play: dict[str, Callable[[Plan], object]], state: str,
    number: str, calls: list[str],
) -> None:  # fmt: skip
    job = plan_job(*statuses)
    job.play = play
    assert job.run()["state"] == state
    assert (job.calls, job.numbers) == (calls, {number})
    for results in [*job.seen, job.results()]:
        assert_of_one_plan(results)
    assert set(job.results()) == {*SET, *(["audit.json", "risk.json"] if state != "failed" else [])}
    finals = [each["is_final"] for each in job.told if each.get("name") == "scene.json"]
    if state == "done":
        assert finals == [False] * (number == "2") + [True]


def test_a_long_plan_is_shown_early(plan_job: Callable[..., Plan]) -> None:
    job = plan_job("feasible", "optimal")
    job.run()
    assert [each.method.time_limit for each in job.requests] == ["2", "60"]
    short = plan_job("feasible", "feasible")
    short.run(time_limit="2")
    assert [each.method.time_limit for each in short.requests] == ["2"]
    # Detours are planned also when the first plan is proved.
    more = plan_job("optimal", "optimal")
    more.run(contingencies="worst 3")
    assert [each.method.contingencies for each in more.requests] == [None, "worst 3"]
    assert [each["is_final"] for each in more.told if each.get("name") == "scene.json"] == [False, True]


def test_a_cancelled_search_keeps_its_best_with_a_picture_and_an_audit(plan_job: Callable[..., Plan]) -> None:
    job = plan_job("feasible", "feasible")
    job.play["plan 2"] = interrupt  # the search looks whether it should stop, and ends
    assert (job.run()["state"], job.told[-1]["exit_code"]) == ("cancelled", 130)
    assert (job.calls, job.numbers) == (ALL, {"2"})


def test_cancelled_between_a_plan_and_its_picture_keeps_both(plan_job: Callable[..., Plan]) -> None:
    job = plan_job("feasible", "optimal")
    job.play["scene 2"] = interrupt
    assert job.run()["state"] == "cancelled"
    assert set(SET) <= set(job.results())
    assert job.numbers == {"2"}


def test_a_second_signal_is_not_waited_for(plan_job: Callable[..., Plan]) -> None:
    job = plan_job("feasible", "optimal")
    job.play["plan 1"] = interrupt_twice
    assert job.run()["state"] == "cancelled"
    assert not job.results()


def test_what_is_wrong_is_data(plan_job: Callable[..., Plan]) -> None:
    job = plan_job("optimal")

    def fail_twice(_: Plan) -> object:
        rows = [
            FileFormatError("places.csv", "no such place", 3),
            InvalidInputError("places.csv, line 9", "a cell", "x"),
        ]
        raise ManyProblemsError(rows)

    job.play["plan 1"] = fail_twice
    end = job.run()
    assert (end["state"], end["exit_code"]) == ("failed", 2)
    assert end["error"] == "2 problems; the first: places.csv, line 3: no such place"
    assert [(one["file"], one["row"], one["what"]) for one in end["problems"]] == [
        ("places.csv", 3, "no such place"),
        ("places.csv", 9, "expected a cell, got 'x'"),
    ]


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
