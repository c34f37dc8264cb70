"""The studio's server under load, killed, and attacked; prints figures.

    python benchmarks/studio.py [load|kills|attacks|slow ...] [--clients 50] [--plans 500] [--kills 20] [--calls 2000]

load: many clients plan at once while others ask for the page; kills: the server is killed again and again while jobs
run; attacks: requests from elsewhere, traversal, bombs and made-up calls; slow: clients that never finish a request.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import random
import socket
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from studio_client import FINAL, SECRET, Server, endings, fuzz, rss_mb
from veilroute.domain import WithinDistance, draw_candidates, generate_rooms
from veilroute.formats import Instance, write_instance
from veilroute.model.problem import Privacy, Problem, Trip

SMALL = b"type octile\nheight 3\nwidth 5\nmap\n.....\n.@.@.\n.....\n"
PLACES = {"start": "0,0", "goal": "0,4", "candidates": ["2,0", "2,2", "2,4", "0,2"]}


def building(folder: Path, num_candidates: int, rows: int, columns: int) -> bytes:
    """A guard's round through rooms, as an instance file."""
    rooms = generate_rooms(rows, columns, seed=3)
    start, goal = rooms.label(0), rooms.label(rooms.num_nodes - 1)
    places = draw_candidates(rooms, start, goal, num_candidates, seed=1)
    path = folder / "building.json"
    problem = Problem(rooms, [Trip(start, goal)], places, WithinDistance(1))
    write_instance(Instance(problem, Privacy(k=3, ell=4)), path)
    return path.read_bytes()


class Memory:
    """Watches how much memory a server and its workers have."""

    def __init__(self, server: Server) -> None:
        self.server, self.peak, self.peak_worker = server, 0.0, 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            self.peak = max(self.peak, rss_mb(self.server.pid))
            for pid in self.server.workers():
                self.peak_worker = max(self.peak_worker, rss_mb(pid))


class Visitor:
    """Asks for something again and again, in a process of its own, and writes down how long that took."""

    def __init__(self, server: Server, path: str, every_s: float) -> None:
        self.path = path
        self.times_ms: list[float] = []
        self.statuses: Counter[int] = Counter()
        spawn = multiprocessing.get_context("spawn")
        self._ours, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_visit, args=(server.port, path, every_s, theirs))

    def __enter__(self) -> Visitor:
        self._process.start()
        self._ours.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.send("enough")
        self.times_ms, statuses = self._ours.recv()
        self.statuses = Counter(statuses)
        self._process.join()

    def line(self) -> str:
        times = sorted(self.times_ms)
        worst = times[min(len(times) - 1, int(0.99 * len(times)))]
        told = f"median {statistics.median(times):.0f} ms, 99th percentile {worst:.0f} ms, longest {times[-1]:.0f} ms"
        return f"  {self.path}: {told} ({len(times)} requests, statuses {dict(self.statuses)})"


def _visit(port: int, path: str, every_s: float, told: Connection) -> None:
    server = Server(Path())
    server.port = port
    times_ms, statuses = [], []
    told.send("ready")
    while not told.poll(every_s):
        began = time.perf_counter()
        statuses.append(server.ask("GET", path).status)
        times_ms.append(1000 * (time.perf_counter() - began))
    told.send((times_ms, statuses))


def load(folder: Path, num_clients: int, num_plans: int) -> bool:
    """Many clients plan at once; nothing may fail but for a full queue."""
    data = folder / "load"
    states: Counter[str] = Counter()
    refusals: Counter[int] = Counter()
    waits: list[float] = []
    with Server(data, "--workers", "2", "--queue", "40", "--memory", "2048") as server:
        source = server.file("building.json", building(folder, 10, 30, 40))
        left = iter(range(num_plans))
        lock = threading.Lock()

        def client(number: int) -> None:
            rng = random.Random(number)
            while True:
                with lock:
                    if next(left, None) is None:
                        return
                began = time.monotonic()
                while True:
                    answer = server.submit("plan", source=source, options={"k": rng.choice([2, 3])}, time_limit_s=2)
                    if answer.status == 202:
                        break
                    with lock:
                        refusals[answer.status] += 1
                    if answer.status != 429:
                        return
                    time.sleep(rng.uniform(0.2, 1.0))
                job = answer.json
                while job["state"] not in FINAL:
                    time.sleep(0.2)
                    job = server.job(job["id"])
                with lock:
                    states[job["state"]] += 1
                    waits.append(time.monotonic() - began)

        began = time.monotonic()
        threads = [threading.Thread(target=client, args=(number,)) for number in range(num_clients)]
        with Memory(server) as memory, Visitor(server, "/", 0.1) as page, Visitor(server, "/api/jobs", 0.1) as jobs:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        seconds = time.monotonic() - began
    print(
        f"load: {num_clients} clients, {num_plans} plans in {seconds:.0f} s: {dict(states)}; refused {dict(refusals)}"
    )
    print(f"  from first try to audited routes: median {statistics.median(waits):.1f} s, longest {max(waits):.1f} s")
    print(f"  peak memory: server {memory.peak:.0f} MB, a worker {memory.peak_worker:.0f} MB")
    print(page.line())
    print(jobs.line())
    is_good = states == Counter(done=num_plans) and set(refusals) <= {429}
    return is_good and statistics.median(page.times_ms) < 200 and statistics.median(jobs.times_ms) < 200


