"""A campaign on another machine: an evaluator's verbs over HTTP, by `evenhand serve`."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from evenhand.answers.question import Question
from evenhand.campaigns.tickets import Notice, NoTicket, Receipt, Ticket, parsed
from evenhand.errors import InputError, StoreError

_MOST_BYTES = 16 * 2**20
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)  # seconds before each further try
_AGAIN = (429, 500, 502, 503, 504)  # answers after which the same may be sent again


@dataclass(frozen=True)
class Seat:
    """How an evaluator stands: how many scores count, how many questions wait."""

    evaluator: str
    done: int
    open: int


class RemoteCampaign:
    """An evaluator's seat in a campaign that another machine serves; see `connect`."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        self.url, self._token, self._timeout = url, token, timeout

    def ask(self) -> Ticket | NoTicket:
        """Return what is to be evaluated next: the open ticket again if there is one."""
        given = self._send("ask", {})
        if given.get("ticket") is None:
            return NoTicket(given["reason"], str(given["why"]), given["again_in"])
        labels = tuple(str(thing["name"]) for thing in given["things"])
        question = Question(
            -1, " against ".join(labels), parsed(given["ticket"])[0], str(given["evaluator"]),
            labels=labels, index=0,
        )  # fmt: skip
        return Ticket(
            str(given["ticket"]), question, str(given["evaluator"]), "", int(given["attempt"]),
            float(given["until"]), tuple(dict(thing["shown"]) for thing in given["things"]),
        )  # fmt: skip

    def tell(self, ticket: Ticket, score: float | str, *, note: str = "") -> Receipt:
        """Take the score of a ticket; sent again until it is acknowledged, it counts once."""
        if not isinstance(ticket, Ticket):
            raise InputError(f"a ticket is what `ask` returned; got {ticket!r}.")
        told = {"ticket": ticket.id, "attempt": ticket.attempt, "score": score, "note": note}
        given = self._send("tell", told)
        return Receipt(0, given["counted"], given["repeated"], given["why"])

    def decline(self, ticket: Ticket, reason: str) -> Notice:
        """Never be asked this again, such as for a conflict of interest; others are."""
        return Notice(**self._send("decline", {"ticket": ticket.id, "reason": reason}))

    def status(self) -> Seat:
        """Return how this evaluator stands."""
        return Seat(**self._send("status"))

    def _send(self, verb: str, body: Any = None) -> dict[str, Any]:
        """Return what comes back; the same is sent again where that may help and does no harm."""
        try:
            sent = None if body is None else json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise InputError(f"a score is a finite number, or a word; got {body!r}.") from None
        request = urllib.request.Request(
            f"{self.url}/api/v1/{verb}",
            sent,
            {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Accept": "application/json",
            },
        )
        why = ""
        for pause in (0.0, *_PAUSES):
            time.sleep(pause)
            try:
                with _OPENER.open(request, timeout=self._timeout) as answer:
                    return _read(answer)
            except urllib.error.HTTPError as error:
                with error:
                    why = _words(error)
                if error.code not in _AGAIN:
                    raise InputError(f"{self.url} refuses: {why}") from None
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
    parts = urlsplit(str(url).strip())
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(
            f"the address of a server begins with https:// or http://; got {str(url)[:80]!r}."
        )
    path, enter, in_link = parts.path.partition("/enter/")
    token = token if token is not None else in_link
    if not token or not token.isascii() or not token.isprintable() or (in_link and not enter):
        raise InputError("give the whole link that the evaluator was sent, or its token.")
    return RemoteCampaign(
        f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}", token.strip(), float(timeout)
    )


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A token goes to the server that it is for, and to no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""
        return


_OPENER = urllib.request.build_opener(_StayHere)


def _read(answer: Any) -> dict[str, Any]:
    text = answer.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError("the answer is too long")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("the answer is not of an evenhand server")
    return found


def _words(error: urllib.error.HTTPError) -> str:
    try:
        return str(_read(error).get("error", error.reason))[:2_000]
    except (OSError, ValueError):
        return f"{error.code} {error.reason}"
