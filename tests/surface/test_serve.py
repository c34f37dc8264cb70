"""The studio's server as its clients see it: jobs, their ends, and who is refused."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from commands import Command, assert_refused
from studio_client import FINAL, SECRET, Server, endings, fuzz
from veilroute import Instance, Privacy, Problem, Trip, write_instance
from veilroute.cli import write_down_address
from veilroute.domain import WithinDistance, draw_candidates, generate_rooms

SMALL = b"type octile\nheight 3\nwidth 5\nmap\n.....\n.@.@.\n.....\n"
PLACES = {"start": "0,0", "goal": "0,4", "candidates": ["2,0", "2,2", "2,4", "0,2"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("studio") / "data"
    with Server(data, "--demo", "--workers", "1", "--queue", "6", "--memory", "1024", "--upload", "2") as running:
        yield running


@pytest.fixture(scope="module")
def book(server: Server) -> str:
    """A playbook of the small map."""
    job = server.run("plan", source=server.file("small.map", SMALL), options={**PLACES, "k": 2}, time_limit_s=2)
    assert job["state"] == "done", job
    return f"{job['id']}/playbook.json"


@pytest.fixture(scope="module")
def long_instance(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One for which a proof takes far longer than any test."""
    rooms = generate_rooms(60, 90, seed=3)
    start, goal = rooms.label(0), rooms.label(rooms.num_nodes - 1)
    places = draw_candidates(rooms, start, goal, 60, seed=1)
    path = tmp_path_factory.mktemp("long") / "long.json"
    problem = Problem(rooms, [Trip(start, goal)], places, WithinDistance(1))
    write_instance(Instance(problem, Privacy(k=4, ell=6)), path)
    return path.read_bytes()