def answering(folder: Path) -> bool:
    """How fast the page answers while two workers search for a proof."""
    with Server(folder / "answering", "--workers", "2") as server:
        source = server.file("building.json", building(folder, 60, 60, 90))
        # Five of ninety: no proof of that is found in two minutes.
        hard = {"k": 5, "ell": 6}
        ids = [server.submit("plan", source=source, options=hard, time_limit_s=120).json["id"] for _ in range(2)]
        while any(server.job(id_)["progress"] is None for id_ in ids):
            time.sleep(0.1)
        with Visitor(server, "/", 0.05) as page, Visitor(server, "/api/jobs", 0.05) as jobs:
            time.sleep(15)
        states = [server.job(id_)["state"] for id_ in ids]
        for id_ in ids:
            server.ask("POST", f"/api/jobs/{id_}/cancel")
        ends = [server.wait(id_) for id_ in ids]
    print(f"while two workers solve ({', '.join(states)}):")
    print(page.line())
    print(jobs.line())
    print(f"  then cancelled: {', '.join(end['state'] + ' with ' + str(len(end['results'])) for end in ends)} results")
    is_prompt = statistics.median(page.times_ms) < 200 and statistics.median(jobs.times_ms) < 200
    return is_prompt and states == ["running", "running"]


def kills(folder: Path, num_kills: int) -> bool:
    """The server is killed while jobs run: no finished job is lost, and none is finished twice."""
    data, rng = folder / "kills", random.Random(7)
    submitted: list[str] = []
    finished: dict[str, tuple[int, float, bytes]] = {}
    keys = 0
    lost = changed = 0
    for number in range(num_kills + 1):
        server = Server(data, "--workers", "2").start()
        if not number:
            source = server.file("small.map", SMALL)
        for id_, (attempt, when, plan) in finished.items():
            job = server.job(id_)
            kept = server.ask("GET", f"/api/jobs/{id_}/results/plan.json").body
            lost += job["state"] != "done"
            changed += (job["attempt"], job["finished"]) != (attempt, when) or kept != plan
        if number == num_kills:
            break
        # Some jobs come to their end under each server, and it is killed at any moment after that.
        until, num_before = time.monotonic() + 30, len(finished)
        while time.monotonic() < until:
            keys += 1
            for _ in range(2):  # sent twice with the same key, as a client does that heard no answer
                answer = server.submit("plan", f"key {keys}", source=source, options=PLACES, time_limit_s=1)
                if answer.status == 202 and answer.json["id"] not in submitted:
                    submitted.append(answer.json["id"])
            for job in server.ask("GET", "/api/jobs").json["jobs"]:
                if job["state"] == "done" and job["id"] not in finished:
                    plan = server.ask("GET", f"/api/jobs/{job['id']}/results/plan.json").body
                    finished[job["id"]] = job["attempt"], job["finished"], plan
                    if len(finished) == num_before + 1:
                        until = time.monotonic() + rng.uniform(0.0, 2.0)
            time.sleep(rng.uniform(0.0, 0.3))
        server.kill()
    states = Counter(server.wait(id_)["state"] for id_ in submitted)
    attempts = Counter(server.job(id_)["attempt"] for id_ in submitted)
    server.stop()
    found = endings(data)
    doubled = sum(len(ends) > 1 for ends in found.values())
    with sqlite3.connect(data / "studio.sqlite") as db:
        num_jobs = db.execute("SELECT COUNT(*) FROM jobs").fetchone()[0]
    db.close()
    print(
        f"kills: {num_kills} times SIGKILL, {len(submitted)} jobs submitted twice each by key, {num_jobs} in the store"
    )
    print(f"  finished and seen before a kill: {len(finished)}; of these lost {lost}, changed {changed}")
    print(f"  at the end: {dict(states)}, finished twice {doubled}; attempts {dict(sorted(attempts.items()))}")
    is_all = num_jobs == len(submitted) and states == Counter(done=len(submitted))
    return is_all and not (lost or changed or doubled)


