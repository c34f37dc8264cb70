"""The commands that are run for a job.

Texts of clients become values of options only (``--start=...``); names of files, options and commands are all written
here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from veilroute.base.errors import InvalidInputError
from veilroute.studio.schema import JOB_KINDS, OPTIONS

LAST_BOOK = "{book}"  #: stands in a command for the playbook that was written last
_MOST_POINTS = 100  # of a frontier, for each mechanism
_FIRST_S = 2.0  # how long the plan takes that is shown at once
_WORTH_TWO_S = 3.0  # a search that is shorter is done at once


@dataclass(frozen=True)
class Step:
    """One command that a worker runs for a job, in the attempt's folder."""

    argv: tuple[str, ...]
    out: str = ""  #: the result that what is printed becomes, after the files; none where empty
    results: tuple[tuple[str, str], ...] = ()  #: files that it makes, and the results that they become
    folder: str = ""  #: a folder that it fills; all files in it become results
    each: str = ""  #: run it for every ``playbook-N.json`` in this folder, with ``{file}`` and ``{number}`` filled in
    ok: tuple[int, ...] = (0,)  #: exit codes that are no failure
    when: str = "always"  #: or: unless-proved, if-hidden; by the plan whose results are there
    #: Steps of a group follow each other, and its first one decides whether they are run. Their results take the place
    #: of all earlier ones together, when the last one is done. After an interruption its rest is still run.
    group: str = ""
    is_main: bool = False  #: its exit code is the job's
    is_interim: bool = False  #: its results are replaced by better ones later

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Input:
    """A file as a command gets it: under a name that says its part, with the ending that says its format."""

    ref: str
    alias: str


@dataclass(frozen=True)
class Work:
    """What a worker does for a job."""

    steps: tuple[Step, ...]
    inputs: tuple[Input, ...]


class _Inputs:
    """Gives out names for the files of a job."""

    def __init__(self, suffix_of: Callable[[str], str]) -> None:
        self.suffix_of = suffix_of
        self.taken: list[Input] = []

    def name(self, ref: str, part: str) -> str:
        """The name of a file within the attempt's folder."""
        alias = f"{part}{self.suffix_of(ref)}"
        self.taken.append(Input(ref, alias))
        return alias


def make_work(kind: str, params: Mapping[str, Any], suffix_of: Callable[[str], str], limit_s: float) -> Work:
    """The commands for a job whose parameters were checked.

    Parameters
    ----------
    kind, params
        As :func:`check_job` gave them.
    suffix_of
        The ending of the file that a reference names.
    limit_s
        The longest search that the server allows.
    """
    inputs = _Inputs(suffix_of)
    make = {
        "open": _open, "plan": _plan, "audit": _audit, "risk": _risk, "frontier": _frontier, "replan": _replan,
        "fleet": _fleet, "linked": _linked, "export": _export,
    }[kind]  # fmt: skip
    steps = make(params, inputs, limit_s)
    return Work(tuple(steps), tuple(inputs.taken))


