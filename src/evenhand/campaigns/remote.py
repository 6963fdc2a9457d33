"""A campaign on another machine, by `evenhand serve`: an evaluator's verbs, and `choose`.

What is lost on the way is sent again. That does no harm: who asks again gets the same tickets, who
tells again the same receipt, and what was given back is given back.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urlsplit
from zipfile import ZipFile

from evenhand.answers.answer import Answer
from evenhand.answers.question import Question, Reply
from evenhand.campaigns.course import Course
from evenhand.campaigns.create import first_event
from evenhand.campaigns.events import from_line
from evenhand.campaigns.export import EVALUATIONS, EVENTS
from evenhand.campaigns.run import (
    CHOICE,
    LEASE,
    TicketOffice,
    given_limits,
    is_of_the_dead,
    run,
)
from evenhand.campaigns.state import State
from evenhand.campaigns.status import answer_from
from evenhand.campaigns.tickets import Notice, NoTicket, Receipt, Ticket, parsed
from evenhand.campaigns.verification import RecordVerification, verify_file
from evenhand.errors import InputError, StoreError
from evenhand.files import make_folder, write_atomically
from evenhand.questions import Askable

_MOST_BYTES = 256 * 2**20  # of a record
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds before each further try
_AGAIN = (429, 500, 502, 503, 504)  # answers after which the same may be sent again
_TOO_OFTEN, _BREATH, _PATIENCE = 429, 2.0, 120.0  # seconds between tries, and in all


@dataclass(frozen=True)
class Seat:
    """How an evaluator stands: how many scores count, how many questions wait."""

    evaluator: str
    done: int
    open: int


class RemoteCampaign:
    """An evaluator's seat in a campaign that another machine serves; see `connect`.

    Attributes
    ----------
    url
        Where the server is.
    wanted
        What a score may be, in words, as of the last ticket.
    """

    def __init__(self, url: str, token: str, timeout: float) -> None:
        self.url, self.wanted = url, "a number"
        self._line = _Line(url, token, timeout)

    def ask(self) -> Ticket | NoTicket:
        """Return what is to be evaluated next: the open ticket again if there is one."""
        given = self._line.send("ask", {})
        if given.get("ticket") is None:
            return NoTicket(given["reason"], str(given["why"]), given["again_in"])
        self.wanted = str(given["scale"]["wanted"])
        labels = tuple(str(thing["name"]) for thing in given["things"])
        question = Question(
            -1, " against ".join(labels), parsed(given["ticket"])[0], str(given["evaluator"]),
            labels=labels, index=0,
        )  # fmt: skip
        return Ticket(
            str(given["ticket"]), question, str(given["evaluator"]), "", int(given["attempt"]),
            float(given["until"]), tuple(dict(thing["shown"]) for thing in given["things"]),
        )  # fmt: skip

    def tell(self, ticket: Ticket | str, score: float | str, *, note: str = "") -> Receipt:
        """Take the score of a ticket; sent again until it is acknowledged, it counts once."""
        told = {"ticket": _id(ticket), "score": score, "note": note}
        if isinstance(ticket, Ticket):
            told["attempt"] = ticket.attempt
        given = self._line.send("tell", told)
        return Receipt(0, given["counted"], given["repeated"], given["why"])

    def decline(self, ticket: Ticket | str, reason: str) -> Notice:
        """Never be asked this again, such as for a conflict of interest; others are."""
        return Notice(**self._line.send("decline", {"ticket": _id(ticket), "reason": reason}))

    def status(self) -> Seat:
        """Return how this evaluator stands."""
        return Seat(**self._line.send("status"))


def _id(ticket: Ticket | str) -> str:
    if not isinstance(ticket, Ticket | str):
        raise InputError(f"a ticket is what `ask` returned, or its id; got {ticket!r}.")
    return ticket.id if isinstance(ticket, Ticket) else ticket


class _Line:
    """What is sent to a server, again and again until there is an answer."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        self.url, self._token, self._timeout = url, token, timeout

    def send(self, verb: str, body: Any = None) -> dict[str, Any]:
        """Return what comes back; the same is sent again where that may help and does no harm."""
        try:
            sent = None if body is None else json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise InputError(f"a score is a finite number, or a word; got {body!r}.") from None
        found = self.load(f"/api/v1/{verb}", sent, _json)
        assert isinstance(found, dict)
        return found

    def load(
        self, path: str, sent: bytes | None = None, read: Callable[[bytes], Any] = bytes
    ) -> Any:
        """Return what stands at a path, as it is read; what cannot be read is asked for again."""
        request = urllib.request.Request(
            f"{self.url}{path}",
            sent,
            {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Accept": "application/json",
            },
        )
        why, pauses = "", [0.0, *_PAUSES]
        begun = time.monotonic()
        while pauses:
            time.sleep(pauses.pop(0))
            try:
                with _OPENER.open(request, timeout=self._timeout) as answer:
                    return read(_body(answer))
            except urllib.error.HTTPError as error:
                with error:
                    why = _words(error)
                if error.code not in _AGAIN:
                    raise InputError(f"{self.url} refuses: {why}") from None
                if error.code == _TOO_OFTEN and time.monotonic() - begun < _PATIENCE:
                    pauses = [_BREATH, *pauses]  # it is there, and has room again in a while
            except (OSError, http.client.HTTPException, ValueError) as error:
                why = str(error) or type(error).__name__
        raise StoreError(
            f"{self.url} does not answer, after {len(_PAUSES) + 1} tries: {why}. Doing the same "
            "again later does no harm."
        )


