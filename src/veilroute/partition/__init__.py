"""How candidates are grouped into classes: one file per method, one registry."""
