"""The entry point: runs a command and turns whatever happens into an exit code and, at most, one line."""

import difflib
import errno
import importlib
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from veilroute import __version__
from veilroute.base.errors import NotAnonymizedError, UnsafeLedgerError, VeilrouteError
from veilroute.cli.output import (
    BAD_INPUT,
    DONE,
    INTERRUPTED,
    NOTHING_ANONYMIZED,
    VIOLATED,
    emit,
    remark,
)
from veilroute_start import forbid_core_dumps, may_hold_orders, may_hold_secret, may_hold_stop

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError

# What a command needs is imported when it runs: `veilroute --help` loads nothing else.

#: What is shown by `veilroute --help`: under each heading the commands, with what each does.
SHOWN = {
    "Start": {
        "demo": "the tour: makes maps, plans, audits and draws; needs no input and no network",
        "studio": "open the studio in your browser",
        "map": "make a map of an OpenStreetMap extract or an area; fetch benchmark maps",
        "check": "find every place and address, and list all problems at once; plans nothing",
    },
    "Plan": {
        "plan": "group the places and plan the routes: a playbook",
        "compare": "what more privacy costs; or all starts and goals of a map",
        "audit": "play the observer: check every claim of a playbook, a day or a ledger",
        "export": "write a picture, map, report, GPX, KML, GeoJSON or table: by the file's ending",
    },
    "Use": {
        "route": "look up the route for one secret stop",
        "fleet": "plan a day of tours for secret orders",
        "replan": "a road is closed, or a vehicle broke down: the rest of the way",
        "key": "make a private key for drawing routes",
    },
    "Every week": {"ledger": "the playbooks in use, and what linked trips show"},
    "Research": {"bench": "the paper's tables and figures, studies of your own, the data set"},
}

COMMANDS = {
    "demo": "demo.run_demo",
    "studio": "serve.run_studio",
    "map": "maps.map_app",
    "check": "check.run_check",
    "plan": "plan.run_plan",
    "compare": "compare.run_compare",
    "audit": "audit.run_audit",
    "export": "export.run_export",
    "route": "route.run_route",
    "fleet": "fleet.run_fleet",
    "replan": "replan.run_replan",
    "key": "route.key_app",
    "ledger": "ledger.app",
    "bench": "bench.run_bench",
    "bench export": "dataset.run_export",
    "bench verify": "dataset.run_verify",
    # Names that existed before.
    "serve": "serve.run_serve",
    "streets": "streets.run_streets",
    "area": "area.run_area",
    "convert": "export.run_convert",
    "maps": "maps.app",
    "frontier": "compare.run_compare",
    "survey": "compare.run_survey",
    "risk": "audit.run_risk",
    "draw": "export.run_draw",
    "scene": "export.run_scene",
    "fleet-replan": "replan.run_fleet_replan",
    "bench instances export": "dataset.run_export",
}
"""What runs each command: a module of this room and a name in it. Of two names the longer one is tried first."""


def join_words(arguments: Sequence[str]) -> list[str]:
    """What was typed, with the words of a command that has several as one."""
    for num in range(min(3, len(arguments)), 1, -1):
        if (name := " ".join(arguments[:num])) in COMMANDS:
            return [name, *arguments[num:]]
    return list(arguments)


def find_app(name: str, *, with_all_options: bool = False) -> "App":
    """The command of that name, with its own module only, so that others cost no time."""
    from cyclopts import App

    from veilroute.cli.options import group

    module, runner = COMMANDS[name].split(".")
    handler = getattr(importlib.import_module(f"veilroute.cli.{module}"), runner)
    if isinstance(handler, App):
        return handler
    app = group(name)
    app.default(getattr(handler, "help_all", handler) if with_all_options else handler)
    return app


def call(name: str, arguments: Sequence[str]) -> int:
    """Run one command; errors of usage are raised."""
    if "--help-all" in arguments:
        code = find_app(name, with_all_options=True)(["--help"], exit_on_error=False, print_error=False)
    else:
        code = find_app(name)(list(arguments), exit_on_error=False, print_error=False)
    return code if isinstance(code, int) else DONE


def overview() -> str:
    """All commands, under their headings."""
    lines = ["veilroute plans routes that do not reveal where they stop.", ""]
    for heading, commands in SHOWN.items():
        lines += [f"{heading}:", *(f"  {name:8}  {what}" for name, what in commands.items()), ""]
    lines.append("veilroute COMMAND --help tells more about each; --version shows the version,")
    lines.append("and --install-completion teaches your shell (bash, zsh or fish) to complete commands.")
    return "\n".join(lines) + "\n"