def connect(url: str, token: str | None = None, *, timeout: float = 60.0) -> RemoteCampaign:
    """Return an evaluator's seat in a campaign that `evenhand serve` serves on another machine.

    It has `Campaign`'s verbs for who evaluates: ``ask``, ``tell``, ``decline`` and ``status``. What
    is lost on the way is sent again, which does no harm: a score for a ticket counts once.

    Parameters
    ----------
    url
        Where the server is, such as "https://judging.example.org"; or the whole link that an
        evaluator was given, which has the token in it.
    token
        The evaluator's, if it is not in the link.
    timeout
        Seconds for which one answer is waited for.

    Raises
    ------
    InputError
        Where the server refuses what is sent, with its words.
    StoreError
        Where it does not answer.

    Examples
    --------
    >>> import evenhand as eh
    >>> judge = eh.connect("https://judging.example.org/enter/kq3v0VJmFz8yq1hX2l5Yc7")
    >>> judge.url
    'https://judging.example.org'
    >>> eh.connect("judging.example.org", "kq3v0VJmFz8yq1hX2l5Yc7")
    Traceback (most recent call last):
    evenhand.errors.InputError: the address of a server begins with https:// or http://; got ...

    On a machine that reaches the server, until there is nothing more to judge::

        while ticket := judge.ask():
            judge.tell(ticket, score_of(ticket.question.label, ticket.shown[0]))
    """
    return RemoteCampaign(*_place(url, token), float(timeout))


def _place(url: str, token: str | None) -> tuple[str, str]:
    """Return where a server is, and the token."""
    parts = urlsplit(str(url).strip())
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(
            f"the address of a server begins with https:// or http://; got {str(url)[:80]!r}."
        )
    path, enter, in_link = parts.path.partition("/enter/")
    token = token if token is not None else in_link
    if not token or not token.isascii() or not token.isprintable() or (in_link and not enter):
        raise InputError("give the whole link that the evaluator was sent, or its token.")
    return f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}", token.strip()


def choose_there(link: str, options: Askable, made: dict[str, Any], how: dict[str, Any]) -> Answer:
    """Have options evaluated here, and kept there: `choose` with an owner's link as its store.

    What comes after a '#' is the campaign's name.
    """
    where, name = urldefrag(link)
    content = first_event(unquote(name) or CHOICE, options, **made)
    line = _Line(*_place(where, None), 60.0)
    begun = line.send("runs", {"content": content, "given": given_limits(made, content)})
    return run(_ServerOffice(line, int(begun["number"])), **how)


class RemoteRecord:
    """The record of a campaign that a server has, by its owner's link: read there, judged here."""

    def __init__(self, link: str, name: str) -> None:
        self._line = _Line(*_place(link, None), 60.0)
        self._number = int(self._line.send(f"runs?name={quote(name, safe='')}")["number"])

    def answer(self) -> Answer:
        """Return the answer, made from the record."""
        office = _ServerOffice(self._line, self._number)
        with office.course() as course:
            if office.closed:
                raise InputError(
                    "scores are looked at once, when all are in: there is no answer yet."
                )
            return answer_from(course)

    def report(self, path: Path) -> None:
        """Write the report that the server makes."""
        from evenhand.report.html import write_page  # noqa: PLC0415 # seldom needed

        page = self._line.load(f"/campaigns/{self._number}/report.html").decode("utf-8")
        write_page(page, path)

    def export(self, path: Path) -> list[Path]:
        """Write the record to files; see `Campaign.export`."""
        with ZipFile(BytesIO(self._line.load(f"/campaigns/{self._number}/record.zip"))) as archive:
            if path.suffix:
                name = EVALUATIONS if path.suffix.lower() == ".csv" else EVENTS
                return [_written(path, archive.read(name))]
            make_folder(path)
            return [_written(path / one, archive.read(one)) for one in (EVALUATIONS, EVENTS)]

    def verify(self, seal: str | None = None) -> RecordVerification:
        """Return whether the record is whole, and the decision follows from it."""
        with TemporaryDirectory() as folder:
            (events,) = self.export(Path(folder) / EVENTS)
            return verify_file(events, seal)


