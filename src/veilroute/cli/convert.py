"""`veilroute convert`: between instance formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilroute.cli.console import remark
from veilroute.cli.exit_codes import DONE
from veilroute.cli.instances import FileArgument, InstanceOptions, load_instance, takes_instance_options
from veilroute.formats import write_instance


@takes_instance_options
def run_convert(
    instance: FileArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A .json, .in or .map file.")],
    options: InstanceOptions,
) -> int:
    """Convert an instance to another format; what the new format cannot hold is named on standard error."""
    lost = write_instance(load_instance(instance, options), out)
    print(f"Written: {out}")
    if lost:
        remark(f"{out.suffix} holds no {', '.join(lost)}; left out")
    return DONE
