"""Cheapest walks that cover a set of candidates: watchers, fields, class costs and the walks themselves."""