def _written(path: Path, body: bytes) -> Path:
    with write_atomically(path, "the record") as draft:
        draft.write_bytes(body)
    return path


class _ServerOffice(TicketOffice):
    """The office of a server's store; the record is followed here, and the answer made of it."""

    def __init__(self, line: _Line, number: int) -> None:
        self._lock = threading.RLock()
        self._line, self._at = line, f"runs/{number}"
        self._state: State | None = None
        self._course = Course()
        self.closed = False  # whether scores are kept back until all are in

    def known(self) -> State:
        return self._state or self._followed()

    @contextmanager
    def course(self, *, now: bool = True) -> Iterator[Course]:
        with self._lock:
            if now or not self._course.begun:
                course, self._course = self._course, Course()
                self._course = course.follow(self._followed().view())
            yield self._course

    def _followed(self) -> State:
        with self._lock:
            state, self._state = self._state or State(), None
            while True:
                given = self._line.send(f"{self._at}/events?after={state.head}")
                self.closed = given["closed"]
                if state.head and given["seal"] != state.seal.hex():
                    state = State()
                    continue
                state.fold(from_line(line) for line in given["events"])
                if not given["more"]:
                    self._state = state
                    return state

    def begin(self) -> None:
        held = self._line.send(f"{self._at}/held", {})["tickets"]
        dead = [one for one in held if is_of_the_dead(one["worker"])]
        self._line.send(f"{self._at}/begin", {"dead": dead})

    def ask(self, among: Sequence[str] | None, worker: str, n: int) -> list[Ticket] | NoTicket:
        wanted = {"among": among, "worker": worker, "n": n, "lease": LEASE}
        given = self._line.send(f"{self._at}/ask", wanted)
        if not given["tickets"]:
            return NoTicket(given["reason"], given["why"], given["again_in"])
        return [self._ticket(one, worker) for one in given["tickets"]]

    def _ticket(self, one: dict[str, Any], worker: str) -> Ticket:
        state = self.known()
        if not state.knows(one["question"]):
            state = self._followed()
        question = state.question(one["question"], parsed(one["id"])[0], one["turn"])
        return Ticket(one["id"], question, one["holder"], worker, one["attempt"], one["until"])

    def tell(self, ticket: Ticket, score: object) -> None:
        reply = Reply.of(score)
        value = self.known().reading.replied(ticket.question, reply.score)
        told = {"score": value, "cost": reply.cost, "said": reply.said}
        self._line.send(f"{self._at}/tell", _named(ticket) | told)

    def fail(self, ticket: Ticket, why: str) -> None:
        self._line.send(f"{self._at}/fail", _named(ticket) | {"why": why})

    def release(self, tickets: Sequence[Ticket]) -> None:
        if tickets:
            named = [_named(one) for one in tickets]
            self._line.send(f"{self._at}/release", {"tickets": named})

    def renew(self, ticket: Ticket) -> None:
        self._line.send(f"{self._at}/renew", _named(ticket) | {"lease": LEASE})

    def leave(self, evaluator: str, why: str) -> None:
        self._line.send(f"{self._at}/leave", {"evaluator": evaluator, "why": why})


def _named(ticket: Ticket) -> dict[str, Any]:
    """Return how a ticket is named to a server: which try it is, and whose."""
    return {name: getattr(ticket, name) for name in ("id", "holder", "worker", "attempt")}


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A token goes to the server that it is for, and to no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""
        return


_OPENER = urllib.request.build_opener(_StayHere)


def _body(answer: Any) -> bytes:
    text: bytes = answer.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError("the answer is too long")
    return text


def _json(text: bytes) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("the answer is not of an evenhand server")
    return found


def _words(error: urllib.error.HTTPError) -> str:
    try:
        return str(_json(_body(error)).get("error", error.reason))[:2_000]
    except (OSError, ValueError):
        return f"{error.code} {error.reason}"