def _given(params: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Options for parameters that are called like them."""
    return [f"--{name.replace('_', '-')}={_value(params[name])}" for name in names if name in params]


def _value(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value).strip()


def _instance_options(options: Mapping[str, Any], inputs: _Inputs) -> list[str]:
    plain = [name for name in OPTIONS if name not in ("candidates", "places", "prior", "k")]
    argv = _given(options, plain)
    if "k" in options:
        argv.append(f"-k{options['k']}")
    if "candidates" in options:
        # A list that ends with a semicolon has semicolons between its places on every map.
        argv.append(f"--candidates={';'.join(text.strip() for text in options['candidates'])};")
    argv += [f"--{name}={inputs.name(options[name], name)}" for name in ("places", "prior") if name in options]
    return argv


def _open(params: Mapping[str, Any], inputs: _Inputs, _limit_s: float) -> list[Step]:
    source = inputs.name(params["source"], "source")
    scene = ("scene.json", "scene.json")
    if not source.startswith("source.osm"):
        for name in ("network", "cost", "service", "connected"):
            if name in params:
                raise InvalidInputError(f"params.{name}", "a map from OpenStreetMap; other files are taken as they are")
        return [Step(("scene", source, "-o", scene[0], *_given(params, ["movement"])), results=(scene,), is_main=True)]
    flags = [f"--{name}" for name in ("service", "connected") if params.get(name)]
    return [
        Step(
            ("streets", source, "-o", "network.json", *_given(params, ["network", "cost"]), *flags),
            results=(("network.json", "network.json"),),
            is_main=True,
        ),
        Step(("scene", "network.json", "-o", scene[0]), results=(scene,)),
    ]


def _plan(params: Mapping[str, Any], inputs: _Inputs, limit_s: float) -> list[Step]:
    source = inputs.name(params["source"], "source")
    seconds = min(float(params.get("time_limit_s", 60)), limit_s)
    argv = ["plan", source, "--json", *_instance_options(params.get("options", {}), inputs)]
    argv += _given(params, ["planner", "partitioner", "objective"])
    if "ledger" in params:
        argv.append(f"--ledger={inputs.name(params['ledger'], 'ledger')}")
    more = _given(params, ["contingencies"])
    steps: list[Step] = []
    when = "always"
    if seconds > _WORTH_TWO_S:
        # Where the first plan is proved it is the last one as well; contingencies are left to the last.
        steps += _planned([*argv, f"--time-limit={_FIRST_S:g}"], "first", is_interim=True)
        when = "always" if more else "unless-proved"
    steps += _planned([*argv, f"--time-limit={seconds:g}", *more], "last", when=when)
    # The worker puts in the playbook that was written last.
    return [
        *steps,
        Step(("audit", LAST_BOOK, "--json"), out="audit.json", ok=(0, 1), when="if-hidden"),
        Step(("risk", LAST_BOOK, "--json"), out="risk.json", when="if-hidden"),
    ]


def _planned(argv: Sequence[str], folder: str, *, when: str = "always", is_interim: bool = False) -> list[Step]:
    """Plan into a folder of its own, so that nobody takes the first playbook and the last for two that are in use."""
    book, scene = f"{folder}/playbook.json", f"{folder}/scene.json"
    return [
        Step(
            (*argv, "-o", book), out="plan.json", results=((book, "playbook.json"),), ok=(0, 3, 130), when=when,
            group=folder, is_main=True, is_interim=is_interim,
        ),
        Step(
            ("scene", book, "-o", scene), results=((scene, "scene.json"),), group=folder, is_interim=is_interim,
        ),
    ]  # fmt: skip


def _audit(params: Mapping[str, Any], inputs: _Inputs, _limit_s: float) -> list[Step]:
    book = inputs.name(params["playbook"], "playbook")
    return [
        Step(("audit", book, "--json"), out="audit.json", ok=(0, 1), is_main=True),
        Step(("audit", book), out="audit.txt", ok=(0, 1)),
    ]


def _risk(params: Mapping[str, Any], inputs: _Inputs, _limit_s: float) -> list[Step]:
    argv = ["risk", inputs.name(params["playbook"], "playbook"), "--json"]
    if "prior" in params:
        argv.append(f"--prior={inputs.name(params['prior'], 'prior')}")
    return [Step(tuple(argv), out="risk.json", is_main=True)]


def _frontier(params: Mapping[str, Any], inputs: _Inputs, limit_s: float) -> list[Step]:
    source = inputs.name(params["source"], "source")
    options = {name: value for name, value in params.get("options", {}).items() if name not in JOB_KINDS["frontier"]}
    argv = ["frontier", source, "--json", *_instance_options(options, inputs), "--playbooks=points"]
    argv += [f"--{name}={','.join(map(_value, params[name]))}" for name in ("k", "risk", "ell", "m") if name in params]
    argv += [f"--mechanism={params.get('mechanism', 'both')}"]
    count = max(1, len(params.get("k", ())) + len(params.get("risk", ())))
    count *= max(1, len(params.get("ell", ()))) * max(1, len(params.get("m", ())))
    if count > _MOST_POINTS:
        raise InvalidInputError("params", f"lists with at most {_MOST_POINTS} combinations", count)
    seconds = min(float(params.get("time_limit_s", 20)), limit_s)
    # What is said of one privacy stands for all points where no list says otherwise.
    single = params.get("options", {})
    argv += [f"--{name}={_value(single[name])}" for name in ("ell", "m") if name in single and name not in params]
    scene = ("scene", "{file}", "-o", "scenes/scene-{number}.json")
    return [
        Step((*argv, f"--time-limit={seconds:g}"), out="frontier.json", folder="points", ok=(0, 3, 130), is_main=True),
        Step(scene, each="points", results=(("scenes/scene-{number}.json", "scene-{number}.json"),)),
    ]


def _replan(params: Mapping[str, Any], inputs: _Inputs, _limit_s: float) -> list[Step]:
    argv = ["replan", inputs.name(params["playbook"], "playbook"), "--json"]
    argv += _given(params, ["class", "at", "position", "trip", "closed"])
    argv += [f"--{params['choice']}"] if "choice" in params else []
    return [Step(tuple(argv), out="replan.json", ok=(0, 1, 3), is_main=True)]


def _fleet(params: Mapping[str, Any], inputs: _Inputs, _limit_s: float) -> list[Step]:
    argv = ["fleet", inputs.name(params["playbook"], "playbook"), "--json", "-o", "day"]
    argv += [f"--touched={','.join(map(str, params['touched']))}"]
    plain = ("vehicles", "capacity", "demand", "service", "shift", "depart", "speed", "iterations", "seed")
    argv += _given(params, plain)
    if "customers" in params:
        argv.append(f"--customers={inputs.name(params['customers'], 'customers')}")
    return [Step(tuple(argv), out="fleet.json", folder="day", is_main=True)]


def _linked(params: Mapping[str, Any], inputs: _Inputs, _limit_s: float) -> list[Step]:
    ledger = inputs.name(params["ledger"], "ledger")
    books = [inputs.name(ref, f"playbook-{number}") for number, ref in enumerate(params.get("playbooks", []), start=1)]
    check = ("ledger", "check", ledger, "--json", *_given(params, ["since"]))
    return [
        Step(check, out="ledger.json", ok=(0, 1), is_main=True),
        Step(("audit", *books, f"--ledger={ledger}", "--json"), out="linked.json", ok=(0, 1)),
    ]


def _export(params: Mapping[str, Any], inputs: _Inputs, _limit_s: float) -> list[Step]:
    out = f"routes.{params['format']}"
    command = "draw" if params["format"] in ("png", "svg") else "export"
    argv = (command, inputs.name(params["playbook"], "playbook"), "-o", out, *_given(params, ["trip"]))
    return [Step(argv, results=((out, out),), ok=(0, 1), is_main=True)]
