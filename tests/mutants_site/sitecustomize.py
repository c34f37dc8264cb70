"""Processes that a test starts have the planted fault, too: Python imports this file by its name when it starts."""

import os

if "VEILROUTE_MUTANT" in os.environ:
    import json

    import mutants

    mutants.plant(*json.loads(os.environ["VEILROUTE_MUTANT"]))
