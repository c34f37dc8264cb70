"""Pictures. Importing this package imports matplotlib, so it is imported only where a picture is made."""

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
