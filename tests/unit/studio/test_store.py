"""The studio's store: states change once, and what is finished stays finished."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from veilroute.studio import InUseError, Job, Limits, Store, Supervisor


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "data") as made:
        yield made


def add(store: Store) -> Job:
    job = store.add_job("risk", {"playbook": "x"}, None, 10)
    assert job is not None
    return job


def claim(store: Store) -> Job:
    job = store.claim()
    assert job is not None
    return job


def finish(store: Store, job: Job, state: str = "done") -> Job:
    done = store.finish(job, state)
    assert done is not None
    return done


class TestJobs:
    def test_the_first_that_came_is_taken_first_and_once(self, store: Store) -> None:
        first, second = add(store), add(store)
        taken = [store.claim(), store.claim(), store.claim()]
        assert [None if job is None else job.id for job in taken] == [first.id, second.id, None]
        assert all(job is None or job.state == "running" for job in taken)

    def test_who_comes_from_an_earlier_attempt_changes_nothing(self, store: Store) -> None:
        add(store)
        stale = claim(store)
        assert store.requeue_interrupted() == 1
        again = claim(store)
        assert again.attempt == 2
        assert store.finish(stale, "done") is None
        assert store.finish(again, "done") is not None
        assert store.requeue_interrupted() == 0

    def test_a_full_queue_takes_nothing_but_known_keys(self, store: Store) -> None:
        assert store.add_job("risk", {}, "a", 1) is not None
        assert store.add_job("risk", {}, "b", 1) is None
        assert store.add_job("risk", {}, "a", 1) is not None

    def test_results_are_files_of_the_attempt_and_nothing_else(self, store: Store, tmp_path: Path) -> None:
        add(store)
        job = claim(store)
        folder = store.attempt_folder(job.id, job.attempt) / "results"
        folder.mkdir(parents=True)
        (folder / "plan.json").write_text("{}")
        (tmp_path / "private").write_text("x")
        (folder / "sly.json").symlink_to(tmp_path / "private")
        assert store.result_path(job, "plan.json") == folder / "plan.json"
        assert store.result_path(job, "sly.json") is None
        assert store.result_path(job, "../results/plan.json") is None

    def test_what_runs_is_not_removed(self, store: Store) -> None:
        add(store)
        job = claim(store)
        assert not store.remove_job(job)
        done = finish(store, job)
        assert not store.remove_job(job), "it has changed since"
        assert store.remove_job(done)
        assert store.job(job.id) is None


def test_a_key_means_the_results_that_a_job_has_now(store: Store) -> None:
    async def ask() -> None:
        jobs = Supervisor(store, Limits(), ["nobody"], logging.getLogger("jobs"))

        def end(state: str) -> Job:
            """Finish a plan with a playbook."""
            job = claim(store)
            results = store.attempt_folder(job.id, job.attempt) / "results"
            results.mkdir(parents=True)
            (results / "playbook.json").write_text(f"{job.attempt}")
            return finish(store, job, state)

        def audit(id_: str) -> str:
            job = jobs.submit("audit", {"playbook": f"{id_}/playbook.json"}, "audit")
            assert job is not None
            return job.id

        assert store.add_job("plan", {"source": "0" * 16}, None, 10) is not None
        plan = end("cancelled")
        first = audit(plan.id)
        assert audit(plan.id) == first
        assert jobs.resume(plan) is not None
        end("done")
        # The same name, and another playbook behind it: what was found of the one before says nothing about it.
        assert first != audit(plan.id) == audit(plan.id)

    asyncio.run(ask())


class TestFolder:
    def test_it_is_for_one_server(self, store: Store) -> None:
        with pytest.raises(InUseError, match="another"):
            Store(store.folder)

    def test_a_folder_of_somebody_else_is_not_used(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
        with pytest.raises(InUseError, match="another user"):
            Store(tmp_path)

    def test_what_was_half_sent_is_gone_after_a_restart(self, tmp_path: Path) -> None:
        with Store(tmp_path / "data") as store:
            (store.folder / "incoming" / "half").write_bytes(b"abc")
            (store.folder / "files" / "0123").write_bytes(b"nobody knows it")
            (store.folder / "jobs" / "0123" / "1").mkdir(parents=True)
        with Store(tmp_path / "data") as store:
            for name in ("incoming", "files", "jobs"):
                assert not list((store.folder / name).iterdir())
