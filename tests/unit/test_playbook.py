from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import veilroute as vr
from street_samples import as_written_before, little_book, little_town
from veilroute import playbook_from_json
from veilroute.streets import lay_route


@pytest.fixture
def playbook(two_rooms: vr.Domain) -> vr.Playbook:
    problem = vr.Problem(
        two_rooms, [vr.Trip((0, 0), (2, 6)), vr.Trip((2, 0), (0, 6), 2.0)], [(0, 2), (2, 2), (0, 4), (2, 4)]
    )
    return vr.solve(problem, vr.Privacy(k=2, ell=2))


def test_members_of_a_class_are_given_the_same_route_a_sequence_of_labels(playbook: vr.Playbook) -> None:
    for group in playbook.classes:
        for trip in (0, 1):
            assert len({playbook.route_for(member, trip).nodes for member in group.members}) == 1
    route = playbook.route_for((0, 2))
    assert (route[0], route[-1], list(route)) == ((0, 0), (2, 6), list(route.nodes))
    assert len(route) == route.cost + 1
    assert route[:2] == route.nodes[:2]
    assert playbook.route_for([0, 2]) == route  # type: ignore[arg-type]


def test_file_round_trip_keeps_every_byte(playbook: vr.Playbook, tmp_path: Path) -> None:
    path = tmp_path / "playbook.json"
    playbook.write(path)
    again = vr.read_playbook(path)
    assert again.to_json() == playbook.to_json() == path.read_bytes()
    assert again.mac == playbook.mac
    assert again.gap == 0


def test_without_its_domain_a_playbook_still_gives_routes(playbook: vr.Playbook, tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    playbook.write(path, embed_domain=False)
    bare = vr.read_playbook(path)
    assert bare.domain is None
    assert bare.route_for((0, 2)) == playbook.route_for((0, 2))
    with pytest.raises(vr.InvalidInputError, match="only its hash"):
        vr.audit(bare)
    assert playbook.domain is not None
    assert vr.audit(vr.read_playbook(path, domain=playbook.domain)).holds
    with pytest.raises(vr.InvalidInputError, match="SHA-256"):
        bare.with_domain(vr.grid_domain([".."]))


def test_members_that_are_not_anonymized_get_no_route_unless_exposed(line5: vr.Domain) -> None:
    playbook = vr.solve(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2, ell=2))
    lonely = vr.solve(vr.Problem(line5, [vr.Trip(0, 4)], [1, 2, 3]), vr.Privacy(k=2, ell=2, spread="all-pairs"))
    assert playbook.apr == 1
    assert lonely.claims.num_anonymized == 2
    with pytest.raises(vr.NotAnonymizedError):
        lonely.route_for(2)
    assert lonely.route_for(2, expose=True).nodes == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("planner", ["optimal", "m-pbp", "cbp", "rbp"])
def test_where_members_part_the_class_holds_what_they_share(planner: str, tmp_path: Path) -> None:
    problem = vr.Problem(little_town(), [vr.Trip(105, 108), vr.Trip(108, 105)], [102, 104, 109, 111, 103, 112])
    book = vr.solve(problem, vr.Privacy(k=2, ell=0, m=3), planner=planner)
    book.write(tmp_path / "book.json")
    assert vr.audit(book).holds
    assert any(group.member_routes for group in book.classes)
    for group in vr.read_playbook(tmp_path / "book.json").classes:
        for trip, shared in enumerate(group.routes):
            routes = [group.route_of(member, trip).nodes for member in group.members]
            assert group.shared(trip) == shared.nodes
            assert all(nodes[: len(shared)] == shared.nodes for nodes in routes)
            own = [member for of_trip, member in group.member_routes if of_trip == trip]
            if len(set(routes)) > 1:
                # As much as is shared, and all have their own: nobody's route stands for those of the others.
                assert len({nodes[: len(shared) + 1] for nodes in routes}) > 1
                assert len(shared) >= 3
                assert own == list(group.members)
                assert shared.cost == pytest.approx(lay_route(little_town(), shared.nodes).cost)
                assert {m for who, _ in group.rests(trip) for m in who} == set(group.members)
            else:
                assert own == []
                assert group.rests(trip) == []


def test_playbooks_of_before_say_the_same(tmp_path: Path) -> None:
    book = little_book(m=3)
    as_written_before(book).write(tmp_path / "old.json")
    old = vr.read_playbook(tmp_path / "old.json")
    assert vr.audit(old).holds
    for group, before in zip(book.classes, old.classes, strict=True):
        assert before.shared(0) == group.shared(0)
        assert before.rests(0) == group.rests(0)
        assert all(book.route_for(member) == old.route_for(member) for member in group.members)


