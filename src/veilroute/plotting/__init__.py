"""Pictures. Importing this package imports matplotlib, so it is imported only where a picture is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilroute.base.lazy import lazy_names
from veilroute.plotting.day_map import day_html
from veilroute.plotting.day_plot import draw_day, plot_day
from veilroute.plotting.day_report import write_day_report
from veilroute.plotting.domain_plot import plot_domain
from veilroute.plotting.frontier_plot import draw_frontier, plot_frontier
from veilroute.plotting.html_map import html_map, write_html_map
from veilroute.plotting.linked_plot import draw_linked, plot_linked
from veilroute.plotting.pairs_plot import draw_survey, plot_survey
from veilroute.plotting.pdf_report import write_report
from veilroute.plotting.playbook_plot import draw_playbook, plot_playbook

if TYPE_CHECKING:
    from veilroute.plotting.base_map import plane_of
    from veilroute.plotting.domain_plot import bend_walks, street_lines
    from veilroute.plotting.frame import lay_out
    from veilroute.plotting.html_map import join_modules
    from veilroute.plotting.lanes import assign_lanes
    from veilroute.plotting.marks import letters, spread_marks
    from veilroute.plotting.pages import Pages, break_lines, text_in
    from veilroute.plotting.palette import FLOOR, WALL, class_style, luminance
    from veilroute.plotting.pdf_report import report_pages
    from veilroute.plotting.playbook_plot import rings
    from veilroute.plotting.routes import arrows_along, cornered_path, lane_sizes, rounded_path, route_path
    from veilroute.plotting.scene import domain_scene, instance_scene, playbook_scene
    from veilroute.plotting.seats import SENTENCES, drive_data, unpack_gpx, watch_data

# For the house and its tests; what is for users is in __all__. Each is imported when it is wanted.
__getattr__ = lazy_names(__name__, __file__)


__all__ = [
    "day_html",
    "draw_day",
    "draw_frontier",
    "draw_linked",
    "draw_playbook",
    "draw_survey",
    "html_map",
    "plot_day",
    "plot_domain",
    "plot_frontier",
    "plot_linked",
    "plot_playbook",
    "plot_survey",
    "write_day_report",
    "write_html_map",
    "write_report",
]