FIRST_STEPS = """veilroute plans routes that do not reveal where they stop. To begin:

  veilroute demo                    two maps, planned, audited and drawn, in a minute
  veilroute studio --demo           the same in your browser
  veilroute check customers.toml    are all addresses of my own problem found?
  veilroute plan customers.toml -o playbook.json

veilroute --help lists all commands.
"""


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
        code = _fail(
            "the command failed in an unforeseen way; details are left out because they could hold a secret", BAD_INPUT
        )
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
        return _run_command(arguments)
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
    except (KeyboardInterrupt, EOFError):
        return _fail("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # nobody reads the help any more
        return DONE
    except OSError as error:
        if error.errno == errno.ENOMEM or error.strerror is None:  # the system has said no more than that it cannot
            return _fail("out of memory; use a smaller map or fewer candidates, or allow more (ulimit -v)", BAD_INPUT)
        return _fail(f"{error.filename or 'file'}: {error.strerror}; check the path and its permissions", BAD_INPUT)
    except Exception as error:
        from cyclopts import CycloptsError

        if not isinstance(error, CycloptsError):
            raise
        return _fail(_fleet_usage(error) if may_hold_orders(arguments) else _usage(error), BAD_INPUT)


def _run_command(arguments: Sequence[str]) -> int:
    """Run what was asked for: a command, or one of the few things that the program says of itself."""
    if not arguments:
        emit(FIRST_STEPS)
        return DONE
    name, *rest = arguments
    if name == "map" and rest[:1] == ["make"] and any(not word.startswith("-") for word in rest[1:]):
        from veilroute.cli.maps import make_command

        name, rest = make_command(rest[1:])
    if name in COMMANDS:
        return call(name, rest)
    if name in ("--help", "-h", "help"):
        if rest and rest[0] in COMMANDS:
            return call(rest[0], ["--help"])
        emit(overview())
        return DONE
    if name == "--version":
        emit(f"veilroute {__version__}\n")
        return DONE
    if name == "--install-completion":
        return _install_completion(rest)
    visible = [each for commands in SHOWN.values() for each in commands]
    near = difflib.get_close_matches(name, [*visible, *COMMANDS], 1)
    advice = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(visible)}"
    # What was typed is not repeated: it may be a secret in the wrong place.
    return _fail(f"no such {'option' if name.startswith('-') else 'command'}; {advice}", BAD_INPUT)


def _install_completion(rest: Sequence[str]) -> int:
    """Have the user's shell complete commands and options."""
    from veilroute.cli.options import group

    app = group("veilroute")
    for commands in SHOWN.values():
        for name in commands:
            found = find_app(name)
            app.command(found, name=name)
    shells: dict[str, Literal["bash", "zsh", "fish"]] = {"bash": "bash", "zsh": "zsh", "fish": "fish"}
    if rest and rest[0] not in shells:
        return _fail("--install-completion: expected bash, zsh or fish", BAD_INPUT)
    try:
        path = app.install_completion(shell=shells[rest[0]] if rest else None)
    except Exception:  # cyclopts asks the process above which shell it is
        return _fail("--install-completion: which shell? Name it: bash, zsh or fish", BAD_INPUT)
    emit(f"Completion: {path}   (start a new shell to use it)\n")
    return DONE


def _usage(error: "CycloptsError") -> str:
    """What to say of a slip in a command line. Words that belong to no option are not repeated: one may be a secret."""
    from cyclopts.exceptions import UnknownCommandError, UnknownOptionError, UnusedCliTokensError

    told = str(error)
    hint = re.search(r"Did you mean (\S+?)\?", told)
    advice = "" if hint is None else f"; did you mean {hint[1]}?"
    if isinstance(error, UnknownOptionError):
        name = re.search(r"Unknown option: (--[a-z][a-z-]*)", told)
        return f"no such option{'' if name is None else ': ' + name[1]}{advice}"
    if isinstance(error, UnknownCommandError):
        return f"no such command{advice}; --help lists them"
    if isinstance(error, UnusedCliTokensError):
        return "there is a word too many; --help shows what the command takes"
    return told


def _fleet_usage(error: "CycloptsError") -> str:
    """What to say of a slip in the command line of `fleet`: which option it is about, and nothing that was typed."""
    about = [] if error.argument is None else [name for name in error.argument.names if name.startswith("--")]
    usage = "usage: veilroute fleet PLAYBOOK --orders FILE|- --vehicles N -o DIR; see veilroute fleet --help"
    return f"{about[0]}: missing, or not what it should be; {usage}" if about else usage


def _run_route(arguments: list[str]) -> int:
    """Run `route`. When it fails, whatever the reason, one of its fixed sentences is all that leaves it."""
    from cyclopts import CycloptsError

    from veilroute.cli.route import SENTENCES, failure

    try:
        if arguments[:1] != ["route"]:
            return _fail(SENTENCES["usage"], BAD_INPUT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may quote what it is about
            return call("route", arguments[1:])
    except CycloptsError:
        sentence, code = SENTENCES["usage"], BAD_INPUT
    except EOFError:
        sentence, code = SENTENCES["interrupted"], INTERRUPTED
    except BaseException as error:
        sentence, code = failure(error)
    return _fail(sentence, code) if sentence else code


def _fail(line: str, code: int) -> int:
    remark(line)
    return code
