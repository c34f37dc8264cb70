"""The planners: one file each, one registry."""
