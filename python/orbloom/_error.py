"""What can go wrong."""

from __future__ import annotations

import enum
from typing import Any, List, Optional, Tuple

from ._answer import Answer


class Code(enum.IntEnum):
    """Why it went wrong; orbloom.h has the same names and numbers."""

    OK = 0
    NOMEM = 1
    INVALID = 2
    SHAPE = 3
    MALFORMED = 4
    TOO_LARGE = 5
    VERSION_UNSERVED = 6
    NOT_FOUND = 7
    EXISTS = 8
    CONFLICT = 9
    STALE = 10
    NEED_DOC = 11
    NOT_READY = 12
    UNAVAILABLE = 13
    OVERLOADED = 14
    DEADLINE = 15
    NO_SPACE = 16
    FULL = 17
    NAME_BUSY = 18
    UNAUTHENTIC = 19
    IO = 20
    USAGE = 21
    DROPPED = 22
    INTERNAL = 23
    OVER_QUOTA = 24
    BEHIND = 25

    @classmethod
    def _missing_(cls, value: object) -> Code:
        """One that a newer library has: the message names it."""
        return cls.INTERNAL


class OrbloomError(Exception):
    """A call that was not answered as a whole.

    code     Code.NOT_FOUND
    cause    what is wrong
    remedy   what to do about it; "" where that is not known
    answers  of a batch: about each key, as far as they are known; those left UNKNOWN are not acknowledged, and
             adding them again is safe
    """

    def __init__(self, code: int, message: str, answers: Optional[List[Answer]] = None) -> None:
        super().__init__(message)
        self.code = Code(code)
        named = f"{self.code.name}: "
        text = message[len(named) :] if message.startswith(named) else message
        self.cause, _, self.remedy = text.partition("; ")
        self.answers: List[Answer] = answers if answers is not None else []

    def __reduce__(self) -> Tuple[Any, ...]:
        """So that it comes back from other processes, too."""
        return type(self), (self.code, str(self), self.answers)
