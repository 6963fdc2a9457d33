"""A line for processes: the lock of a file, which the system hands on in turn.

SQLite lets processes that wait for its lock try again at random, and some starve. The system's own
locks go to who has waited longest, and are taken back from the dead.
"""

from __future__ import annotations

import os
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
