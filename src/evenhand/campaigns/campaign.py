"""A campaign: evaluations by many people or models, over days, kept in a store.

Every operation is one transaction: it looks at the state that the log comes to (`State`), and adds
events to the end of the log. Operations find their own traces, so doing one again after a fault
does no harm: who asks again gets the same ticket, who tells again the same receipt. What to ask
next is worked out outside of any transaction (`Course`), and put in only if nobody else put
something in meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from evenhand.answers.answer import Answer
from evenhand.answers.choose import Looks
from evenhand.answers.crews import Evaluate
from evenhand.answers.question import Bounds, Kind
from evenhand.answers.run import Available
from evenhand.answers.watch import Progress
from evenhand.best import Best
from evenhand.campaigns import ask, ledger, lifecycle, run, tell
from evenhand.campaigns.arguments import checked_name
from evenhand.campaigns.course import Course
from evenhand.campaigns.create import first_event, insert
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.status import Status, answer_from, hand_out_from, status_of
from evenhand.campaigns.stores import Store, open_store
from evenhand.campaigns.tickets import Notice, NoTicket, Receipt, Ticket
from evenhand.errors import InputError
from evenhand.policies.base import Policy
from evenhand.questions import Askable, HandOut
from evenhand.scores.grades import Grades
from evenhand.tables.texts import listed

if TYPE_CHECKING:
    from evenhand.campaigns.imports import Imported
    from evenhand.campaigns.verification import RecordVerification

Where = str | os.PathLike[str] | Store


class Campaign:
    """Evaluations by many, over days, kept in a store.

    `create` begins one, `open` goes on with one, from any process. Whoever evaluates asks for a
    ticket and tells the score; what is acknowledged is never lost, and a ticket whose holder does
    not come back goes to the next when its lease is over. All operations may be repeated: what was
    done is not done twice.

    One object may be used by many threads, and many objects, in many processes, by one store.

    Attributes
    ----------
    name
        Its name in the store.
    store
        Where it is kept.

    Examples
    --------
    >>> import tempfile, os
    >>> import evenhand as eh
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = os.path.join(folder.name, "prizes.db")
    >>> panel = eh.Questions.panel({"Ann": "home", "Bo": "away"}, {"Paul": "home", "Quinn": "away"},
    ...                            capacity=None)
    >>> campaign = eh.Campaign.create(store, "prize", panel)
    >>> ticket = campaign.ask("Paul")
    >>> campaign.ask("Paul") == ticket                          # until it is told
    True
    >>> campaign.tell(ticket, 7.5)
    Receipt(evaluation=1, counted=True, repeated=False, why='')
    >>> campaign.tell(ticket, 7.5).repeated                     # once more does no harm
    True
    >>> campaign.close()

    Another day, another process:

    >>> with eh.Campaign.open(store, "prize") as campaign:
    ...     status = campaign.status()
    >>> status.status, status.evaluations
    ('running', 1)
    >>> folder.cleanup()
    """

    def __init__(self, store: Store, name: str, id: int) -> None:
        self.store, self.name = store, name
        self._follower = Follower(store, id, name)

    @classmethod
    def create(
        cls,
        store: Where,
        name: str,
        questions: Askable,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        at_most: int | None = None,
        *,
        budget: float | None = None,
        policy: Policy | str | None = None,
        lease: float = 3600.0,
        retries: int = 2,
        noise_scale: float | None = None,
        deviation: float | None = None,
        scores: Kind | None = None,
        bounds: Bounds | None = None,
        grades: Grades = None,
        checks: bool = True,
        looks: Looks | None = None,
        seed: int = 0,
        display: Mapping[str, Mapping[str, str]] | None = None,
        top: int = 1,
        bar: float | None = None,
        against: str | None = None,
        best: Best | None = None,
    ) -> Self:
        """Begin a campaign.

        Parameters
        ----------
        store
            A file, which is made if it is not there; "postgresql://…" for several machines; or a
            store that is open.
        name
            What the campaign is called there, up to 200 characters.
        questions
            The options, or the questions that evaluators can be asked about them.
        confidence, tolerance, at_most, budget, noise_scale, deviation
            As for `choose`.
        scores, bounds, checks, looks, top, bar, against, best
            Likewise. Where the lowest scores are the best, the record has them as they were given.
        grades
            Words that evaluators answer with, the best first, as equally spaced steps; or with
            their numbers. Nothing else can be answered then.
        policy
            What decides what is asked: a policy that has been told nothing yet, or the name of one.
        lease
            Seconds for which a ticket is its holder's. Then it may go to somebody else; a score
            that comes all the same counts unless another came first.
        retries
            How often a question that failed is tried again before it is given up. That is also to
            be lost with its holder; but who fails only so has five tries at least.
        seed
            Where the order of questions comes from.
        display
            What evaluators are shown of an option beside its name: texts by name, by the option's
            name. Nothing else of it is ever shown.

        Raises
        ------
        ConflictError
            If there is a campaign of that name.
        NotIdentifiableError
            If no number of answers could tell the options apart.
        """
        content = first_event(
            name,
            questions,
            policy=policy,
            at_most=at_most,
            budget=budget,
            display=display,
            looks=looks,
            settings={
                "confidence": confidence,
                "tolerance": tolerance,
                "lease": lease,
                "retries": retries,
                "noise_scale": noise_scale,
                "deviation": deviation,
                "scores": scores,
                "bounds": bounds,
                "grades": grades,
                "checks": checks,
                "seed": seed,
                "top": top,
                "bar": bar,
                "against": against,
                "best": best,
            },
        )
        opened = open_store(store)
        return cls(opened, name, insert(opened, name, content))

    @classmethod
    def open(cls, store: Where, name: str) -> Self:
        """Go on with a campaign; store and name are those of `create`."""
        checked_name(name, "name")
        opened = open_store(store, must_exist=True)
        id = opened.read(lambda session: ledger.find(session, name))
        if id is None:
            known = sorted(opened.read(ledger.names))
            there = f"there are {listed(known)}" if known else "it is empty"
            raise InputError(f"there is no campaign {name!r} in the store; {there}.")
        return cls(opened, name, id)

    @classmethod
    def names(cls, store: Where) -> dict[str, str]:
        """Return the names of the campaigns in a store, the oldest first, and their status."""
        return open_store(store, must_exist=True).read(ledger.names)

    @overload
    def ask(
        self,
        evaluator: str | Sequence[str] | None = None,
        *,
        worker: str = "",
        lease: float | None = None,
    ) -> Ticket | NoTicket: ...

    @overload
    def ask(
        self,
        evaluator: str | Sequence[str] | None = None,
        *,
        worker: str = "",
        n: int,
        lease: float | None = None,
    ) -> list[Ticket] | NoTicket: ...

    def ask(
        self,
        evaluator: str | Sequence[str] | None = None,
        *,
        worker: str = "",
        n: int | None = None,
        lease: float | None = None,
    ) -> Ticket | list[Ticket] | NoTicket:
        """Return what an evaluator is to evaluate next: the open ticket again if there is one.

        Parameters
        ----------
        evaluator
            Who asks. Where the questions are anybody's, whatever name the tickets should be under.
            In a panel, None or several names: a program that passes questions on takes what there
            is for anybody, or for one of these.
        worker
            Which of the evaluator's hands: each has tickets of its own, so a model judge works on
            several at once.
        n
            How many tickets are wanted; then a list of up to so many, those that are held included.
        lease
            Seconds for which the tickets are held; as the campaign has it if not given.

        Returns
        -------
        Ticket or NoTicket
            The latter, which is false, says why there is nothing, and when to come back.
        """
        return ask.ask(self._follower, evaluator, worker, n, lease)

    def tell(
        self, ticket: Ticket | str, score: object, *, key: str | None = None, note: str = ""
    ) -> Receipt:
        """Take the score of a ticket; once it is acknowledged, it is not lost.

        The first score for a ticket counts, whoever had it then. Others, and those that come after
        the decision, are kept and do not count; the receipt says so.

        Parameters
        ----------
        ticket
            What `ask` returned, or its id.
        score
            The score, as the campaign's ``scores``, ``bounds`` or ``grades`` allow; or
            `answers.Reply`, with what it really cost.
        key
            A name for this very message, up to 200 characters, to tell a repetition from something
            new; if not given, the ticket and which try it is.
        note
            What the evaluator says beside it: kept in the record in one line, and of no consequence
            for what is asked or decided. Telling again does not change it.

        Raises
        ------
        ConflictError
            If the same key came with another ticket or score. Nothing has changed then.
        """
        return tell.tell(self._follower, [(ticket, score, key)], note)[0]

    def tell_many(self, told: Iterable[tuple[Ticket | str, object, str | None]]) -> list[Receipt]:
        """Take several scores, as (ticket, score, key), all of them or, if one is refused, none."""
        return tell.tell(self._follower, told)

    def withdraw(self, evaluation: Receipt | int, reason: str, *, blind: bool = False) -> Receipt:
        """Have an evaluation count no more, such as a typing error; it is kept, and marked.

        Its ticket waits for another score: from whoever is asked next, or told by its id. Where the
        campaign was decided, it goes on. The answer names what was withdrawn, and is sure only if
        it is with the score put back, too: who looks and asks again chooses among scores.

        Parameters
        ----------
        evaluation
            Its receipt, or its number.
        reason
            Why, for the record.
        blind
            True says, for the record, that this was decided without regard to any score: a
            duplicate, the wrong form, a conflict of interest. It is not put back then. So is what
            an evaluator takes back at once on the page, before anything was asked or decided by it:
            who gives a score says what it is.
        """
        return tell.withdraw(self._follower, evaluation, reason, blind)

    def run(
        self,
        evaluate: Evaluate,
        parallel: int = 1,
        *,
        available: Available | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
    ) -> Answer:
        """Have a function answer the questions until the campaign is finished; `choose` on a store.

        Whatever ends it, a kill or a loss of power, running the same again goes on where it was.
        Several runs, on several machines, may work on one campaign.

        Parameters
        ----------
        evaluate, parallel, available, progress
            As for `choose`.

        Returns
        -------
        Answer
            Where the run ended before the campaign, ``stopped_because`` says why.

        Examples
        --------
        >>> import tempfile, os
        >>> import numpy as np
        >>> import evenhand as eh
        >>> folder = tempfile.TemporaryDirectory()
        >>> panel = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn"], capacity=None)
        >>> campaign = eh.Campaign.create(os.path.join(folder.name, "prizes.db"), "prize", panel)
        >>> rng = np.random.default_rng(0)
        >>> answer = campaign.run(lambda question: 5.0 - question.option + 0.1 * rng.normal())
        >>> answer.label, answer.sure, campaign.status().status
        ('Ann', True, 'finished')
        >>> campaign.close()
        >>> folder.cleanup()
        """
        office = run.TicketOffice(self._follower)
        return run.run(office, evaluate, parallel, available=available, progress=progress)

    def fail(self, ticket: Ticket | str, reason: str | BaseException) -> Notice:
        """Give a ticket back that could not be answered; after some tries it is given up.

        An evaluator of whom five questions in a row are given up is taken to have left. Where all
        evaluations fail, or all of one option, the campaign is paused.
        """
        return tell.fail(self._follower, ticket, reason)

    def decline(self, ticket: Ticket | str, reason: str) -> Notice:
        """Never ask this evaluator this question again, such as for a conflict of interest.

        Others are asked instead, as far as there are others. That somebody declines must not depend
        on the score that he would give. Before a campaign begins, a capacity of 0 says the same
        (`Questions.panel`).
        """
        return tell.decline(self._follower, ticket, reason)

    def release(self, ticket: Ticket | str) -> Notice:
        """Give a ticket back unanswered; it waits for whoever asks next."""
        return tell.release(self._follower, ticket)[0]

    def renew(self, ticket: Ticket | str, lease: float | None = None) -> Ticket | NoTicket:
        """Keep a ticket for a further ``lease``, in seconds from now; as at first if not given."""
        return tell.renew(self._follower, ticket, lease)

    def pause(self, reason: str = "") -> None:
        """Hand out nothing until `resume`; what is out may still come back."""
        lifecycle.pause(self._follower, reason)

    def resume(self) -> None:
        """Go on after `pause`."""
        lifecycle.resume(self._follower)

    def leave(self, evaluator: str, reason: str = "") -> None:
        """Go on without an evaluator, until `join`; what waits for him is taken back.

        Where nothing more can be asked of the others, the scores that are in are looked at.
        """
        lifecycle.leave(self._follower, evaluator, reason)
        ask.look(self._follower)

    def join(self, evaluator: str) -> None:
        """Have an evaluator back who left."""
        lifecycle.join(self._follower, evaluator)

    def extend(
        self,
        at_most: int | None = None,
        budget: float | None = None,
        questions: Askable | None = None,
        display: Mapping[str, Mapping[str, str]] | None = None,
        *,
        options: Any = None,
        evaluators: Any = None,
        prices: Any = None,
        workload: Any = None,
        conflicts: Iterable[tuple[str, str]] | None = None,
    ) -> None:
        """Go on with more; a campaign that was decided goes on, too.

        What is certain stays so if those who come were not chosen by the scores that are in; else
        see `Choice.extended`. Refused where nothing more would be asked: it is certain already, or
        was decided by one look (``looks="once"``), which nothing that comes can make surer.

        Parameters
        ----------
        at_most, budget
            Evaluations, or money, in all: those before included.
        questions
            All that can be asked from now on: what could be before, and more options, evaluators
            or capacity. Options that come from a table are read in the units that they had, with
            ``like=``.
        display
            What evaluators are shown of the new options.
        options, evaluators
            Those who come in addition, if nothing else changes: names, or a mapping from names to
            groups.
        prices, workload, conflicts
            What the new evaluators cost, how much they may be asked, and who must not judge what:
            see `Questions.barring`.

        Examples
        --------
        >>> import tempfile
        >>> import evenhand as eh
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
        ...     campaign = eh.Campaign.create(folder + "/prize.db", "prize", panel)
        ...     campaign.extend(evaluators={"R": "it"}, conflicts=[("Bo", "R")])
        ...     ticket = campaign.ask("R")
        ...     campaign.close()
        >>> ticket.question.label
        'Ann'
        """
        newcomers = {
            "options": options, "evaluators": evaluators, "prices": prices, "workload": workload,
            "conflicts": conflicts,
        }  # fmt: skip
        lifecycle.extend(self._follower, at_most, budget, questions, display, newcomers)

    def status(self) -> Status:
        """Return how the campaign stands: what came, what is out, who is there, what was found."""
        return status_of(self._follower)

    def answer(self) -> Answer:
        """Return what the evaluations so far say; once it is decided, the decision."""
        with self._follower.course() as course:
            aside = course.aside()
        return answer_from(aside)

    def hand_out(self) -> HandOut | None:
        """Return who is asked about what, where all of it is planned before the first score."""
        with self._follower.course() as course:
            return hand_out_from(course)

    def import_scores(
        self,
        table: Any,
        *,
        option: str = "option",
        evaluator: str = "evaluator",
        score: str = "score",
        rival: str = "rival",
        key: str | None = None,
        decimal: str | None = None,
    ) -> Imported:
        """Take the scores of a table: all of them, or none and why.

        A sheet of tickets, as ``evenhand campaign ask --sheet`` writes it, is known by its column
        "ticket": scores go to their tickets, and what is not filled in stays open. Other tables are
        logs of scores that were given without being asked for. Policies take such scores before the
        first one that they asked for. The same table again changes nothing.

        Parameters
        ----------
        table
            A frame of pandas, polars or pyarrow, or the path of a CSV, Parquet or Excel file. It
            has the columns that are named here, and no others.
        option, evaluator, score, rival
            The columns of logged scores: what was scored and by whom; in comparisons, the option
            that stands second.
        key
            The column with what a logged score is known by, so that it counts once. If not given,
            a score is known by what its line says, and equal lines are as many scores.
        decimal
            What stands before decimals in texts, "." or ","; found out if not said.

        Returns
        -------
        Imported
            How many scores count, came late, had been told before or are not filled in.

        Raises
        ------
        InputError, ConflictError
            With every line that is wrong, and what is wrong with it.

        Examples
        --------
        >>> import pandas as pd, tempfile
        >>> import evenhand as eh
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
        ...     campaign = eh.Campaign.create(folder + "/prize.db", "prize", panel)
        ...     ticket = campaign.ask("P")
        ...     sheet = pd.DataFrame({"ticket": [ticket.id], "score": ["7,5"]})
        ...     first, again = campaign.import_scores(sheet), campaign.import_scores(sheet)
        ...     campaign.close()
        >>> first.counted, again.counted, again.repeated
        (1, 0, 1)
        """
        from evenhand.campaigns.imports import import_scores  # noqa: PLC0415 # loads pyarrow

        return import_scores(
            self._follower,
            table,
            option=option,
            evaluator=evaluator,
            score=score,
            rival=rival,
            key=key,
            decimal=decimal,
        )

    def export(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the record to files that others can read; return which.

        Parameters
        ----------
        path
            FILE.csv for all evaluations, one a line, with how each stands (counted, late or
            withdrawn); FILE.jsonl for all events, one a line, with their hashes; a folder for both.
            Texts that a spreadsheet would take for formulas have an apostrophe before them.

        Examples
        --------
        >>> import tempfile
        >>> import evenhand as eh
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
        ...     campaign = eh.Campaign.create(folder + "/prize.db", "prize", panel)
        ...     receipt = campaign.tell(campaign.ask("P"), 7.5)
        ...     files = campaign.export(folder + "/record")
        ...     campaign.close()
        ...     files[0].read_text().splitlines()[1].split(",")[3:6]
        ['P', '7.5', 'counted']
        """
        from evenhand.campaigns.export import export  # noqa: PLC0415 # as above

        return export(self._follower, path)

    def report(
        self, path: str | os.PathLike[str], *, title: str | None = None, made: date | None = None
    ) -> None:
        """Write a report that a committee can read and print, with the record and how to check it.

        As `Answer.report`, and beside it: who was asked how much and why, what was withdrawn, came
        late or could not be answered, and the seal of the last event.

        Parameters
        ----------
        path, title, made
            As for `Answer.report`.
        """
        from evenhand.campaigns.sections import campaign_report  # noqa: PLC0415 # it reads the log
        from evenhand.report.html import as_page, write_page  # noqa: PLC0415 # seldom needed

        write_page(as_page(campaign_report(self._follower), title, made), path)

    def verify(self, seal: str | None = None) -> RecordVerification:
        """Return whether the record is whole, and the decision follows from it.

        The chain of seals is checked, what counts is held against what was asked, and every
        decision is computed again from the log before it.

        Parameters
        ----------
        seal
            A seal that somebody has written down, as `status` and reports show it: it must be in
            the record. Without one, a record that was written anew as a whole cannot be told from
            the first.
        """
        from evenhand.campaigns.verification import verify  # noqa: PLC0415 # loads scipy's solvers

        return verify(self._follower, seal)

    def close(self) -> None:
        """Let go of the store; what is done later opens it again."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Campaign({self.name!r} in {self.store.name!r})"

    def _followed(self) -> Course:
        """Return what the policy makes of all events of the log."""
        with self._follower.course() as course:
            return course
