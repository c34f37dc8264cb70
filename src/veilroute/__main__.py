"""So that `python -m veilroute` runs the command line."""

from veilroute.cli import main

if __name__ == "__main__":
    main()
