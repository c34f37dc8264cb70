"""`veilroute serve`: the studio, in a browser on this machine."""

import inspect
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from contextlib import ExitStack, suppress
from html import escape
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from veilroute.base.errors import FileFormatError, InvalidInputError, MissingExtraError
from veilroute.cli.console import DONE, emit, remark

if TYPE_CHECKING:
    from veilroute.studio.store import Store

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MB = 2**20
_WORKER = (sys.executable, "-m", "veilroute.studio.worker")


def run_serve(
    *files: Annotated[Path, Parameter(name="FILES...", help="Maps, instances, tables or playbooks to open.")],
    port: Annotated[int, Parameter(metavar="N", help="Where to listen; 0 for any that is free.")] = 8765,
    host: Annotated[
        str, Parameter(metavar="NAME", help="Where to listen; elsewhere than on this machine with a token.")
    ] = "127.0.0.1",
    token: Annotated[
        bool, Parameter(name="--token", help="Ask for a token on this machine too, where several people share it.")
    ] = False,
    demo: Annotated[
        bool, Parameter(name="--demo", help="With the building and the streets of `veilroute demo`.")
    ] = False,
    data: Annotated[
        Path | None, Parameter(metavar="DIR", help="Where files and jobs are kept. [the user's data folder]")
    ] = None,
    workers: Annotated[int, Parameter(metavar="N", help="How many jobs run at once.")] = 2,
    queue: Annotated[int, Parameter(metavar="N", help="How many jobs may wait.")] = 100,
    memory: Annotated[
        int | None,
        Parameter(metavar="MB", help="The most memory of one worker. [4096, or its share on a small machine]"),
    ] = None,
    time_limit: Annotated[float, Parameter(metavar="SECONDS", help="The longest that a job may take.")] = 3600,
    upload: Annotated[int, Parameter(metavar="MB", help="The largest file that may be sent.")] = 512,
    browser: Annotated[bool, Parameter(negative="--no-browser", help="Open the page.")] = False,
) -> int:
    """Open the studio: plan, look and play the observer in a browser.

    It listens to this machine only, unless told otherwise. The secret is typed into the page and never leaves it.
    """
    memory = _usual_memory(workers) if memory is None else memory
    bounds = {"--workers": (workers, 1, 64), "--queue": (queue, 1, 100_000), "--memory": (memory, 256, 2**20)}
    bounds |= {"--upload": (upload, 1, 2**20), "--port": (port, 0, 65_535)}
    for name, (value, least, most) in bounds.items():
        if not least <= value <= most:
            raise InvalidInputError(name, f"a number from {least} to {most}", value)
    if not 1 <= time_limit <= 7 * 86_400:
        raise InvalidInputError("--time-limit", "seconds from 1 to 604800", time_limit)
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError(error.name or "starlette", "studio") from None
    from veilroute.studio.guard import LOOPBACK, PatientProtocol
    from veilroute.studio.jobs import Limits
    from veilroute.studio.server import Settings, Studio
    from veilroute.studio.store import Store

    limits = Limits(workers, queue, memory * _MB, time_limit, upload * _MB)
    with ExitStack() as tidy:
        folder = _data_folder(data, tidy, is_demo=demo)
        listener = _listen(host, port)
        tidy.callback(listener.close)
        port = listener.getsockname()[1]
        store = tidy.enter_context(Store(folder))
        if demo:
            _add_demo(store)
        for path in files or []:
            _add_file(store, path)
        word = secrets.token_urlsafe(24) if token or host not in LOOPBACK else None
        studio = Studio(store, limits, _WORKER, Settings(host, port, word, demo), _log(folder))
        config = uvicorn.Config(
            studio.app(), http=PatientProtocol, ws="none", lifespan="on", log_config=None, access_log=False,
            server_header=False, date_header=False, proxy_headers=False, timeout_keep_alive=15,
            timeout_graceful_shutdown=1, limit_concurrency=1000, h11_max_incomplete_event_size=32_768, backlog=512,
        )  # fmt: skip
        url = _url(host, port, word)
        emit(f"Studio: {url}\n")
        emit(f"Files and jobs: {folder}\nCtrl-C ends it.\n")
        if host not in LOOPBACK:
            remark("whoever has this address can see and start everything here; what is sent is not encrypted")
        if browser:
            webbrowser.open(url if word is None else write_down_address(url, folder, tidy))
        server = uvicorn.Server(config)
        tidy.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, signal.default_int_handler))
        with suppress(KeyboardInterrupt):  # the server has ended by then, and says so in this way
            server.run(sockets=[listener])
    return DONE


