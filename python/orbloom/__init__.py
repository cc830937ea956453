"""orbloom - have we seen this key? A client of an orbloom cluster.

    import orbloom

    with orbloom.Cluster() as cluster:
        cluster.create("seen", capacity=10_000_000, rate=0.01)
        for key, answer in zip(keys, cluster.add("seen", keys)):
            if answer is not orbloom.Answer.PRESENT:
                ...  # first seen

A key whose add was answered is never reported ABSENT. UNKNOWN means "not sure" and never "absent".
"""

from ._answer import ACKS_EACH, ACKS_LOCAL, Answer, Operation
from ._cluster import MAX_BATCH_BYTES, MAX_BATCH_KEYS, MAX_KEY_BYTES, Cluster, Completion, FilterInfo, Hash
from ._error import Code, OrbloomError
from ._library import version

__all__ = [
    "ACKS_EACH",
    "ACKS_LOCAL",
    "MAX_BATCH_BYTES",
    "MAX_BATCH_KEYS",
    "MAX_KEY_BYTES",
    "Answer",
    "Cluster",
    "Code",
    "Completion",
    "FilterInfo",
    "Hash",
    "Operation",
    "OrbloomError",
    "version",
]
