"""The claims about who drives the routes: that every turn is legal."""

from veilroute.auditing.claims import distinct_routes
from veilroute.auditing.replay import ReplayedPlaybook
from veilroute.auditing.verdicts import ClaimVerdict, judge, number

_WHERE = {"never": "nowhere", "dead-ends": "at dead ends only", "allow": "anywhere"}


def check_turns(replayed: ReplayedPlaybook) -> ClaimVerdict:
    """No route has an illegal turn; routes that are no walks are left to ``walk``."""
    routes = distinct_routes(replayed)
    problems = [
        f"the route for {who}{replayed.on_trip(trip)} {route.illegal}" for route, who, trip in routes if route.illegal
    ]
    rules = replayed.survey.rules
    if rules is None:
        return judge("turns", problems, "any turn is legal")
    banned = number(len(rules.turns.banned), "banned stretch", "banned stretches")
    shown = f"{number(len(routes), 'distinct route')}, none with any of {banned}; turning round is legal"
    return judge("turns", problems, f"{shown} {_WHERE[rules.turns.u_turns]}")
