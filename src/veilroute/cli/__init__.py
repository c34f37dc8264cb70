"""The command line: one module per command; the only room that prints or exits."""

from veilroute.cli.main import main

__all__ = ["main"]
