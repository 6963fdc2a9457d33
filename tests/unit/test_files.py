"""Files are written whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.errors import InputError
from evenhand.files import write_atomically


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_the_file_appears_complete_and_alone(tmp_path: Path) -> None:
    target = tmp_path / "table.csv.gz"
    with write_atomically(target) as draft:
        assert draft.parent == tmp_path
        assert draft.suffixes == [".csv", ".gz"]
        draft.write_text("new")
        assert not target.exists()
    assert contents(tmp_path) == {"table.csv.gz": "new"}


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, MemoryError])
def test_a_failure_half_way_keeps_the_old_file_and_leaves_no_draft(
    tmp_path: Path, failure: type[BaseException]
) -> None:
    target = tmp_path / "picture.png"
    target.write_text("old")

    def write_half(draft: Path) -> None:
        draft.write_text("half")
        raise failure

    with pytest.raises(failure), write_atomically(target) as draft:
        write_half(draft)
    assert contents(tmp_path) == {"picture.png": "old"}


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "picture.png"
    target.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write fails with an OSError
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with (
            pytest.raises(InputError, match=r"the picture cannot be written to .*picture\.png"),
            write_atomically(target, "the picture") as draft,
        ):
            draft.write_bytes(bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert contents(tmp_path) == {"picture.png": "old"}


def test_a_kill_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "picture.png"
    target.write_text("old")
    code = (
        "import os, signal, sys\n"
        "from evenhand.files import write_atomically\n"
        "with write_atomically(sys.argv[1]) as draft:\n"
        "    draft.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert target.read_text() == "old"


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    with write_atomically(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("")
    with write_atomically(tmp_path / "ours.txt") as draft:
        draft.write_text("")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_what_is_no_file_is_written_to_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with write_atomically(pipe) as draft:
            draft.write_text("through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["", "nowhere/picture.png"])
def test_a_place_that_cannot_be_is_refused_before_any_work(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(InputError, match=r"cannot be written to .*; choose another place"),
        write_atomically(tmp_path / name),
    ):
        pytest.fail("the block must not run")
