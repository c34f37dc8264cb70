"""What the command ``veilroute`` runs first: Ctrl-C ends it with one line, also while Python imports the package.

It stands beside the package, because a module within it is imported only after the package itself, which takes longest.
"""

import os
import sys


def main() -> None:
    """Import the command line and run it."""
    try:
        from veilroute.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("veilroute: interrupted\n")
        sys.stderr.flush()
        os._exit(130)
