"""So that `python -m veilroute` runs the command line."""

from veilroute_start import main

if __name__ == "__main__":
    main()
