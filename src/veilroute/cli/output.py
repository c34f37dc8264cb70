"""What every command can say, without the libraries that draw: exit codes, results and remarks."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

from veilroute.base.errors import one_line

# The exit codes; what they mean is the contract's list.
DONE = 0
VIOLATED = 1
BAD_INPUT = 2
NOTHING_ANONYMIZED = 3
INTERRUPTED = 130


def emit(text: str, *, is_utf8: bool = False) -> None:
    """Write a result as it is; in UTF-8 where that is part of its format, whatever the terminal speaks."""
    try:
        if is_utf8 and isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.flush()
            sys.stdout.buffer.write(text.encode())
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_stdout()


def emit_json(data: object) -> None:
    """Write a result as one JSON object."""
    from veilroute.base.io import dump_canonical  # here, because most output is text

    emit(dump_canonical(data).decode())


def remark(line: str) -> None:
    """Say something on standard error: in one line, whatever a file or an argument may hold."""
    from veilroute.cli.keys import as_typed  # here, because most commands remark nothing

    line = as_typed(line)
    with suppress(OSError, ValueError):  # nobody listens
        print(f"veilroute: {one_line(line)}", file=sys.stderr, flush=True)


def forget_stdout() -> None:
    """Send what is still to be printed nowhere, because the reader has gone."""
    sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
