"""The entry point: runs a command and turns whatever happens into an exit code and, at most, one line."""

import errno
import importlib
import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import typer

from veilroute import __version__
from veilroute.base.errors import NotAnonymizedError, UnsafeLedgerError, VeilrouteError
from veilroute.cli.console import (
    BAD_INPUT,
    DONE,
    INTERRUPTED,
    NOTHING_ANONYMIZED,
    VIOLATED,
    emit,
    remark,
)
from veilroute.cli.route import SENTENCES, failure
from veilroute_start import forbid_core_dumps, may_hold_orders, may_hold_secret, may_hold_stop

# Typer carries a copy of click in some versions and imports it in others; either way this is its base of usage errors.
_ANCESTORS: tuple[type, ...] = typer.BadParameter.__mro__
UsageProblem: type[BaseException] = next(kind for kind in _ANCESTORS if kind.__name__ == "ClickException")

COMMANDS = {
    "demo": "demo.run_demo",
    "plan": "plan.run_plan",
    "frontier": "frontier.run_frontier",
    "survey": "survey.run_survey",
    "route": "route.run_route",
    "key": "route.key_app",
    "replan": "replan.run_replan",
    "fleet": "fleet.run_fleet",
    "fleet-replan": "fleet_replan.run_fleet_replan",
    "ledger": "ledger.app",
    "audit": "audit.run_audit",
    "risk": "audit.run_risk",
    "draw": "export.run_draw",
    "export": "export.run_export",
    "scene": "export.run_scene",
    "serve": "serve.run_serve",
    "streets": "streets.run_streets",
    "area": "area.run_area",
    "convert": "export.run_convert",
    "bench": "bench.run_bench",
    "bench export": "dataset.run_export",
    "bench instances export": "dataset.run_export",
    "bench verify": "dataset.run_verify",
    "maps": "maps.app",
}
"""What runs each command: a module of this room and a name in it, in the order in which help lists them.

A name of several words goes before a shorter one that it begins with.
"""


def join_words(arguments: Sequence[str]) -> list[str]:
    """What was typed, with the words of a command that has several as one."""
    for num in range(min(3, len(arguments)), 1, -1):
        if (name := " ".join(arguments[:num])) in COMMANDS:
            return [name, *arguments[num:]]
    return list(arguments)


def build_app(arguments: Sequence[str]) -> typer.Typer:
    """The command line, with the module of the wanted command only, so that others cost no time; all for help."""
    app = typer.Typer(
        name="veilroute",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        callback=_main_options,
    )
    wanted = [word for word in arguments[:1] if word in COMMANDS]
    for name in wanted or COMMANDS:
        module, runner = COMMANDS[name].split(".")
        handler = getattr(importlib.import_module(f"veilroute.cli.{module}"), runner)
        if isinstance(handler, typer.Typer):
            for each in handler.registered_commands:
                if each.callback is not None and not hasattr(each.callback, "__wrapped__"):  # once in a process
                    each.callback = _speaking_when_stopped(each.callback)
            app.add_typer(handler, name=name)
        else:
            app.command(name)(_speaking_when_stopped(handler))
    return app


class _StoppedError(Exception):
    """Ctrl-C or Ctrl-D, under a name of its own: typer would make an exit of it that says nothing."""


def _speaking_when_stopped(handler: Callable[..., int]) -> Callable[..., int]:
    @wraps(handler)
    def run_handler(*given: Any, **options: Any) -> int:
        try:
            return handler(*given, **options)
        except (KeyboardInterrupt, EOFError):
            raise _StoppedError from None

    return run_handler


def _show_version(wanted: bool) -> None:
    if wanted:
        emit(f"veilroute {__version__}\n")
        raise typer.Exit


def _main_options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Plan routes that hide where they stop, and check that they do."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit, without the time that the interpreter would take to tidy its memory up."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    is_secret = may_hold_secret(given)
    try:
        _mend_streams()
        if is_secret:
            forbid_core_dumps()
        code = run(given)
    except KeyboardInterrupt:  # outside the commands, or a second one while the first is answered
        code = _fail("interrupted", INTERRUPTED)
    except BaseException:
        if not is_secret:  # a traceback would tell of it
            raise
        code = INTERRUPTED
    with suppress(OSError):  # nobody reads any more, or the disk is full
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    os._exit(code)


def _mend_streams() -> None:
    """Make streams safe: one that is closed, or that cannot show a label's characters or read what was typed."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        # An error would show a byte of the secret.
        sys.stdin.reconfigure(errors="replace")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code (see the contract: 0, 1, 2, 3 or 130)."""
    if may_hold_stop(arguments):
        return _run_route(arguments)
    arguments = join_words(arguments)
    try:
        code = build_app(arguments)(args=arguments, prog_name="veilroute", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except UnsafeLedgerError as error:
        return _fail(str(error), VIOLATED)
    except VeilrouteError as error:
        *lines, last = str(error).split("\n")  # several where a file has several problems
        for line in lines:
            remark(line)
        return _fail(last, NOTHING_ANONYMIZED if isinstance(error, NotAnonymizedError) else BAD_INPUT)
    except MemoryError:
        return _fail("out of memory; use a smaller map or fewer candidates", BAD_INPUT)
    except RecursionError:
        return _fail("the input is nested too deeply; check the file", BAD_INPUT)
    except UsageProblem as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            emit(error.format_message() + "\n")  # type: ignore[attr-defined]
            return DONE
        if arguments and arguments[0] not in COMMANDS and not arguments[0].startswith("-"):
            return _fail(f"no such command; expected one of {', '.join(COMMANDS)}", BAD_INPUT)
        if may_hold_orders(arguments):
            return _fail(_fleet_usage(error), BAD_INPUT)
        return _fail(str(error.format_message()), BAD_INPUT)  # type: ignore[attr-defined]
    except (typer.Abort, KeyboardInterrupt, _StoppedError):
        return _fail("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # nobody reads the help any more; typer makes an exit of it
        return DONE
    except OSError as error:
        if error.errno == errno.ENOMEM or error.strerror is None:  # the system has said no more than that it cannot
            return _fail("out of memory; use a smaller map or fewer candidates, or allow more (ulimit -v)", BAD_INPUT)
        return _fail(f"{error.filename or 'file'}: {error.strerror}; check the path and its permissions", BAD_INPUT)


def _fleet_usage(error: BaseException) -> str:
    """What to say of a slip in the command line of `fleet`: which option it is about, and nothing that was typed."""
    options = getattr(getattr(error, "param", None), "opts", [])
    about = [option for option in options if option.startswith("--")]
    usage = "usage: veilroute fleet PLAYBOOK --orders FILE|- --vehicles N -o DIR; see veilroute fleet --help"
    return f"{about[-1]}: missing, or not what it should be; {usage}" if about else usage


def _run_route(arguments: list[str]) -> int:
    """Run `route`. When it fails, whatever the reason, one of its fixed sentences is all that leaves it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may quote what it is about
            code = build_app(arguments)(args=arguments, prog_name="veilroute", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except UsageProblem:
        sentence, code = SENTENCES["usage"], BAD_INPUT
    except _StoppedError:
        sentence, code = SENTENCES["interrupted"], INTERRUPTED
    except BaseException as error:
        sentence, code = failure(error)
    return _fail(sentence, code) if sentence else code


def _fail(line: str, code: int) -> int:
    remark(line)
    return code
