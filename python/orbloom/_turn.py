"""Whose turn it is with a handle, of which one call at a time is under way."""

from __future__ import annotations

import os
import threading
from typing import Callable, Optional


class Turn:
    """`with turn:` around each use of the handle. Other threads wait. Who comes in between on the thread that has the turn,
    as signal handlers and the garbage collector do, is told, since waiting would be for ever."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._lock = threading.RLock()
        self._taken = False
        self._last: Optional[Callable[[], None]] = None
        self._process = os.getpid()

    def __enter__(self) -> None:
        if not self._take():
            raise RuntimeError("a call of this thread is under way; a signal handler may close() the Cluster, not ask it")

    def __exit__(self, *exception: object) -> None:
        self._taken = False
        last, self._last = self._last, None
        if last is not None:
            last()
        self._lock.release()

    def end_with(self, last: Callable[[], None]) -> None:
        """Do this, now or when the call that is under way on this thread has ended."""
        if not self._take():
            self._last = last
            return
        self._last = last
        self.__exit__()

    def _take(self) -> bool:
        """False: this thread has it."""
        if self._process != os.getpid():  # What another thread of the parent has, it never gives back here.
            self._renew()
        self._lock.acquire()
        if self._taken:
            self._lock.release()
            return False
        self._taken = True
        return True
