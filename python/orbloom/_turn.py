"""Whose turn it is with a handle, of which one call at a time is under way."""

from __future__ import annotations

import os
import threading
from typing import Any, Callable, Optional, TypeVar

T = TypeVar("T")


class Turn:
    """do() each thing that needs the handle. Other threads wait. Who comes in between on the thread that has the turn, as
    signal handlers and the garbage collector do, is told, since waiting would be for ever.

    A signal handler may raise wherever a function begins or has returned. So the turn is taken and given back by `with` and a
    lock that is written in C, and what is between is undone without a call: a turn that __enter__() and __exit__() took and
    gave back was lost when a handler raised within these."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._lock = threading.RLock()
        self._taken = False
        self._last: Optional[Callable[[], None]] = None
        self._process = os.getpid()

    def _own(self) -> threading.RLock:
        """The lock: a new one in a child of fork(), where nobody gives back what another thread of the parent had."""
        if self._process != os.getpid():
            self._renew()
        return self._lock

    def do(self, act: Callable[..., T], *words: Any) -> T:
        with self._own():
            if self._taken:
                raise RuntimeError("a call of this thread is under way; a signal handler may close() the Cluster, not ask it")
            self._taken = True
            try:
                return act(*words)
            finally:
                try:
                    last, self._last = self._last, None
                    if last is not None:
                        last()
                finally:
                    self._taken = False

    def end_with(self, last: Callable[[], None]) -> None:
        """Do this, now or when the call that is under way on this thread has ended."""
        with self._own():
            self._last = last
            if not self._taken:
                self.do(lambda: None)
