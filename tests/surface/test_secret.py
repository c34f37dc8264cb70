"""The secret stays out of messages, logs and reprs."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import veilroute as vr
from commands import Command
from street_samples import little_book
from veilroute.app import RouteError, RouteRequest
from veilroute.app.route import route as look_up
from veilroute.cli import SENTENCES

SECRET = (30, 17)
TYPED = ("30,17", "(30, 17)", "30 17")


@pytest.fixture
def exposed(building: Path) -> vr.Playbook:
    """A playbook in which the secret is a candidate that could not be anonymized."""
    domain = vr.read_movingai(building)
    problem = vr.Problem(domain, [vr.Trip((1, 18), (32, 60))], [SECRET, (30, 16)])
    return vr.solve(problem, vr.Privacy(k=2, ell=30))


@pytest.fixture
def town(command: Command) -> vr.Playbook:
    """The little town's playbook, also written as town.json."""
    book = little_book()
    book.write("town.json")
    return book


def fixed_lines() -> set[str]:
    """All that may be on standard error when `route` fails."""
    errors = (
        vr.NotAnonymizedError(),
        vr.NotAnonymizedError(has_route=False),
        vr.BrokenPromiseError(),
        vr.UnknownCandidateError(),
    )
    return {f"veilroute: {line}\n" for line in (*SENTENCES.values(), *map(str, errors))}


