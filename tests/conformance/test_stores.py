"""What every store does, whatever database it is: the suite's only hole is the fixture."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

import children
import evenhand as eh
from evenhand.campaigns.stores import Session, SqliteStore, Store, open_store, postgres
from evenhand.campaigns.stores.postgres import PostgresStore

MAKE = "CREATE TABLE note (number BIGINT PRIMARY KEY, word TEXT)"
ADD = "INSERT INTO note VALUES (:number, :word)"
ALL = "SELECT number FROM note ORDER BY number"
WORDS = "SELECT word FROM note ORDER BY number"


def adding(number: int, word: str = "") -> Callable[[Session], int]:
    """Work that leaves a trace, finds it when it is done again, and returns its number."""

    def work(session: Session) -> int:
        if (number,) not in [tuple(row) for row in session.rows(ALL)]:
            session.run(ADD, number=number, word=word)
        return number

    return work


def numbers(store: Store) -> list[int]:
    return [row[0] for row in store.read(lambda session: session.rows(ALL))]


@pytest.fixture
def address(store_address: str) -> str:
    """A store with a table to write to."""
    with open_store(store_address) as store:
        store.write(lambda session: session.run(MAKE))
    return store_address


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with open_store(address) as opened:
        yield opened


def add_and_say(address: str, pipe: Any) -> None:
    with open_store(address) as store:
        for number in range(10_000):
            pipe.send(store.write(adding(number)))


@pytest.mark.parametrize("after", [1, 7, 20])
def test_what_was_acknowledged_survives_a_kill(address: str, after: int) -> None:
    here, there = children.Pipe()
    process = children.start(add_and_say, address, there)
    for _ in range(after):
        here.recv()
    os.kill(process.pid, signal.SIGKILL)
    assert children.ended(process) == -signal.SIGKILL
    there.close()
    acknowledged = after
    try:
        while True:
            here.recv()
            acknowledged += 1
    except EOFError:
        pass
    with open_store(address) as store:
        kept = numbers(store)
        assert kept == list(range(len(kept)))
        assert acknowledged <= len(kept) <= acknowledged + 1  # one may not have been said yet
        assert store.write(adding(-1)) == -1  # and nothing is locked


def test_work_that_raises_changes_nothing(store: Store) -> None:
    def half(session: Session) -> None:
        adding(1)(session)
        raise eh.InputError("no")

    with pytest.raises(eh.InputError, match="no"):
        store.write(half)
    assert numbers(store) == []
    assert store.write(adding(2)) == 2
    assert numbers(store) == [2]


def test_what_was_written_comes_back_as_it_was(store: Store) -> None:
    words = ["", "Ö 🏆 ’'\"; DROP TABLE note; --", "%s %(word)s :word", "a\nb\t\\", "x" * 100_000]
    for number, word in enumerate(words):
        store.write(adding(number, word))
    assert [row[0] for row in store.read(lambda session: session.rows(WORDS))] == words


def test_what_the_database_refuses_is_said_and_nothing_is_locked(
    store: Store, address: str
) -> None:
    store.patience = 0.1
    store.write(adding(1))
    with pytest.raises(eh.StoreError, match="acknowledged is kept"):
        store.write(lambda session: session.run(ADD, number=1, word="again"))
    with open_store(address) as other:
        assert other.write(adding(2)) == 2
    assert store.write(adding(3)) == 3
    assert numbers(store) == [1, 2, 3]


def written_together(store: Store, works: list[Callable[[Session], Any]]) -> list[Any]:
    """Have threads write at once, so that they come in one group."""
    outcomes: list[Any] = [None] * len(works)

    def run(place: int) -> None:
        try:
            outcomes[place] = store.write(works[place])
        except BaseException as error:
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    with store._desk:
        for thread in threads:
            thread.start()
        while len(store._queue) < len(works):
            time.sleep(0.001)
    for thread in threads:
        thread.join(60)
    return outcomes


def test_one_of_a_group_that_is_refused_leaves_the_others_alone(store: Store) -> None:
    def refused(session: Session) -> None:
        adding(100)(session)
        raise eh.InputError("not this one")

    def a_mistake(session: Session) -> None:
        adding(101)(session)
        raise ZeroDivisionError

    def of_the_database(session: Session) -> None:
        adding(102)(session)
        session.run(ADD, number=102, word="twice")
        session.rows(ALL)

    store.patience = 0.1
    got = written_together(
        store, [adding(1), refused, adding(2), a_mistake, of_the_database, adding(3)]
    )
    assert [got[0], got[2], got[5]] == [1, 2, 3]
    assert [type(got[i]) for i in (1, 3, 4)] == [eh.InputError, ZeroDivisionError, eh.StoreError]
    assert numbers(store) == [1, 2, 3]


def test_an_interrupt_leaves_nothing_locked_and_the_others_work(store: Store, address: str) -> None:
    def interrupted(session: Session) -> None:
        adding(1)(session)
        raise KeyboardInterrupt

    def only_interrupted(session: Session) -> None:
        session.rows(ALL)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.write(interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.read(only_interrupted)
    with open_store(address) as other:
        assert other.write(adding(2)) == 2
    assert store.write(adding(3)) == 3
    assert numbers(store) == [2, 3]


@pytest.mark.parametrize("refused", [False, True])
def test_an_interrupt_in_a_group_is_for_one_thread_only(store: Store, refused: bool) -> None:
    left = [3 if refused else 1]  # works that are begun before the interrupt comes

    def interrupted(number: int) -> Callable[[Session], int]:
        def work(session: Session) -> int:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            return adding(number)(session)

        return work

    def no(session: Session) -> None:
        raise eh.InputError("no")

    works = [no] * refused + [interrupted(number) for number in range(6)]
    got = written_together(store, works)[int(refused) :]
    interrupts = {n for n, outcome in enumerate(got) if isinstance(outcome, KeyboardInterrupt)}
    done = {outcome for outcome in got if not isinstance(outcome, BaseException)}
    assert len(interrupts) <= 1
    assert len(done) >= 5
    assert done <= set(numbers(store)) <= done | interrupts  # of whose own work nobody knows
    assert store.write(adding(100)) == 100


LOCK = {SqliteStore: "SELECT 1", PostgresStore: "SELECT 1 FROM note WHERE number = 0 FOR UPDATE"}


def locked(store: Store, number: int) -> Callable[[Session], int]:
    """Work that nobody else can do at the same time."""

    def work(session: Session) -> int:
        session.rows(LOCK[type(store)])
        return adding(number)(session)

    return work


def stop_in_a_transaction(address: str, pipe: Any) -> None:
    postgres._MANNERS = postgres._MANNERS.replace("'20s'", "'1s'")
    with open_store(address) as store:

        def work(session: Session) -> int:
            done = locked(store, 1)(session)
            pipe.send("here")
            pipe.recv()
            return done

        pipe.send(store.write(work))


def test_who_is_stopped_in_a_transaction_does_not_stop_the_others(
    store: Store, address: str
) -> None:
    """A server ends the transaction; a file says who has it, and others can still read."""
    store.write(adding(0))
    here, there = children.Pipe()
    process = children.start(stop_in_a_transaction, address, there)
    assert here.recv() == "here"
    os.kill(process.pid, signal.SIGSTOP)
    try:
        if isinstance(store, SqliteStore):
            store.patience = 0.2
            with pytest.raises(eh.StoreError, match=r"another process .* stopped"):
                store.write(locked(store, 2))
            got = written_together(store, [locked(store, number) for number in (3, 4, 5)])
            assert {type(one) for one in got} == {eh.StoreError}
            assert len({id(one) for one in got}) == 1  # all at once, not each after the other
            assert numbers(store) == [0]
        else:
            assert store.write(locked(store, 2)) == 2
    finally:
        os.kill(process.pid, signal.SIGCONT)
    for _ in range(2):  # on a server, its work is done again
        here.send("go")
    assert next(said for said in iter(here.recv, None) if said != "here") == 1
    assert children.ended(process) == 0
    store.patience = 30.0
    assert store.write(locked(store, 6)) == 6
    assert numbers(store) == ([0, 1, 6] if isinstance(store, SqliteStore) else [0, 1, 2, 6])


def test_nobody_sees_what_is_not_committed(store: Store, address: str) -> None:
    with open_store(address) as other:

        def looked_at(session: Session) -> list[int]:
            adding(1)(session)
            return numbers(other)

        assert store.write(looked_at) == []
        assert numbers(other) == [1]


def test_a_read_sees_one_state(store: Store, address: str) -> None:
    with open_store(address) as other:

        def twice(session: Session) -> tuple[int, int]:
            before = len(session.rows(ALL))
            other.write(adding(1))
            return before, len(session.rows(ALL))

        assert store.read(twice) == (0, 0)
        assert numbers(store) == [1]


def test_a_read_writes_nothing(store: Store) -> None:
    store.patience = 0.1
    with suppress(eh.StoreError):  # some say so, some forget it
        store.read(adding(1))
    assert numbers(store) == []


def add_after_a_fork(address: str) -> None:
    """The parent and its child write by the same store, in turns, and both go on."""
    store = open_store(address)
    store.write(adding(1))
    assert numbers(store) == [1]
    for number in (10, 20):
        child = os.fork()
        if child == 0:
            try:
                store.write(adding(number))
                assert number in numbers(store)
                os._exit(0)
            finally:
                os._exit(1)
        store.write(adding(number + 1))
        assert os.waitpid(child, 0)[1] == 0
        store.write(adding(number + 2))
    assert numbers(store) == [1, 10, 11, 12, 20, 21, 22]
    store.close()


def test_a_forked_process_has_connections_of_its_own(address: str) -> None:
    assert children.ended(children.start(add_after_a_fork, address)) == 0


def outlive_the_parent(address: str, pipe: Any) -> None:
    store = open_store(address)
    store.write(adding(1))
    child = os.fork()
    if child == 0:
        store.write(adding(2))
        pipe.send(os.getpid())  # the parent ends, and closes what it has
        time.sleep(0.5)
        pipe.send(store.write(adding(3)))
        os._exit(0)
    pipe.recv()
    store.close()


def test_a_forked_process_outlives_its_parent_and_loses_nothing(address: str) -> None:
    here, there = children.Pipe()
    process = children.start(outlive_the_parent, address, there)
    child = here.recv()
    here.send("go")
    assert children.ended(process) == 0
    assert here.recv() == 3
    while True:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    with open_store(address) as store:
        assert numbers(store) == [1, 2, 3]


def test_a_closed_store_opens_again_when_it_is_used(store: Store) -> None:
    store.write(adding(1))
    store.close()
    store.close()
    assert numbers(store) == [1]
    store.close()
    assert store.write(adding(2)) == 2


def test_time_is_the_same_for_all_and_moves_on(store: Store, address: str) -> None:
    with open_store(address) as other:
        times = [s.read(Session.now) for s in (store, other, store, other)]
    assert times == sorted(times)
    assert abs(times[0] - time.time()) < 600.0  # seconds since 1970, whatever the server's clock


def test_a_clock_can_be_set_for_tests(store: Store) -> None:
    before = store.read(Session.now)
    store.clock_offset = -86_400.0
    assert store.read(Session.now) < before - 86_000.0
    assert store.write(Session.now) < before - 86_000.0


def test_work_whose_commit_was_not_heard_of_is_done_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, lost = store._committed, [True, False]

    def unheard(works: list[Any]) -> list[Any]:
        results = plain(works)
        if lost.pop(0):
            kind = psycopg if isinstance(store, PostgresStore) else sqlite3
            error = kind.OperationalError("the line broke; database is locked")
            raise sa.exc.OperationalError("COMMIT", {}, error)
        return results

    def found(session: Session) -> str:
        there = session.rows(ALL)
        adding(1)(session)
        return "again" if there else "new"

    monkeypatch.setattr(store, "_committed", unheard)
    assert store.write(found) == "again"
    assert numbers(store) == [1]
