"""What the command ``veilroute`` runs first, before Python imports the package, which takes longest.

From here on Ctrl-C ends it with one line, and no core dump is written if a secret may be among what was typed. This
module stands beside the package, because a module within it is imported only after the package itself.
"""

import os
import sys

# Everything else is imported where it is needed: what comes before `forbid_core_dumps` should take no time.

_PR_SET_DUMPABLE = 4


def main() -> None:
    """Import the command line and run it."""
    try:
        prepare()
        from veilroute.cli import main as run

        settle()
        run()
    except KeyboardInterrupt:
        _leave()


def prepare() -> None:
    """Get ready for the import: a core dump is forbidden if it could hold a secret, and Ctrl-C ends the process."""
    # Under `python -m` this runs a second time, with the same result.
    if may_hold_secret(sys.argv[1:]):
        forbid_core_dumps()
    import signal
    from contextlib import suppress

    # If Ctrl-C was ignored, as for commands in the background, it is to stay so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):  # not in the main thread, which alone hears of it
            signal.signal(signal.SIGINT, _leave)


def settle() -> None:
    """After the import: Ctrl-C interrupts the command, which answers it."""
    import signal

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_run_as_module() -> bool:
    """Whether Python is just importing the package for ``python -m veilroute``."""
    given: list[str] = getattr(sys, "argv", [])
    # While Python looks for the module, "-m" stands in the place of its name.
    return given[:1] == ["-m"] and sys.orig_argv[-len(given)] in ("veilroute", "-mveilroute")


def may_hold_secret(arguments: list[str]) -> bool:
    """Whether a secret may be among what was typed or read: that of `route`, also in the wrong place, or orders."""
    return may_hold_stop(arguments) or may_hold_orders(arguments)


def may_hold_stop(arguments: list[str]) -> bool:
    """Whether the secret stop may be among what was typed: for `route`, or with its option in the wrong place."""
    return "route" in arguments[:1] or any(map(_is_like_stop, arguments))


def _is_like_stop(word: str) -> bool:
    """Whether a word is the option of the secret stop, perhaps cut short or with more letters: ``--st=8,17``."""
    name = word.lstrip("-").partition("=")[0].lower()
    return (
        word.startswith("-")
        and len(name) > 1
        and (name.startswith(("stop", "transit")) or "stop".startswith(name) or "transit".startswith(name))
    )


def may_hold_orders(arguments: list[str]) -> bool:
    """Whether orders may be among what was typed, where they do not belong."""
    names = [word.lstrip("-").partition("=")[0].lower() for word in arguments if word.startswith("-")]
    return "fleet" in arguments[:1] or any(len(name) > 2 and "orders".startswith(name) for name in names)


def forbid_core_dumps() -> None:
    """Have the system write no image of this process's memory when it is killed: secrets may be in it."""
    from contextlib import suppress

    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # The limit does not hold where images go to a program; this does.
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _leave(_number: int = 0, _frame: object = None) -> None:
    try:
        os.write(2, b"veilroute: interrupted\n")
    finally:
        os._exit(130)