def broken_books(book: vr.Playbook) -> dict[str, vr.Playbook]:
    """Playbooks whose first class does not keep (k, ell, m), as anybody who has the file can see, without the map."""
    first, second, *rest = book.classes
    member = first.members[0]
    start, goal = book.trips[0].start, book.trips[0].goal
    whole = first.routes[0]
    own = {(0, member): replace(whole, nodes=(*whole.nodes[:-1], whole.nodes[-2], whole.nodes[-1]))}

    def with_first(**changes: Any) -> vr.Playbook:
        return replace(book, classes=(replace(first, **changes), second, *rest))

    return {
        "alone": with_first(members=(member,)),
        "twice": with_first(members=(member, member)),
        "a start": with_first(members=(member, start)),
        "no candidate": with_first(members=(member, whole.nodes[1])),
        "of the class before": replace(book, classes=(second, replace(first, members=(member, *second.members)))),
        "a larger k": replace(book, privacy=replace(book.privacy, k=len(first.members) + 1)),
        "a route of its own": with_first(member_routes=own),
        "another start": with_first(routes=(replace(whole, nodes=whole.nodes[1:]), *first.routes[1:])),
        "another goal": with_first(routes=(replace(whole, nodes=(*whole.nodes, goal, start)), *first.routes[1:])),
        "no route": with_first(routes=(replace(whole, nodes=()), *first.routes[1:])),
        "a trip too few": with_first(routes=first.routes[:1]),
    }


def test_a_class_that_falls_short_gives_no_route(playbook: vr.Playbook) -> None:
    member = playbook.classes[0].members[0]
    assert playbook.route_for(member)
    for how, broken in broken_books(playbook).items():
        for trip in (0, 1):
            with pytest.raises(vr.BrokenPromiseError, match="veilroute audit") as refused:
                broken.route_for(member, trip)
            assert isinstance(refused.value, vr.NotAnonymizedError), how
            assert refused.value.__context__ is None, how
        assert not vr.audit(broken).holds, how
        # All members share the whole route, so nobody is given one of its own, even if the class holds some.
        (given, *_), *_, (last, *_) = (group.routes for group in broken.classes)
        assert broken.route_for(member, expose=True) is (last if "before" in how else given), how


def test_unknown_candidates_and_trips(playbook: vr.Playbook) -> None:
    with pytest.raises(vr.UnknownCandidateError):
        playbook.route_for((1, 1))
    with pytest.raises(vr.InvalidInputError, match="trip"):
        playbook.route_for((0, 2), trip=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "veilroute-playbook/2"}, "written in veilroute-playbook/2, but this version reads"),
        ({"classes": None}, "damaged playbook"),
        ({"options": [[1, 2]]}, "damaged playbook"),
        (
            {"classes": [{"members": [[0, 2]], "anonymized": True, "routes": []}]},
            "one shared route for each of 2 trips",
        ),
        ({"privacy": {"k": 0, "ell": 1, "m": None, "spread": "witness"}}, "Privacy.k"),
        ({"privacy": {"k": 2, "ell": 1, "m": None, "spread": "witness", "colour": 0}}, "damaged playbook"),
        ({"privacy": {"k": 2, "ell": 1, "spread": "witness"}}, "privacy: expected k, ell, m and spread"),
        ({"names": [[[0, 2], "A"], [[0, 2], "B"]]}, "one name for each node"),
        ({"names_sha256": 7}, "names_sha256"),
        ({"places": [[[0, 2], 24.9]]}, "a list of .node, longitude, latitude."),
        ({"places": [[[0, 2], 24.9, 91]]}, "latitudes from -90 to 90"),
        ({"places": [[[0, 2], 1, 2], [[0, 2], 1, 3]]}, "one entry for each node"),
        ({"domain_sha256": "0"}, "domain_sha256"),
        ({"claims": {}}, "damaged playbook"),
        ({"classes": [{"members": [[0, 2]], "anonymized": "false", "routes": []}]}, "one shared route"),
    ],
)
def test_damaged_playbooks_are_refused(playbook: vr.Playbook, change: dict[str, Any], message: str) -> None:
    data = json.loads(playbook.to_json()) | change
    with pytest.raises(vr.FileFormatError, match=message):
        playbook_from_json(json.dumps(data).encode(), source="playbook.json")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("claims", "mac_lower_bound"), "nan"),
        (("claims", "mac"), "0.1"),
        (("claims", "num_candidates"), 3.9),
        (("classes", 0, "anonymized"), "false"),
    ],
)
def test_values_are_taken_as_they_stand(playbook: vr.Playbook, path: tuple[Any, ...], value: Any) -> None:
    data = holder = json.loads(playbook.to_json())
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(vr.FileFormatError, match=path[-1]):
        playbook_from_json(json.dumps(data).encode())


@pytest.mark.parametrize("end", [0, 1])
def test_a_node_number_with_a_fraction_is_refused(end: int) -> None:
    """On street networks it was cut off, and the file meant another map to whoever rounds."""
    data = json.loads(little_book().to_json())
    data["domain"]["graph"]["edges"][3][end] += 0.9
    with pytest.raises(vr.FileFormatError, match="whole numbers"):
        playbook_from_json(json.dumps(data).encode())
