"""Observers of trips: what each believes after every node, and how often it guesses right."""

from veilroute.adversary.observers import (
    ADVERSARIES,
    Adversary,
    GuessStep,
    WatchReport,
    watch_by_fraction,
    watch_playbook,
)

__all__ = ["ADVERSARIES", "Adversary", "GuessStep", "WatchReport", "watch_by_fraction", "watch_playbook"]