def send(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have it on standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


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
    assert not holds_secret(repr(exposed) + repr(exposed.problem) + repr(exposed.domain))


@pytest.mark.parametrize("typed", TYPED)
def test_the_command_line_does_not_echo_it(
    command: Command, exposed: vr.Playbook, typed: str, caplog: pytest.LogCaptureFixture
) -> None:
    exposed.write("book.json")
    with caplog.at_level(logging.DEBUG):
        done = command("route", "book.json", "--transit", typed)
    assert (done.code, done.out) == (3, "")
    assert not holds_secret(done.err + caplog.text)
    given = command("route", "book.json", "--transit", typed, "--expose")
    assert given.code == 0 and "30,17" in given.out.splitlines(), "exposing must be asked for"


def test_bytes_that_are_no_text_show_nothing_of_it(exposed: vr.Playbook, tmp_path: Path) -> None:
    """A decoding error would name a byte of the secret and its place."""
    exposed.write(tmp_path / "book.json")
    call = [sys.executable, "-m", "veilroute", "route", str(tmp_path / "book.json"), "--transit", "-"]
    strict = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(call, input=b"SECRET\xe4\n", capture_output=True, env=strict, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() in fixed_lines()


def odd_secrets(num: int) -> list[str]:
    """Secrets that nobody thought of: damaged coordinates, control characters, options, numbers, other names."""
    draw = random.Random(7)
    seeds = [
        "-+60.17,24.94", "60.17,24.94", "+60.172,+24.942", "60.,24.", ".5,.5", "1e400,1", "nan,inf", "-0,-0", "٣,٤",
        "--transit", "--help", "-h", "--trip=3", "-", "--", "@town.json", "$HOME", "%s%n", "{0}", "{secret!r}",
        "Branch North", "Depot", "branch\x00north", "\x1b[31mred", "\udc80", "\ud800", "Länsi", "1_0", "0x66", "１０２",
        "102", "102.0", "[102]", "(102,)", "102 103", "999999999999999999999", "-1", "true", "null", "\ufeff102",
        "\u202e", "9" * 5000, "9" * 20000, "9" * 400 + "," + "9" * 400, "a" * 9_999, " " * 9_999 + "x", "(" * 500,
        ",", ",,", "\t", "",
    ]  # fmt: skip
    alphabet = "0123456789.,-+eE()[] \t\x00\x07\x1b\x85\u2028\ud83d\udcff٣१éßµ—\"'`\\$%{}<>&|;NaINf"
    made = list(seeds)
    while len(made) < num:
        text = draw.choice(seeds)[:60]
        for _ in range(draw.randint(1, 4)):
            at = draw.randint(0, len(text))
            cut = draw.randint(0, 2)
            text = text[:at] + "".join(draw.choices(alphabet, k=draw.randint(0, 3))) + text[at + cut :]
        made.append(text)
    return made


@pytest.mark.slow
def test_two_thousand_odd_secrets_leave_no_trace(
    command: Command, town: vr.Playbook, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fixed = fixed_lines()
    routes = {"".join(f"{node}\n" for node in group.routes[0]) for group in town.classes}
    outcomes = set()
    for number, secret in enumerate(odd_secrets(2000)):
        with caplog.at_level(logging.DEBUG):
            if number % 4 == 3:
                done = command("route", "town.json", "--transit", secret)
            else:
                send(monkeypatch, secret + "\n" * (number % 3))
                done = command("route", "town.json", "--transit", "-")
        outcomes.add(done.code)
        if done.code == 0:
            assert done.out in routes or done.out.startswith("Usage")
            assert done.err == ""
        else:
            assert done.out == ""
            assert done.err in fixed, repr(secret)
        assert caplog.text == ""
    assert outcomes == {0, 2}


class ToldError(Exception):
    """An error whose message is the secret."""


@pytest.mark.parametrize("error", [ToldError, OSError, MemoryError, RecursionError, KeyboardInterrupt, UserWarning])
@pytest.mark.parametrize(
    "place",
    [
        "veilroute.app.route.find_secret",
        "veilroute.model.playbook.Playbook.route_for",
        "veilroute.app.route.is_hidden",
        "veilroute.app.route._route_text",
        "veilroute.cli.route.emit",
    ],
)
def test_whatever_fails_says_a_fixed_sentence(
    command: Command, town: vr.Playbook, monkeypatch: pytest.MonkeyPatch, place: str, error: type[BaseException]
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise error("Branch North")

    monkeypatch.setattr(place, fail)
    done = command("route", "town.json", "--transit", "Branch North", "--format", "gpx")
    assert done.code in (2, 130)
    assert done.out == ""
    assert done.err in fixed_lines()


@pytest.mark.parametrize("error", [ToldError, OSError, MemoryError, UserWarning, EOFError, vr.VeilrouteError])
def test_no_error_of_the_lookup_holds_what_caused_it(town: vr.Playbook, error: type[Exception]) -> None:
    def ask() -> str:
        raise error("Branch North")

    request = RouteRequest(playbook=Path("town.json"))
    with pytest.raises((RouteError, EOFError)) as told:
        look_up(request, ask)
    assert (told.value.__context__, told.value.__cause__) == (None, None)
    assert "Branch" not in repr(told.value)
    with pytest.raises(vr.UnknownCandidateError) as unknown:
        look_up(request, lambda: "Branch Norht")
    assert unknown.value.__context__ is None
    assert look_up(request, lambda: "Branch North").text.split() == [str(node) for node in town.route_for(102)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("route", "town.json", "--transit=-x", "SECRET"),
        ("route", "town.json", "SECRET", "--transit", "102"),
        ("route", "SECRET", "--transit", "town.json"),
        ("route", "town.json", "SECRET"),
        ("route", "town.json", "--transit", "60.17,", "SECRET"),
        ("route", "town.json", "--transits", "SECRET"),
        ("route", "town.json", "--transit=SECRET", "--trip", "SECRET"),
        ("route", "town.json", "--transit", "102", "--trip", "SECRET"),
        ("route", "town.json", "--transit", "102", "--trip", "-3"),
        ("route", "town.json", "--transit", "102", "--movement", "SECRET"),
        ("route", "town.json", "--transit", "102", "--domain", "SECRET"),
        ("route", "town.json", "--transit", "102", "--format", "SECRET"),
        ("route", "town.json", "--transit", "102", "-o", "no/SECRET"),
        ("route", "town.json", "--transit", "102", "-o", "SECRET\0"),
        ("route", "town.json", "-SECRET"),
        ("route", "town.json", "--SECRET"),
        ("route", "town.json", "--transit"),
        ("route", "SECRET.txt", "--transit", "102"),
        ("route", "town.json", "--transit", "102", "--domain", "SECRET.txt"),
        ("--transit", "SECRET", "route", "town.json"),
        ("--transit=SECRET",),
        ("plan", "town.json", "--transit", "SECRET"),
        ("--stop=SECRET",),
        ("plan", "town.json", "--stop", "SECRET"),
        ("route", "town.json", "--stop", "102", "--transit", "SECRET", "SECRET"),
        ("audit", "town.json", "--transit", "SECRET"),
    ],
)
def test_slips_leave_a_fixed_sentence(command: Command, town: vr.Playbook, arguments: tuple[str, ...]) -> None:
    Path("SECRET.txt").write_text('{"format": "veilroute-playbook/SECRET"}')
    done = command(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err in fixed_lines()
    assert "SECRET" not in done.err


def test_a_full_disk_says_nothing_of_it(town: vr.Playbook) -> None:
    call = [sys.executable, "-m", "veilroute", "route", "town.json", "--transit", "-"]
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is always full")
    with full.open("w") as nowhere:
        done = subprocess.run(call, input="102\n", stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr in fixed_lines()


def test_on_a_terminal_nothing_is_echoed(town: vr.Playbook) -> None:
    """As with a password: what is typed stays off the screen, and the prompt goes to standard error."""
    pytest.importorskip("termios")
    import pty
    import termios

    keyboard, terminal = pty.openpty()
    call = [sys.executable, "-m", "veilroute", "route", "town.json", "--transit", "-"]
    with subprocess.Popen(
        call, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 60
        while termios.tcgetattr(terminal)[3] & termios.ECHO and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        os.write(keyboard, b"Branch North\n")
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.decode().split() == [str(node) for node in town.route_for(102)]
    assert err == b"Secret stop (it is not shown): \n"
    assert termios.tcgetattr(terminal)[3] & termios.ECHO  # as it was before
    os.set_blocking(keyboard, False)
    shown = b""
    with contextlib.suppress(BlockingIOError, OSError):
        shown = os.read(keyboard, 1000)
    assert b"Branch" not in shown
    os.close(keyboard)
    os.close(terminal)


def test_errors_of_python_hold_nothing_of_it(town: vr.Playbook) -> None:
    odd = ("SEC\x00RET", object(), 1.5, [["SECRET"]] * 3, {"SECRET": 1}, b"SECRET", np.array(["SECRET"]))
    for secret in ("SECRET", *odd):
        with pytest.raises(vr.VeilrouteError) as refused:
            town.route_for(secret)
        error = refused.value
        assert "SEC" not in f"{error}{error!r}{error.args}{vars(error)}"
        assert error.__cause__ is None
        assert error.__context__ is None


def test_nobody_is_told_to_plan_again_for_a_secret() -> None:
    """The difference of two public lists, of which the second was made for the secret, is the secret."""
    assert not [line for line in fixed_lines() if "plan again" in line and "do not plan again" not in line]
    assert not [line for line in fixed_lines() if "included" in line or "add candidates" in line or "lower k" in line]
    assert "fixed before it is known" in str(vr.UnknownCandidateError())


@pytest.mark.parametrize(
    "words",
    [
        "--st=8,17 route book.json", "-stop=8,17 route book.json", "--trans=8,17", "plan a.map --stp=8,17",
        "8,17 route book.json", "--orders=8,17 fleet book.json", "ledger 8,17", "replan book.json 8,17",
        "rout book.json --stop 8,17", "--order 8,17",
    ],
)  # fmt: skip
def test_what_is_typed_in_a_wrong_place_is_not_repeated(words: str, command: Command) -> None:
    done = command(*words.split())
    assert done.code == 2 and "8,17" not in done.out + done.err