class TestJobs:
    def test_from_a_file_to_audited_routes(self, server: Server) -> None:
        files = server.ask("GET", "/api/files").json["files"]
        assert [file["kind"] for file in files[:2]] == ["instance", "instance"]
        opened = server.run("open", source=files[1]["id"])
        assert opened["state"] == "done"
        assert server.result(opened["id"], "scene.json")["format"] == "veilroute-scene/1"
        answer = server.submit("plan", source=files[1]["id"], options={"k": 2}, time_limit_s=20)
        assert answer.status == 202
        assert answer.headers["location"] == f"/api/jobs/{answer.json['id']}"
        seen = list(server.events(answer.json["id"]))
        names = [data["name"] for name, data in seen if name == "result"]
        assert set(names) == {"playbook.json", "plan.json", "scene.json", "audit.json", "risk.json"}
        last = seen[-1]
        assert last[0] == "state"
        assert last[1]["state"] == "done"
        assert last[1]["exit_code"] == 0
        assert server.result(last[1]["id"], "audit.json")["holds"]
        assert server.result(last[1]["id"], "plan.json")["status"] == "optimal"
        # A proof within the first two seconds is the last word: there is no second plan.
        assert all(data["is_final"] for name, data in seen if name == "result")

    def test_every_kind_of_job_gives_its_results(self, server: Server, book: str) -> None:
        source = server.file("small.map", SMALL)
        wanted: dict[str, tuple[dict[str, object], set[str]]] = {
            "audit": ({"playbook": book}, {"audit.json", "audit.txt"}),
            "risk": ({"playbook": book}, {"risk.json"}),
            "export": ({"playbook": book, "format": "csv"}, {"routes.csv"}),
            "replan": ({"playbook": book, "class": 2, "at": "0,0", "closed": "0,0,0,1"}, {"replan.json"}),
            "frontier": (
                {"source": source, "options": PLACES, "k": [2, 4], "mechanism": "partition"},
                {"frontier.json", "playbook-0.json", "playbook-1.json", "scene-0.json", "scene-1.json"},
            ),
        }
        for kind, (params, names) in wanted.items():
            job = server.run(kind, **params)
            assert job["state"] == "done", (kind, job)
            assert set(job["results"]) == names

    def test_days_and_linked_trips(self, server: Server, book: str, command: Command, tmp_path: Path) -> None:
        day = server.run("fleet", playbook=book, touched=[1], vehicles=2, iterations=10)
        assert day["state"] == "done", day
        assert {"fleet.json", "day.json", "report.pdf"} <= set(day["results"])
        assert server.result(day["id"], "fleet.json")["touched"] == [1]
        wrong = server.run("fleet", playbook=book, touched=[99], vehicles=2)
        assert (wrong["state"], wrong["error"].startswith("touched: ")) == ("failed", True)
        (tmp_path / "book.json").write_bytes(server.ask("GET", f"/api/jobs/{book.replace('/', '/results/')}").body)
        assert command("ledger", "new", "week.jsonl").code == 0
        assert command("ledger", "add", "week.jsonl", "book.json").code == 0
        ledger = server.file("week.jsonl", (tmp_path / "week.jsonl").read_bytes())
        job = server.run("linked", ledger=ledger, playbooks=[book])
        assert job["state"] == "done", job
        assert server.result(job["id"], "ledger.json")["safe"]
        assert server.result(job["id"], "linked.json")["claims"]

    def test_what_is_wrong_is_said_in_one_line_with_the_file_s_own_name(self, server: Server) -> None:
        broken = server.file("Bürohaus <b>.map", b"type octile\nheight 3\nwidth 5\nmap\n.....\n")
        job = server.run("open", source=broken)
        assert job["state"] == "failed"
        assert job["error"].startswith("Bürohaus <b>.map: truncated")
        assert job["remarks"] == [job["error"]]
        # A file with a very long name stands in nobody's way; that nothing can be hidden is no failure.
        source = server.file("\U0001d400" * 110 + ".map", SMALL)
        job = server.run("plan", source=source, options={**PLACES, "k": 4, "ell": 50}, time_limit_s=5)
        assert (job["state"], job["exit_code"]) == ("done", 3)
        assert set(job["results"]) == {"plan.json", "playbook.json", "scene.json"}
        assert server.ask("DELETE", f"/api/files/{source}").status == 204

    def test_all_problems_of_a_table_are_data_with_rows_before_anything_is_planned(self, server: Server) -> None:
        source = server.file("small.map", SMALL)
        rows = ["name,node,role", 'Depot,"0,0",start', 'Anna,"0,2",', 'Bert,"9,9",', 'Cem,"1,1",', "Dora,nowhere,"]
        table = server.file("Kunden.csv", "\n".join(rows).encode())
        for kind in ("check", "plan"):
            job = server.run(kind, map=source, places=table)
            assert (job["state"], job["results"], job["exit_code"]) == ("failed", [], 2)
            assert [(one["file"], one["row"]) for one in job["problems"]] == [("Kunden.csv", row) for row in (4, 5, 6)]
            assert all(one["what"] and "did_you_mean" in one for one in job["problems"])
            assert job["error"].startswith("3 problems; the first: Kunden.csv, line 4")
            assert "--" not in job["error"]
            assert "\n" not in job["error"]
        right = server.file("Kunden.csv", "\n".join(rows[:3]).encode())
        job = server.run("check", map=source, places=right, goal="0,4")
        assert (job["state"], job["problems"]) == ("done", [])
        assert [place["name"] for place in server.result(job["id"], "check.json")["places"]] == ["Anna"]

    def test_a_full_queue_says_so_and_cancelling_keeps_the_best_so_far(
        self, server: Server, long_instance: bytes
    ) -> None:
        source = server.file("long.json", long_instance)
        running = server.submit("plan", source=source, options={}, time_limit_s=600).json["id"]
        waiting = [server.submit("plan", source=source, options={}, time_limit_s=600) for _ in range(7)]
        assert [answer.status for answer in waiting].count(429) >= 1
        full = waiting[-1]
        assert "retry-after" in full.headers
        assert "queue is full" in full.json["error"]
        for answer in waiting:
            if answer.status == 202:
                assert server.ask("POST", f"/api/jobs/{answer.json['id']}/cancel").json["state"] == "cancelled"
        scenes = (data for name, data in server.events(running) if data.get("name") == "scene.json")
        assert not next(scenes)["is_final"]  # the routes are there while the proof is still looked for
        assert server.ask("POST", f"/api/jobs/{running}/cancel").status == 202
        job = server.wait(running)
        assert job["state"] == "cancelled"
        assert {"playbook.json", "plan.json", "scene.json"} <= set(job["results"])
        assert server.result(running, "plan.json")["num_anonymized"] > 0

    def test_a_worker_that_dies_is_reported_and_its_job_resumed(self, server: Server, long_instance: bytes) -> None:
        source = server.file("long.json", long_instance)
        id_ = server.submit("plan", source=source, options={}, time_limit_s=600).json["id"]
        for name, data in server.events(id_):
            if name == "progress" and data["elapsed_s"] > 0.2:
                os.kill(server.workers()[0], signal.SIGKILL)
        job = server.job(id_)
        assert job["state"] == "killed"
        assert "signal 9" in job["error"]
        again = server.ask("POST", f"/api/jobs/{id_}/resume").json
        assert (again["state"] in ("queued", "running"), again["attempt"]) == (True, 2)
        assert server.ask("POST", f"/api/jobs/{id_}/resume").status == 409
        while server.job(id_)["state"] == "queued":
            time.sleep(0.05)
        before = next(server.workers() for name, _ in server.events(id_) if name == "progress")
        server.ask("POST", f"/api/jobs/{id_}/cancel")
        assert server.wait(id_)["state"] == "cancelled"
        # A worker that was interrupted is replaced.
        assert server.run("open", source=source)["state"] == "done"
        assert not set(before) & set(server.workers())

    def test_jobs_outlive_a_server_that_is_killed(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        server = Server(data, "--workers", "1").start()
        source = server.file("small.map", SMALL)
        ids = [server.submit("plan", source=source, options=PLACES, time_limit_s=1).json["id"] for _ in range(5)]
        server.wait(ids[1])
        jobs = server.ask("GET", "/api/jobs").json["jobs"]
        finished = {job["id"]: job["attempt"] for job in jobs if job["state"] in FINAL}
        workers = server.workers()
        server.kill()
        assert not [pid for pid in workers if _is_there(pid)], "no worker outlives its server"
        with Server(data, "--workers", "1") as server:
            for id_ in ids:
                job = server.wait(id_)
                assert job["state"] == "done"
                assert job["attempt"] == finished.get(id_, job["attempt"]), "what was finished is not begun again"
                assert server.result(id_, "audit.json")["holds"]
        assert {id_: len(found) for id_, found in endings(data).items()} == dict.fromkeys(ids, 1)


def _is_there(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


class TestRefusals:
    def refused(self, server: Server, status: int, method: str, path: str, **given: object) -> None:
        answer = server.ask(method, path, **given)  # type: ignore[arg-type]
        assert answer.status == status, answer
        assert list(answer.json) == ["error"]
        assert b"Traceback" not in answer.body
        assert "nosniff" in answer.headers["x-content-type-options"]

    @pytest.mark.parametrize(
        ("headers", "status"),
        [({"Host": "evil.example"}, 421), ({"Origin": "null"}, 403), ({"Content-Encoding": "gzip"}, 415)],
    )
    def test_pages_from_elsewhere(self, server: Server, headers: dict[str, str], status: int) -> None:
        self.refused(server, status, "POST", "/api/jobs", body={"kind": "audit", "params": {}}, headers=headers)

    def test_our_own_page_is_answered(self, server: Server) -> None:
        page = server.ask("GET", "/")
        assert page.status == 200
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        assert "set-cookie" not in page.headers
        script = server.ask("GET", "/static/api.js")
        assert script.headers["content-type"].startswith("text/javascript")
        again = server.ask("GET", "/static/api.js", headers={"If-None-Match": script.headers["etag"]})
        assert again.status == 304

    @pytest.mark.parametrize(
        "path",
        [
            "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static/server.py",
            "/static//etc/passwd", "/api/files/../../studio.sqlite", "/api/files/%2e%2e%2fstudio.sqlite",
            "/api/files/" + "0" * 16, "/api/jobs/x/results/plan.json", "/api/jobs/../files", "/nowhere", "//", "/api",
        ],
    )  # fmt: skip
    def test_addresses_that_lead_nowhere(self, server: Server, path: str) -> None:
        self.refused(server, 404, "GET", path)

    def test_results_by_other_names(self, server: Server, book: str) -> None:
        id_ = book.split("/")[0]
        for name in ("..%2f..%2f..%2fstudio.sqlite", "stderr.txt", "trace.txt", ".", "%00", "plan.json%00"):
            self.refused(server, 404, "GET", f"/api/jobs/{id_}/results/{name}")
        answer = server.ask("GET", f"/api/jobs/{id_}/results/plan.json")
        assert answer.headers["content-disposition"] == 'attachment; filename="plan.json"'
        assert "sandbox" in answer.headers["content-security-policy"]

    @pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "CONNECT", "BREW"])
    def test_other_methods(self, server: Server, method: str) -> None:
        self.refused(server, 405, method, "/api/files")

    def test_a_request_that_says_two_things(self, server: Server) -> None:
        both = b"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n" % server.port
        both += b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        two_hosts = b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nHost: evil.example\r\n\r\n" % server.port
        long = b"GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (b"a" * 3000, server.port)
        for raw, status in ((both, b"400"), (two_hosts, b"400"), (long, b"414"), (b"\x00\xff\r\n\r\n", b"400")):
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as wire:
                wire.sendall(raw)
                assert wire.recv(4096).split(b" ")[1] == status

    @pytest.mark.parametrize("decoy", ["veilroute-network/1", "", "ledger: veilroute-ledger/1"])
    @pytest.mark.parametrize("name", ["", "../../../../studio.sqlite", "..", "\\\\host\\share"])
    def test_an_instance_reads_no_map_from_elsewhere_whatever_it_is_taken_for(
        self, server: Server, tmp_path: Path, decoy: str, name: str
    ) -> None:
        (tmp_path / "secret.map").write_bytes(SMALL)
        instance = {
            "attribution": decoy, "candidates": [[2, 0], [2, 2]], "format": "veilroute-instance/1",
            "domain": {"grid": {"map": name or str(tmp_path / "secret.map")}},
            "trips": [{"start": [0, 0], "goal": [0, 4]}],
        }  # fmt: skip
        for text in (json.dumps(instance), json.dumps(instance).replace('"grid"', '"gr\\u0069d"')):
            file = server.file("a.json", text.encode())
            for kind, more in (("open", {}), ("plan", {"options": {"k": 2}})):
                answer = server.ask("POST", "/api/jobs", body={"kind": kind, "params": {"source": file, **more}})
                if answer.status == 202:
                    job = server.wait(answer.json["id"])
                    assert job["state"] == "failed"
                    assert not job["results"]

    def test_files_that_are_not_taken(self, server: Server) -> None:
        assert server.upload("large.map", b"." * (2 * 2**20 + 1)).status == 413
        assert server.upload("key.txt", b"veilroute-key/1\n" + b"00" * 32).status == 422
        assert not list((server.data / "incoming").iterdir())
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(10**12)}
        assert server.ask("POST", "/api/files?name=a.map", b"", headers).status == 413

    def test_a_bomb_bursts_in_its_worker(self, server: Server) -> None:
        wrapped = io.BytesIO()
        with zipfile.ZipFile(wrapped, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("[Content_Types].xml", "<Types/>")
            archive.writestr("xl/workbook.xml", b" " * 100_000_000)
        source, bomb = server.file("small.map", SMALL), server.file("places.xlsx", wrapped.getvalue())
        job = server.run("plan", source=source, options={"places": bomb}, time_limit_s=1)
        assert job["state"] == "failed"
        assert "places.xlsx" in job["error"] or "memory" in job["error"]
        assert server.run("open", source=source)["state"] == "done"

    def test_hostile_names_stay_text(self, server: Server) -> None:
        name = "</script>\u2028<img src=x onerror=alert(1)>\u202egnp.\u0000\r\nSet-Cookie: a=b/../../x.map"
        file = server.upload(name, SMALL).json
        assert file["name"] == "x.map"
        name = "</script>\u2028\u202e\u200f\r\n<b>.map"
        file = server.upload(name, SMALL).json
        assert file["name"] == "script> <b>.map"
        answer = server.ask("GET", f"/api/files/{file['id']}")
        assert answer.headers["content-disposition"] == 'attachment; filename="map.map"'
        assert answer.headers["content-type"] == "application/octet-stream"
        for place in ("--help", "-o/tmp/x", "$(id)", "; rm", "{file}", "{book}", "\u202e1,1"):
            options = {**PLACES, "start": place}
            answer = server.submit("plan", source=file["id"], options=options, time_limit_s=1)
            if answer.status == 202:
                job = server.wait(answer.json["id"])
                assert (job["state"], job["exit_code"]) == ("failed", 2)
                assert job["error"].startswith("start: ")
                assert [problem["field"] for problem in job["problems"]] == ["start"]
            else:
                assert answer.status == 422

    def test_calls_made_up_at_random(self, server: Server, book: str) -> None:
        fuzz(server, book, 250, seed=1)

    def test_the_log_says_nothing_of_what_was_asked(self, server: Server) -> None:
        file = server.file(f"{SECRET}.map", SMALL)
        server.submit("plan", f"key {SECRET}", source=file, options={"start": SECRET}, time_limit_s=1)
        server.ask("GET", f"/{SECRET}?{SECRET}", headers={SECRET: SECRET, "User-Agent": SECRET})
        server.ask("GET", "/api/about", headers={"Host": SECRET})
        server.ask("GET", "/api/jobs/%0a2026-01-01%20fake")
        log = server.log()
        assert SECRET not in log
        for line in log.splitlines():
            assert line.split(" ", 2)[2].split(" ")[0] in ("GET", "POST", "DELETE", "OTHER"), line
        assert "fake" not in log


class TestServe:
    def test_elsewhere_a_token_is_needed_and_files_of_the_command_line_are_there(self, tmp_path: Path) -> None:
        (tmp_path / "small.map").write_bytes(SMALL)
        data, given = tmp_path / "data", str(tmp_path / "small.map")
        with Server(data, "--host", "0.0.0.0", given, given) as server:
            assert len(server.token) >= 32
            files = server.ask("GET", "/api/files").json["files"]
            assert [file["name"] for file in files] == ["small.map"]  # named twice, it is there once
            assert server.ask("GET", "/api/about", headers={"Authorization": "Bearer wrong"}).status == 401
            assert server.ask("GET", "/api/about", headers={"Host": f"evil.example:{server.port}"}).status == 421
            assert server.ask("GET", "/", headers={"Authorization": ""}).status == 200
            code, said = server.stop()
        assert code == 0
        assert server.token not in said
        assert server.token not in server.log()
        assert oct(data.stat().st_mode)[-3:] == "700"

    def test_a_browser_is_not_told_the_token_where_everybody_can_read_it(self, tmp_path: Path) -> None:
        with ExitStack() as tidy:
            shown = write_down_address("http://127.0.0.1:8765/#token=abc", tmp_path, tidy)
            page = tmp_path / "open.html"
            assert shown == page.as_uri()
            assert "url=http://127.0.0.1:8765/#token=abc" in page.read_text(encoding="utf-8")
            assert oct(page.stat().st_mode)[-3:] == "600"
        assert not page.exists()

    def test_what_is_wrong_with_options(self, command: Command, server: Server, tmp_path: Path) -> None:
        assert_refused(command("serve", "--workers", "0"), "--workers", "1 to 64")
        assert_refused(command("serve", "--time-limit", "0"), "--time-limit")
        assert_refused(command("serve", "--port", str(server.port), "--data", tmp_path / "d"), "--port", "free")
        (tmp_path / "notes.doc").write_text("x")
        assert_refused(command("serve", "--port", "0", "--data", tmp_path / "d", tmp_path / "notes.doc"), "notes.doc")


def test_scenes_of_a_map_an_instance_and_a_playbook(command: Command, tmp_path: Path) -> None:
    (tmp_path / "small.map").write_bytes(SMALL)
    for text in ("2,0 2,2", "2,0;2,2;", " 2,0 ; 2,2;"):
        places = ["--start", "0,0", "--goal", "0,4", "--candidates", text]
        assert json.loads(command("plan", "small.map", *places, "-o", "book.json", "--json").out)["num_candidates"] == 2
    asked: dict[str, list[str]] = {"map": ["small.map"], "instance": ["small.map", *places], "playbook": ["book.json"]}
    for kind, words in asked.items():
        assert command("scene", *words, "-o", f"{kind}.json").code == 0
        scene = json.loads((tmp_path / f"{kind}.json").read_bytes())
        assert scene["format"] == "veilroute-scene/1" and kind in scene
    assert_refused(command("scene", "small.map", "-o", "map.png"), "--out", "one of .json")
    assert_refused(command("scene", "nothing.map", "-o", "map.json"), "nothing.map")
