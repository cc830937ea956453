"""What a cluster answers about a key, and what it is asked."""

from __future__ import annotations

import enum

from ._library import lib


class Answer(enum.Enum):
    """The answer about one key; two of the four are "not sure"."""

    UNKNOWN = 0
    """Not sure; of an add: not acknowledged."""
    PRESENT = 1
    """Seen before, or one of the filter's false positives."""
    ABSENT = 2
    """Never acknowledged before; of an add: it is now, and was new."""
    MAYBE = 3
    """Of a check: not sure, and the filter fails open. Of an add: acknowledged, and whether it was new is not sure."""

    NEW = 2
    MAYBE_NEW = 3

    def __bool__(self) -> bool:
        """Was the key seen before? Raises ValueError where that is not sure: "not sure" is never "absent"."""
        if self is Answer.PRESENT:
            return True
        if self is Answer.ABSENT:
            return False
        raise ValueError(f"{self.name} is neither yes nor no: compare with Answer.PRESENT or Answer.ABSENT")


class Operation(enum.Enum):
    """What a submitted batch asks for."""

    CHECK = 1
    ADD = 2
    FEED = 3


ACKS_LOCAL: int = lib.ORBLOOM_ACKS_LOCAL
"""An add is acknowledged by its own site alone."""
ACKS_EACH: int = lib.ORBLOOM_ACKS_EACH
"""... by each site that counts."""
