"""Documents cannot rot: what they show is run, and what they should describe is looked for."""

from __future__ import annotations

import doctest
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cyclopts import App

import veilroute as vr
from commands import Command
from plugin_packages import install, install_by_pip
from veilroute.cli import COMMANDS, find_app

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.rst") if "_build" not in page.parts)
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CITATION.cff", *sorted(DOCS.glob("*.py")), *PAGES]


class Step(NamedTuple):
    """A command line of a document, and what the document shows below it."""

    line: str
    shown: list[str]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The code blocks in a language, of Markdown and of reStructuredText."""
    fenced = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", text, re.MULTILINE)
    return fenced + [re.sub("^   ", "", block, flags=re.MULTILINE).strip("\n") + "\n" for block in indented]


def steps(text: str) -> Iterator[Step]:
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.splitlines()
            yield Step(line, shown)


def agrees(shown: list[str], printed: str) -> bool:
    """Whether output is as shown, where `...` stands for anything and spaces do not count."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output("\n".join(shown) + "\n", printed, flags)


def run_examples(text: str) -> None:
    example = doctest.DocTestParser().get_doctest(text, {}, "document", None, None)
    found: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=found.append)
    assert not found, "".join(found)


def run_commands(text: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the commands of a document in order, compare what they print with what it shows, and count them."""
    num_run = 0
    for line, shown in steps(text):
        program, *arguments = shlex.split(line)
        if program != "veilroute":
            continue
        if arguments[-2:] in (["--transit", "-"], ["--stop", "-"], ["--orders", "-"]):
            monkeypatch.setattr(sys, "stdin", io.StringIO(shown[0] + "\n"))
            shown = shown[1:]
        done = command(*arguments)
        assert done.code == 0, f"{line}: {done.err}"
        assert shown, f"show what it prints: {line}"
        assert agrees(shown, done.out), f"{line} printed\n{done.out}"
        num_run += 1
    return num_run


def test_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(read("README.md"), "python")
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert printed.endswith("True")
    assert f"it prints `{printed}`" in read("README.md")


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.rst", "docs/commands.rst", "docs/risk.rst"])
def test_commands_print_what_the_document_shows(name: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one empty directory: the map and the prior that the document shows, its Python examples, its commands."""
    text = read(name)
    for block in blocks(text, "text"):
        is_map = block.startswith("type octile")
        assert is_map or block.startswith("place,weight"), "only office.map and customers.csv are shown as text"
        Path("office.map" if is_map else "customers.csv").write_text(block, encoding="ascii")
    run_examples(text)
    assert run_commands(text, command, monkeypatch) >= 4


def test_the_problem_file_of_the_readme_is_that_of_the_examples(helsinki: Path, command: Command) -> None:
    (shown,) = blocks(read("README.md"), "toml")
    assert shown == read("docs/examples/trip.toml")
    assert len(read("README.md").splitlines()) <= 120
    shutil.copy(helsinki, "Helsinki.osm.pbf")
    for name in ("trip.toml", "helsinki.csv"):
        shutil.copy(DOCS / "examples" / name, name)
    assert command("check", "trip.toml").out == "Ready to plan: 12 possible stops, and all places were found.\n"
    done = command("plan", "trip.toml", "-o", "book.json")
    assert "All routes together cost 19 min (33.0%) more" in done.out
    images = runpy.run_path(str(DOCS / "make_images.py"))
    written = (DOCS / "images" / "promise.sha256").read_text(encoding="utf-8").strip()
    assert images["routes_sha256"](vr.read_playbook("book.json")) == written, "python docs/make_images.py"


def test_the_pages_of_days_and_of_fleets_go_as_they_say(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    run_examples(read("docs/days.rst"))
    assert vr.read_ledger("ledger.jsonl").check().safe
    text = read("docs/fleet.rst")
    run_examples(text)
    assert run_commands(text, command, monkeypatch) >= 2
    first, second = ({path.name: path.read_bytes() for path in Path(name).iterdir()} for name in ("monday", "again"))
    assert first == second


@pytest.mark.slow
def test_the_package_of_the_plugin_page_plans_audits_and_benches(tmp_path: Path) -> None:
    """The files that the page shows, installed into a folder on the path; then its commands, each in a process."""
    text = read("docs/plugins.rst")
    shown = {Path(name).name: DOCS / name for name in re.findall(r"literalinclude:: (examples/by_cost/\S+)", text)}
    assert set(shown) == {"pyproject.toml", "by_cost.py"}
    project = tomllib.loads(shown["pyproject.toml"].read_text(encoding="utf-8"))["project"]
    home, work = tmp_path / "installed", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    if not install_by_pip(shown["pyproject.toml"].parent, home):
        install(home, "by_cost", shown["by_cost.py"].read_text(encoding="utf-8"), project["entry-points"])
    (hall,) = blocks(text, "text")
    (work / "hall.map").write_text(hall, encoding="ascii")
    (study,) = blocks(text, "toml")
    (work / "study.toml").write_text(study, encoding="ascii")
    paths = os.pathsep.join([str(home), *filter(None, [os.environ.get("PYTHONPATH")])])
    for line, printed in steps(text):
        words = [sys.executable, "-m", "veilroute", *shlex.split(line)[1:]]
        done = subprocess.run(
            words, cwd=work, env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "120"}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert agrees(printed, done.stdout), f"{line} printed\n{done.stdout}"
    assert json.loads((work / "book.json").read_bytes())["options"] == {"seed": 0, "size": 3}
    assert (work / "study" / "tables" / "by-cost-means.tex").is_file()


def shown_by(outputs: list[dict[str, Any]]) -> list[str]:
    """What a cell shows as text; a picture or HTML is there or not."""
    found = []
    for each in outputs:
        data = each.get("data", {})
        kinds = [kind for kind in ("text/html", "image/png") if kind in data]
        found.append("".join(each.get("text", data.get("text/plain", ""))) + " ".join(kinds))
    return found


@pytest.mark.parametrize(("name", "rich"), [("building", {"text/html": 3}), ("figure", {"image/png": 1})])
def test_notebooks_show_what_their_cells_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rich: dict[str, int]
) -> None:
    """Out of date? `make notebook` runs them again."""
    path = DOCS / "examples" / f"{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    monkeypatch.chdir(tmp_path)
    now = [shown_by(outputs) for outputs in runpy.run_path(str(DOCS / "run_notebook.py"))["run_cells"](cells)]
    assert [shown_by(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"] == now
    for kind, num in rich.items():
        assert sum(text.endswith(kind) for texts in now for text in texts) == num
    assert path.stat().st_size < 400_000


def test_the_street_example_prints_what_is_shown(
    helsinki: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(helsinki, "Helsinki.osm.pbf")
    shutil.copy(DOCS / "examples" / "helsinki.csv", "helsinki.csv")
    assert run_commands(read("docs/streets.rst"), command, monkeypatch) == 9
    left = {path.name for path in Path().iterdir()}
    assert {"map.html", "routes.gpx", "routes.geojson", "directions.txt", "playbook.png"} <= left
    written = (DOCS / "images" / "helsinki.sha256").read_text(encoding="utf-8").strip()
    images = runpy.run_path(str(DOCS / "make_images.py"))
    assert written == images["routes_sha256"](vr.read_playbook("playbook.json")), "python docs/make_images.py"


def test_the_page_about_drones_and_guards_prints_what_is_shown(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("harbour.geojson", "harbour.csv", "floor.map", "floor.csv"):
        shutil.copy(DOCS / "examples" / name, name)
    assert run_commands(read("docs/flight.rst"), command, monkeypatch) == 8
    images = runpy.run_path(str(DOCS / "make_images.py"))
    for picture, book in (("harbour", "drone.json"), ("floor", "guard.json")):
        written = (DOCS / "images" / f"{picture}.sha256").read_text(encoding="utf-8").strip()
        assert written == images["routes_sha256"](vr.read_playbook(book)), "python docs/make_images.py"


def test_documents_name_what_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"(?:``?|\$ )make ([a-z-]+)", text):
            assert target in targets, f"{document.name}: make {target}"
        for script in re.findall(r"python ((?:benchmarks|docs)/\S+\.py)", text):
            assert (ROOT / script).is_file(), f"{document.name}: {script}"
    links = re.findall(r"\]\(([^)\s]+)\)", read("README.md"))
    assert "docs/images/promise.png" in links
    for link in links:
        assert link.startswith("https://") or (ROOT / link.partition("#")[0]).is_file(), link
    texts = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    pictures = sorted((DOCS / "images").glob("*.png"))
    assert pictures
    # Beside each picture the checksum of what it shows, and nothing else.
    beside = {picture.with_suffix(".sha256") for picture in pictures}
    assert {*pictures, *beside} == set((DOCS / "images").iterdir())
    for picture in pictures:
        assert picture.stat().st_size < 250_000, picture.name
        assert f"images/{picture.name}" in texts, picture.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_no_registry_and_no_place_on_one_machine(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    registry = re.search(r"pypi|pythonhosted|anaconda|conda-forge", text, re.IGNORECASE)
    assert registry is None, registry
    place = re.search(r"(?<![\w.])/(?:home|Users|root|work|farm|tmp|mnt|opt)\b|[A-Z]:\\", text)
    assert place is None, place


def options_of(app: App) -> Iterator[set[str]]:
    """The names of each option that a command's help shows; those of its parts, too."""
    for argument in app.assemble_argument_collection() if app.default_command else ():
        names = {name for name in argument.names if name.startswith("-")}
        if argument.show and names:
            yield names
    for name in app:
        if not name.startswith("-"):
            yield from options_of(app[name])


def test_every_option_of_every_command_is_described() -> None:
    text = read("docs/commands.rst")
    sections = re.split(r"^veilroute ([a-z-]+).*\n-+\n", text, flags=re.MULTILINE)
    described: dict[str, str] = {}
    for name, section in zip(sections[1::2], sections[2::2], strict=True):
        described[name] = described.get(name, "") + section
    assert {name.split()[0] for name in COMMANDS} == set(described)
    assert sum(1 for _ in options_of(find_app("plan"))) <= 22
    for name in COMMANDS:
        for options in options_of(find_app(name)):
            said = [option for option in options if re.search(rf"``{option}(?![\w-])", described[name.split()[0]])]
            assert said, f"{name} {options}"


def keys_of(value: object) -> set[str]:
    """The keys of all objects in JSON data, except where they are the user's own names."""
    if isinstance(value, list):
        return {key for part in value for key in keys_of(part)}
    if isinstance(value, dict):
        return set(value) | {key for name, part in value.items() if name != "sees" for key in keys_of(part)}
    return set()


def test_every_key_and_every_claim_is_described(command: Command) -> None:
    # A playbook with two trips and something of everything.
    domain = vr.generate_streets(5, 6, seed=2)
    candidates = vr.draw_candidates(domain, 0, 9, 6, seed=1)
    sees = vr.Explicit({c: [c] for c in candidates})
    book = vr.solve(vr.Problem(domain, [vr.Trip(0, 9), vr.Trip(9, 0, 2.0)], candidates, sees), vr.Privacy(k=2))
    vr.write_instance(vr.Instance(book.problem, book.privacy), "instance.json")
    floor = vr.grid_domain(["....."], anchor=vr.Anchor(60.17, 24.94, 2))
    grid = vr.Problem(floor, [vr.Trip((0, 0), (0, 4))], [(0, 1), (0, 2)], vr.WithinDistance(1))
    vr.write_instance(vr.Instance(grid), "grid.json")
    named = vr.Domain.from_edges(2, [0], [1], [1], labels=["a", "b"])
    vr.write_instance(vr.Instance(vr.Problem(named, [vr.Trip("a", "b")], ["b"])), "named.json")
    book.write("book.json")
    at = book.hidden_classes[0].members[0]
    terms = vr.Terms((vr.Van(0, 9),), seconds_per_cost=1.0, customers={at: vr.Customer(demand=2)})
    Path("day.json").write_bytes(vr.dispatch(book, [1], terms).to_json())
    written = [Path(f"{name}.json").read_text() for name in ("instance", "grid", "named", "book", "day")]
    asked = (["plan", "instance.json", "--json"], ["audit", "book.json", "--json"],
             ["route", "book.json", "--transit", at, "--format", "json"])  # fmt: skip
    printed = [command(*words).out for words in asked]
    for page, texts, least in (("formats", written, 40), ("commands", printed, 25)):
        keys = {key for text in texts for key in keys_of(json.loads(text))}
        assert len(keys) > least
        assert not [key for key in sorted(keys) if not re.search(rf'``{key}``|"{key}"', read(f"docs/{page}.rst"))]
    listed = re.findall(r"^``([a-z-]+)``  ", read("docs/auditing.rst"), re.MULTILINE)
    assert listed == [verdict.claim for verdict in vr.audit(book).claims]


def test_the_reference_has_every_public_name_and_no_other() -> None:
    """Public is what `__all__` of the package and of its rooms lists."""
    source = ROOT / "src" / "veilroute"
    rooms = {f"veilroute.{path.parent.name}": path for path in sorted(source.glob("*/__init__.py"))}
    public = {f"{room}.{name}": getattr(import_module(room), name) for room in rooms for name in lists_of(room)}
    # What a room has too is described there, and named on the first page.
    public |= {
        f"veilroute.{name}": getattr(vr, name)
        for name in lists_of("veilroute")
        if name != "__version__" and not any(getattr(vr, name) is value for value in public.values())
    }
    pages = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.rst"))
    described = re.findall(r"^\.\. (?:py:data|auto(?:function|class|exception)):: (\S+)$", pages, re.MULTILINE)
    assert sorted(described) == sorted(public)
    assert len(re.findall(r"^\.\. (?:auto|py:)", pages, re.MULTILINE)) == len(described) + len(automodules(pages))
    assert set(automodules(pages)) <= set(rooms), "modules are private"
    index = read("docs/reference/index.rst")
    assert not [name for name in vr.__all__ if not re.search(rf"\bvr\.{name}\b", index)]
    # Links to code in pages lead there; a docstring may name what is private.
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r":(?:mod|func|class|data|meth|attr|exc):`[^`]*?(veilroute\.[\w.]+)>?`", text):
            is_there = target in (*described, *automodules(pages)) or target.rpartition(".")[0] in described
            assert is_there, f"{page.name}: {target}"


def lists_of(room: str) -> list[str]:
    names: list[str] = import_module(room).__all__
    assert len(names) == len(set(names))
    return names


def automodules(pages: str) -> list[str]:
    return re.findall(r"^\.\. automodule:: (\S+)$", pages, re.MULTILINE)


def test_the_pictures_show_what_is_planned_now(command: Command) -> None:
    """Out of date? `python docs/make_images.py` draws them again. (Three are looked at with their examples.)"""
    images = runpy.run_path(str(DOCS / "make_images.py"))
    written = {path.stem: path.read_text(encoding="utf-8").strip() for path in (DOCS / "images").glob("*.sha256")}
    assert command("demo", "--out", "tour").code == 0
    made = {path.stem: vr.read_playbook(path) for path in Path("tour").glob("*.json") if "audit" not in path.stem}
    found = {name: images["routes_sha256"](book) for name, book in made.items()}
    found |= {"figure1": images["routes_sha256"](images["plan_figure1"]()), "rooms": images["rooms_sha256"]()}
    found["survey"] = images["survey_sha256"](images["make_survey"]())
    others = {"helsinki", "harbour", "floor", "fleet", "promise"}
    assert {name: found.get(name) for name in set(written) - others} == {
        name: written[name] for name in set(written) - others
    }
    in_words = read("docs/architecture.rst").partition("One plan, step by step")[2].partition("What to open")[0]
    assert len(re.findall(r"^\d+\. ", in_words, re.MULTILINE)) == len(images["STEPS"])


def test_the_architecture_names_every_module_and_nothing_else() -> None:
    """A module was added, renamed or removed? Mend docs/architecture.rst."""
    text = read("docs/architecture.rst")
    source = ROOT / "src" / "veilroute"
    modules = {str(path.relative_to(source)) for path in source.rglob("*.py") if path.name != "__init__.py"}
    listed = re.findall(r"^``([a-z0-9_/]+\.py)``\n   \S", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == modules
    named = set(re.findall(r"``((?:[a-z0-9_]+/)*[a-z0-9_]+\.py)``", text)) - modules - {"__init__.py"}
    assert not [name for name in named if not (ROOT / name).is_file()]
    rooms = set(re.findall(r"``((?:[a-z]+/)?[a-z]+)/``", text))
    assert not [room for room in rooms if not (ROOT / "src" / "veilroute" / room / "__init__.py").is_file()]
    packages = {path.parent.name for path in (ROOT / "src" / "veilroute").glob("*/__init__.py")}
    assert set(re.findall(r"^``([a-z]+)/``\n~+$", text, re.MULTILINE)) == packages
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    words = re.findall(r"``(_?[a-z]+(?:_[a-z]+)+|(?:[A-Z][a-z]+)+(?:\.[a-z_]+)?)``", text)
    assert {"_order_pairs", "Domain", "Playbook.route_for"} <= set(words)
    for word in words:
        assert re.search(rf"^ *(?:def|class) {word.rpartition('.')[2]}\b", sources, re.MULTILINE), word
