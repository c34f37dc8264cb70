"""The queue: whose results a job is about."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from veilroute.studio import Job, Limits, Store, Supervisor


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "data") as made:
        yield made


def finished(store: Store, state: str) -> Job:
    """A plan that has just come to an end, with a playbook."""
    job = store.claim()
    assert job is not None
    results = store.attempt_folder(job.id, job.attempt) / "results"
    results.mkdir(parents=True)
    (results / "playbook.json").write_text(f"{job.attempt}")
    ended = store.finish(job, state)
    assert ended is not None
    return ended


def test_a_key_means_the_results_that_a_job_has_now(store: Store) -> None:
    async def ask() -> None:
        jobs = Supervisor(store, Limits(), ["nobody"], logging.getLogger("jobs"))

        def audit(id_: str) -> Job:
            job = jobs.submit("audit", {"playbook": f"{id_}/playbook.json"}, "audit")
            assert job is not None
            return job

        assert store.add_job("plan", {"source": "0" * 16}, None, 10) is not None
        plan = finished(store, "cancelled")
        first = audit(plan.id)
        assert audit(plan.id).id == first.id
        assert jobs.resume(plan) is not None
        finished(store, "done")
        # The same name, and another playbook behind it: what was found of the one before says nothing about it.
        second = audit(plan.id)
        assert second.id != first.id
        assert audit(plan.id).id == second.id

    asyncio.run(ask())
