"""The secret stays out of messages, logs and reprs."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import veilroute as vr
from commands import Command

SECRET = (30, 17)
TYPED = ("30,17", "(30, 17)", "30 17")


@pytest.fixture
def exposed(building: Path) -> vr.Playbook:
    """A playbook in which the secret is a candidate that could not be anonymized."""
    domain = vr.read_movingai(building)
    problem = vr.Problem(domain, [vr.Trip((1, 18), (32, 60))], [SECRET, (30, 16)])
    return vr.solve(problem, vr.Privacy(k=2, ell=30))


def holds_secret(text: str) -> bool:
    return "30" in text and "17" in text


def test_exceptions_do_not_hold_it(exposed: vr.Playbook) -> None:
    with pytest.raises(vr.NotAnonymizedError) as refused:
        exposed.route_for(SECRET)
    with pytest.raises(vr.UnknownCandidateError) as unknown:
        exposed.route_for((17, 30))
    with pytest.raises(vr.InvalidInputError) as swapped:
        exposed.route_for(0, SECRET)  # type: ignore[arg-type]
    for error in (refused.value, unknown.value, swapped.value):
        assert not holds_secret(str(error) + repr(error))
        assert error.__cause__ is None
        assert error.__context__ is None


@pytest.mark.parametrize("typed", TYPED)
def test_the_command_line_does_not_echo_it(
    command: Command, exposed: vr.Playbook, typed: str, caplog: pytest.LogCaptureFixture
) -> None:
    exposed.write("book.json")
    with caplog.at_level(logging.DEBUG):
        done = command("route", "book.json", "--transit", typed)
    assert done.code == 3
    assert done.out == ""
    assert not holds_secret(done.err)
    assert not holds_secret(caplog.text)


def test_slips_of_the_fingers_do_not_echo_it(command: Command, exposed: vr.Playbook) -> None:
    exposed.write("book.json")
    for arguments in (
        ("30,17",),
        ("--transit", "30,", "17"),
        ("--transits", "30,17"),
        ("--transit=30,17", "--trip", "30,17"),
        ("--transit", "30,17", "--format", "30,17"),
    ):
        done = command("route", "book.json", *arguments)
        assert done.code == 2
        assert not holds_secret(done.err), arguments
    swapped = command("route", "30,17", "--transit", "book.json")
    assert swapped.code == 2
    assert not holds_secret(swapped.err)
    unknown = command("route", "book.json", "--transit", "30,18")
    assert unknown.code == 2
    assert "30,18" not in unknown.err


def test_repr_of_a_playbook_holds_no_candidate(exposed: vr.Playbook) -> None:
    assert not holds_secret(repr(exposed) + repr(exposed.problem) + repr(exposed.domain))


def test_exposing_must_be_asked_for(command: Command, exposed: vr.Playbook) -> None:
    exposed.write("book.json")
    done = command("route", "book.json", "--transit", "30,17", "--expose")
    assert done.code == 0
    assert "30,17" in done.out.splitlines()


def test_bytes_that_are_no_text_show_nothing_of_it(exposed: vr.Playbook, tmp_path: Path) -> None:
    """A decoding error would name a byte of the secret and its place."""
    exposed.write(tmp_path / "book.json")
    call = [sys.executable, "-m", "veilroute", "route", str(tmp_path / "book.json"), "--transit", "-"]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(call, input=b"SECRET\xe4\n", capture_output=True, env=strict, check=False)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert b"SECRET" not in done.stderr
    assert b"0xe4" not in done.stderr