def run_studio(*files: Path, **options: Any) -> int:
    """Open the studio in your browser: plan, look and play the observer.

    It listens to this machine only, unless told otherwise. The secret is typed into the page and never leaves it.
    """
    return run_serve(*files, **{"browser": True, **options})


_OPTIONS = inspect.signature(run_serve, eval_str=True).parameters
run_studio.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [each.replace(default=True) if name == "browser" else each for name, each in _OPTIONS.items()]
)
run_studio.__annotations__ = {name: each.annotation for name, each in _OPTIONS.items()}


def _usual_memory(workers: int) -> int:
    """So many MB that all workers together leave some memory to others."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MB
    except (AttributeError, ValueError, OSError):  # on systems that do not say
        return 4096
    return min(4096, max(512, whole // (max(workers, 1) + 1)))


def _url(host: str, port: int, token: str | None) -> str:
    shown = host
    if host in ("0.0.0.0", "::"):
        shown = socket.gethostbyname(socket.gethostname()) if host == "0.0.0.0" else "::1"
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + ("" if token is None else f"#token={token}")


def write_down_address(url: str, folder: Path, tidy: ExitStack) -> str:
    """The address of a file for its owner alone that leads on to the page.

    A browser gets what it opens as an argument, and everybody on the machine can read the arguments of a process.
    """
    path = folder / "open.html"
    path.unlink(missing_ok=True)
    tidy.callback(path.unlink, missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escape(url)}">\n')
    return path.absolute().as_uri()


def _data_folder(data: Path | None, tidy: ExitStack, *, is_demo: bool) -> Path:
    if data is not None:
        return data
    if is_demo:
        folder = Path(tempfile.mkdtemp(prefix="veilroute-studio-"))
        tidy.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder
    from platformdirs import user_data_path

    return user_data_path("veilroute", appauthor=False) / "studio"


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(512)  # a browser that is opened now waits for its first answer
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "not an address"
        raise InvalidInputError(
            "--port", f"a port of {host} that is free ({reason}); --port 0 takes any", port
        ) from None
    return listener


def _log(folder: Path) -> logging.Logger:
    """Where requests are written down: when, what kind, how it ended, how long it took."""
    log = logging.getLogger("veilroute.studio")
    handler = RotatingFileHandler(folder / "studio.log", maxBytes=2**20, backupCount=2, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
    # What the server's own library has to say may quote requests.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    logging.getLogger("uvicorn").propagate = False
    logging.getLogger("asyncio").addHandler(logging.NullHandler())
    logging.getLogger("asyncio").propagate = False
    return log


def _add_demo(store: "Store") -> None:
    """Put the two problems of the tour in."""
    from veilroute.cli.demo import tour
    from veilroute.formats import Instance, write_instance

    known = {file.name for file in store.files()}
    for name, _, problem, privacy in tour():
        title = f"The {name} (demo).json"
        if title in known:
            continue
        path = store.folder / "incoming" / f"{name}.json"
        write_instance(Instance(problem, privacy), path)
        _take(store, path, title)


def _add_file(store: "Store", path: Path) -> None:
    """Open a file that was named on the command line."""
    from veilroute.base.io import open_regular
    from veilroute.studio.files import clean_name

    copy = store.folder / "incoming" / secrets.token_hex(8)
    with open_regular(path) as source, copy.open("xb") as target:
        shutil.copyfileobj(source, target, _MB)
    _take(store, copy, clean_name(path.name), path)


def _take(store: "Store", path: Path, name: str, origin: Path | None = None) -> None:
    import hashlib

    from veilroute.studio.files import classify

    try:
        kind, suffix = classify(path, name)
    except FileFormatError as error:
        path.unlink()
        raise FileFormatError(origin or name, error.problem) from None
    except InvalidInputError as error:
        path.unlink()
        raise InvalidInputError(str(origin or name), str(error).partition("expected ")[2]) from None
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if any(known.sha256 == digest and known.name == name for known in store.files()):
        path.unlink()  # it was opened before
        return
    store.add_file(path, name, kind, suffix, digest)
