"""Why candidates get no route."""

from veilroute.diagnosis.obstacles import Obstacle, find_obstacles

__all__ = ["Obstacle", "find_obstacles"]