def bomb() -> bytes:
    """A workbook of a megabyte that unpacks to a gigabyte."""
    wrapped = io.BytesIO()
    with zipfile.ZipFile(wrapped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("xl/workbook.xml", "w", force_zip64=True) as sheet:
            for _ in range(1000):
                sheet.write(b" " * 1_000_000)
    return wrapped.getvalue()


def bombs() -> dict[str, bytes]:
    """Files that are far larger than they look, by name."""
    import bz2
    import gzip

    zeros = b"\0" * 500_000_000
    array = io.BytesIO()
    with zipfile.ZipFile(array, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("edges.npy", b"\x93NUMPY\x01\x00v\x00" + zeros)
    lines = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    laughs = f'<?xml version="1.0"?><!DOCTYPE kml [<!ENTITY a0 "ha">{lines}]><kml>&a11;</kml>'
    return {
        "places.xlsx": bomb(), "network.npz": array.getvalue(), "map.osm.gz": gzip.compress(zeros, 9),
        "map.osm.bz2": bz2.compress(zeros), "network.gr.gz": gzip.compress(zeros, 9), "places.kml": laughs.encode(),
        "deep.json": b'{"format":"veilroute-instance/1","domain":' + b"[" * 1_000_000,
    }  # fmt: skip


def attacks(folder: Path, num_calls: int) -> bool:
    """Requests that must be refused."""
    data = folder / "attacks"
    with Server(data, "--workers", "2", "--memory", "1024", "--upload", "8") as server, Memory(server) as memory:
        source = server.file("small.map", SMALL)
        book = f"{server.run('plan', source=source, options=PLACES, time_limit_s=1)['id']}/playbook.json"
        statuses = Counter(
            server.ask("POST", "/api/jobs", {"kind": "open", "params": {"source": source}}, headers).status
            for headers in (
                {"Host": "evil.example"}, {"Host": f"evil.example:{server.port}"}, {"Origin": "http://evil.example"},
                {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Content-Type": "text/plain"},
            )
        )  # fmt: skip
        print(f"attacks: from elsewhere {dict(statuses)}")
        is_good = not set(statuses) & {200, 202}
        paths = [
            "/static/../server.py",
            "/static/%2e%2e%2fserver.py",
            "/static/..%5cserver.py",
            "/%2e%2e/%2e%2e/etc/passwd",
        ]
        paths += ["/api/files/..%2f..%2fstudio.sqlite", "/api/jobs/..%2f..%2fx/results/a.json", "/static/%00"]
        statuses = Counter(server.ask("GET", path).status for path in paths)
        print(f"  traversal {dict(statuses)}")
        is_good &= set(statuses) == {404}
        print(f"  too large: {server.upload('a.map', b'.' * (8 * 2**20 + 1)).status}")
        for name, content in bombs().items():
            answer = server.upload(name, content)
            if answer.status != 201:
                print(f"  bomb {name}, {len(content):,} bytes: {answer.status} {answer.json['error'][:100]}")
                continue
            id_ = answer.json["id"]
            is_table = answer.json["kind"] == "table"
            options = {"start": "0,0", "goal": "0,4", "places": id_}
            began = time.monotonic()
            params = {"source": source, "options": options, "time_limit_s": 1} if is_table else {"source": id_}
            job = server.run("plan" if is_table else "open", **params)
            seconds = time.monotonic() - began
            print(f"  bomb {name}, {len(content):,} bytes: {job['state']} in {seconds:.1f} s: {job['error']}")
            is_good &= job["state"] in ("failed", "killed")
        began = time.monotonic()
        fuzz(server, book, num_calls, seed=19)
        print(f"  {num_calls} calls made up at random: no fault, {time.monotonic() - began:.0f} s")
        server.file(f"{SECRET}</script>\u2028\u202e.map", SMALL)
        alive = server.run("open", source=source)["state"]
    log = server.log()
    print(
        f"  peak memory: server {memory.peak:.0f} MB, a worker {memory.peak_worker:.0f} MB; afterwards a job is {alive}"
    )
    words = [word for word in (SECRET, "evil", "script", "passwd", "Traceback", "places.xlsx") if word in log]
    print(f"  log: {len(log.splitlines())} lines (the last of it), what was asked in it: {words}")
    return is_good and not words and alive == "done"


def slow(folder: Path) -> bool:
    """Clients that never finish a request do not keep others out, and are sent away."""
    with Server(folder / "slow", "--workers", "1") as server:
        wires = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
        for wire in wires:
            wire.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        began = time.monotonic()
        with Visitor(server, "/api/about", 0.1) as visitor:
            closed = 0
            for wire in wires:
                wire.settimeout(max(0.1, 40 - (time.monotonic() - began)))
                try:
                    closed += wire.recv(100) == b""
                except OSError:
                    closed += 1
        seconds = time.monotonic() - began
    print(f"slow: {closed} of {len(wires)} connections that never finish their headers closed within {seconds:.0f} s")
    print(visitor.line())
    return closed == len(wires)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["answering", "load", "kills", "attacks", "slow"])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--plans", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--calls", type=int, default=2000)
    given = parser.parse_args()
    are_good = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in given.parts:
            match part:
                case "answering":
                    are_good.append(answering(folder))
                case "load":
                    are_good.append(load(folder, given.clients, given.plans))
                case "kills":
                    are_good.append(kills(folder, given.kills))
                case "attacks":
                    are_good.append(attacks(folder, given.calls))
                case "slow":
                    are_good.append(slow(folder))
                case _:
                    parser.error(f"no such part: {part}")
    return 0 if all(are_good) else 1


if __name__ == "__main__":
    sys.exit(main())
