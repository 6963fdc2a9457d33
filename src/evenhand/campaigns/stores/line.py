"""Locks of files, which the system takes back from the dead.

SQLite lets processes that wait for its lock try again at random, and some starve. The system hands
a file's lock on to who has waited longest: that is a `Line`. A `Place` in a file is locked by who
finds it free.
"""

from __future__ import annotations

import os
import struct
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class Line:
    """A line to stand in: ``with line:`` waits for one's turn, and has it for the block.

    Parameters
    ----------
    path
        The file whose lock is handed on; it is made if it is not there, and stays empty.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def __enter__(self) -> None:
        if sys.platform == "win32":
            msvcrt.locking(self._file, msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        if sys.platform == "win32":
            os.lseek(self._file, 0, os.SEEK_SET)
            msvcrt.locking(self._file, msvcrt.LK_UNLCK, 1)
        else:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Leave the line."""
        os.close(self._file)


class Place:
    """A byte of a file that one process at a time can have, or several that share it.

    Parameters
    ----------
    path
        The file; it is made if it is not there, and stays empty.
    byte
        Which one.
    """

    def __init__(self, path: str, byte: int) -> None:
        self._file, self._byte = os.open(path, os.O_RDWR | os.O_CREAT, 0o666), byte

    def taken(self, *, shared: bool) -> bool:
        """Take it, if it is free; tell whether it was."""
        try:
            self._lock(shared)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _lock(self, shared: bool) -> None:
        if sys.platform == "win32":
            os.lseek(self._file, self._byte, os.SEEK_SET)
            msvcrt.locking(self._file, msvcrt.LK_NBLCK, 1)  # where nothing can be shared
        elif sys.platform == "linux":  # of this opening of the file: threads have their own
            kind = fcntl.F_RDLCK if shared else fcntl.F_WRLCK
            wanted = struct.pack("hhqqi", kind, os.SEEK_SET, self._byte, 1, 0)
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, wanted)
        else:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.lockf(self._file, kind | fcntl.LOCK_NB, 1, self._byte)

    def close(self) -> None:
        """Let go of it, and of the lock."""
        os.close(self._file)
