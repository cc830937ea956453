"""A client of a cluster: batches, one at a time or many in flight; filters."""

from __future__ import annotations

import enum
import math
import os
from array import array
from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from ._answer import Answer, Operation
from ._error import Code, OrbloomError
from ._library import bytes_of, ffi, lib, path_of, text_of
from ._turn import Turn

MAX_KEY_BYTES: int = lib.ORBLOOM_MAX_KEY_BYTES
MAX_BATCH_KEYS: int = lib.ORBLOOM_MAX_BATCH_KEYS
MAX_BATCH_BYTES: int = lib.ORBLOOM_MAX_BATCH_BYTES

_ANSWERS = (Answer.UNKNOWN, Answer.PRESENT, Answer.ABSENT, Answer.MAYBE)
_MAX_U32 = (1 << 32) - 1
_SLICE_MS = 200  # of waiting, so that Ctrl-C is heard
_NOTHING = array("I", [0])


class Hash(enum.Enum):
    """How a filter turns keys into fingerprints, for good; XXH3 is for keys that nobody chooses who means harm."""

    SIPHASH = 1
    XXH3 = 2


@dataclass(frozen=True)
class FilterInfo:
    """A filter, as routers know it; orbloom.h has what the fields mean."""

    id: int
    epoch: int
    capacity: int
    max_capacity: int
    rate: float
    replicas: int
    write_quorum: int
    read_quorum: int
    shards: int
    bytes: int
    keys: int
    replicas_full: int
    replicas_waiting: int
    hash: Hash
    max_staleness: Optional[float]
    acks: int


@dataclass(frozen=True)
class Completion:
    """The end of a batch that was submitted."""

    user: Any
    answers: List[Answer]
    error: Optional[OrbloomError]
    """None: every key is answered."""
    attempts: int
    latency: float
    """Seconds from submit to the answer."""


def _milliseconds(seconds: Optional[float], what: str) -> int:
    """0 for None: the library's default."""
    if seconds is None:
        return 0
    if not 0 < seconds * 1000 <= _MAX_U32:
        raise ValueError(f"{what} must be more than 0 and at most {_MAX_U32 // 1000} seconds")
    return max(1, round(seconds * 1000))


def _microseconds(seconds: float, what: str) -> int:
    if not 0 <= seconds * 1_000_000 < 1 << 63:
        raise ValueError(f"{what} must be 0 seconds or more")
    return round(seconds * 1_000_000)


def _answers(codes: Any) -> List[Answer]:
    return list(map(_ANSWERS.__getitem__, codes))


class _Keys:
    """A batch as the library takes it; must outlive the call. Other threads may go on with `keys` meanwhile."""

    __slots__ = ("blob", "lengths", "count")

    def __init__(self, keys: Sequence[bytes]) -> None:
        held = tuple(keys)
        self.blob = b"".join(held)
        self.lengths = array("I", map(len, held))
        self.count = len(self.lengths)
        if sum(self.lengths) != len(self.blob):
            raise TypeError("keys are bytes")

    def into(self, struct: Any) -> None:
        struct.bytes = ffi.from_buffer(self.blob)
        struct.lengths = ffi.cast("uint32_t *", ffi.from_buffer(self.lengths if self.count > 0 else _NOTHING))
        struct.count = self.count


class Cluster:
    """One client of a cluster; open until close(), or the end of a `with`.

    routers, coordinators  "tcp://a:7401,tcp://b:7401"; else $ORBLOOM_ROUTER and $ORBLOOM_COORDINATOR, else this machine
    timeout                of every operation, in seconds; 5
    attempt                no answer for so many seconds: the next router is asked; 1
    max_in_flight          batches submitted and not yet collected; 64
    max_bytes              of keys in flight; 64 MiB
    in_order               batches go one way, so that of equal keys in flight the first is the NEW one
    fail_over              where routers of several sites are named: go on at another site once none of one's own answers
    credential             the user's file, for a cluster that speaks CURVE; else $ORBLOOM_CREDENTIAL; "none": none

    Connecting succeeds without a cluster: what is asked then ends in Code.DEADLINE. Threads may share a Cluster, which
    serves one at a time; a Cluster a thread is faster. A signal handler may close() it, which is done when the call under
    way has ended. After a fork() the child opens its own: what it asks of its parent's is Code.INVALID.
    """

    def __init__(
        self,
        routers: Optional[str] = None,
        coordinators: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        attempt: Optional[float] = None,
        max_in_flight: int = 0,
        max_bytes: int = 0,
        in_order: bool = False,
        fail_over: bool = False,
        credential: Union[str, os.PathLike[str], None] = None,
    ) -> None:
        self._handle: Any = ffi.NULL
        self._turn = Turn()
        self._users: Dict[int, Any] = {}
        self._next = 1
        texts = {
            "routers": bytes_of(routers, "routers"),
            "coordinators": bytes_of(coordinators, "coordinators"),
            "credential": path_of(credential, "credential"),
        }
        options = ffi.new("struct orbloom_options *", texts)
        options.timeout_ms = _milliseconds(timeout, "timeout")
        options.attempt_ms = _milliseconds(attempt, "attempt")
        options.max_in_flight = max_in_flight
        options.max_bytes = max_bytes
        options.in_order = in_order
        options.fail_over = fail_over
        out = ffi.new("struct orbloom **")
        code = lib.orbloom_connect(options, out)
        self._handle = out[0]
        if code != Code.OK:
            message = text_of(lib.orbloom_error(self._handle)) if self._handle else "NOMEM: out of memory"
            self.close()
            raise OrbloomError(code, message)

    def close(self) -> None:
        """What is in flight is given up: an add may or may not have happened. May be called again."""
        self._turn.end_with(self._close)

    def _close(self) -> None:
        handle = ffi.new("struct orbloom **", self._handle)
        self._handle = ffi.NULL
        self._users.clear()
        lib.orbloom_close(handle)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    # ---- keys ----

    def add(self, filter: str, keys: Sequence[bytes], *, acks: Optional[int] = None) -> List[Answer]:
        """Add a batch: NEW, PRESENT or MAYBE_NEW for each key, all of them acknowledged. acks: by how many sites, 2 to 8,
        ACKS_LOCAL or ACKS_EACH; None: as the filter says."""
        if acks is None:
            return self._batch(lib.orbloom_add, filter, (), keys)
        return self._batch(lib.orbloom_add_in_sites, filter, (acks,), keys)

    def check(self, filter: str, keys: Sequence[bytes], *, max_staleness: Optional[float] = None) -> List[Answer]:
        """Check a batch: PRESENT, ABSENT or MAYBE for each key. max_staleness: within how many seconds ABSENT counts what
        other sites have acknowledged; 0: all; None: as the filter says."""
        if max_staleness is None:
            return self._batch(lib.orbloom_check, filter, (), keys)
        bound = _microseconds(max_staleness, "max_staleness")
        return self._batch(lib.orbloom_check_within, filter, (bound,), keys)

    def dedup(self, filter: str, keys: Sequence[bytes]) -> List[bytes]:
        """Add a batch, and return the keys that were not there before, in order; also those of which that is not sure, as
        twice is better than never. Of equal ones in the batch the first."""
        keys = tuple(keys)
        answers = self.add(filter, keys)
        return [key for key, answer in zip(keys, answers) if answer is not Answer.PRESENT]

    def add_key(self, filter: str, key: bytes) -> Answer:
        """Add one key."""
        return self.add(filter, (key,))[0]

    def check_key(self, filter: str, key: bytes) -> Answer:
        """Check one key."""
        return self.check(filter, (key,))[0]

    def _batch(self, call: Any, filter: str, middle: Tuple[int, ...], keys: Sequence[bytes]) -> List[Answer]:
        batch = _Keys(keys)
        struct = ffi.new("struct orbloom_keys *")
        batch.into(struct)
        answers = bytearray(max(batch.count, 1))
        name = bytes_of(filter, "filter")
        code, message = self._turn.do(self._ask, call, name, *middle, struct, ffi.from_buffer(answers))
        found = _answers(answers[: batch.count])
        if code != Code.OK:
            raise OrbloomError(code, message, found)
        return found

    # ---- many batches in flight ----

    def submit(
        self,
        operation: Operation,
        filter: str,
        keys: Sequence[bytes],
        *,
        user: Any = None,
        timeout: Optional[float] = None,
        acks: Optional[int] = None,
        max_staleness: Optional[float] = None,
        keyset: int = 0,
    ) -> None:
        """Send a batch; wait() has its end, with `user`. Raises Code.OVERLOADED where too much is in flight: wait() first."""
        batch = _Keys(keys)
        name = bytes_of(filter, "filter")
        request = ffi.new("struct orbloom_request *")
        request.filter = name
        request.operation = Operation(operation).value
        batch.into(request.keys)
        request.timeout_ms = _milliseconds(timeout, "timeout")
        request.keyset = keyset
        request.acks = acks if acks is not None else 0
        if max_staleness is not None:
            request.bounded = 1
            request.max_staleness_us = _microseconds(max_staleness, "max_staleness")
        self._turn.do(self._send, request, user)

    def _send(self, request: Any, user: Any) -> None:
        number = self._next
        self._next += 1
        self._users[number] = user  # Before: a signal handler may raise as soon as it is sent.
        request.user = ffi.cast("void *", number)
        code, message = self._ask(lib.orbloom_submit, request)
        if code != Code.OK:
            del self._users[number]
            raise OrbloomError(code, message)

    def wait(self, timeout: Optional[float] = None) -> Optional[Completion]:
        """The next batch that has ended, in any order; None when there was none within `timeout` seconds (0: do not wait;
        None: for as long as it takes), or nothing is in flight."""
        left_ms = None if timeout is None or timeout == math.inf else max(0, round(timeout * 1000))
        while True:
            slice_ms = _SLICE_MS if left_ms is None else min(left_ms, _SLICE_MS)
            done = self._turn.do(self._collect, slice_ms)
            if done is not None or self.in_flight == 0:
                return done
            if left_ms is not None:
                left_ms -= slice_ms
                if left_ms <= 0:
                    return None

    def _collect(self, timeout_ms: int) -> Optional[Completion]:
        done = ffi.new("struct orbloom_completion *")
        if lib.orbloom_wait(self._open(), timeout_ms, done) != 1:
            return None
        answers = _answers(ffi.buffer(done.answers, done.count)[:] if done.count > 0 else b"")
        error = OrbloomError(done.code, text_of(done.message), answers) if done.code != Code.OK else None
        user = self._users.pop(int(ffi.cast("uintptr_t", done.user)))
        return Completion(user, answers, error, done.attempts, done.latency_us / 1e6)

    @property
    def in_flight(self) -> int:
        """Batches submitted and not yet collected."""
        return self._turn.do(lambda: int(lib.orbloom_in_flight(self._open())))

    def stream(
        self,
        operation: Operation,
        filter: str,
        batches: Iterable[Sequence[bytes]],
        *,
        in_flight: int = 16,
        **options: Any,
    ) -> Iterator[Tuple[Sequence[bytes], Completion]]:
        """Send batches while others are under way; each with its end, in the order of `batches`. `options` are those of
        submit(). Nothing else may be in flight meanwhile; what is left of it when it is given up is collected."""
        if in_flight < 1:
            raise ValueError("in_flight must be at least 1")
        if self.in_flight > 0:
            raise ValueError("other batches are in flight: collect them first")
        ended: Dict[int, Completion] = {}
        sent: Deque[Sequence[bytes]] = deque()
        first = 0
        try:
            for number, keys in enumerate(batches):
                while self.in_flight >= in_flight or not self._has_sent(operation, filter, keys, number, options):
                    self._keep(ended)
                sent.append(keys)
                while first in ended:
                    yield sent.popleft(), ended.pop(first)
                    first += 1
            while sent:
                while first not in ended:
                    self._keep(ended)
                yield sent.popleft(), ended.pop(first)
                first += 1
        finally:
            while self._handle and self.in_flight > 0:
                self.wait()

    def _has_sent(self, operation: Operation, filter: str, keys: Sequence[bytes], user: int, options: Any) -> bool:
        """False: there is no room before something that is in flight has ended."""
        try:
            self.submit(operation, filter, keys, user=user, **options)
        except OrbloomError as error:
            if error.code is not Code.OVERLOADED or self.in_flight == 0:
                raise
            return False
        return True

    def _keep(self, ended: Dict[int, Completion]) -> None:
        done = self.wait()
        if done is not None:
            ended[done.user] = done

    # ---- filters ----

    def create(
        self,
        filter: str,
        capacity: int,
        rate: float,
        *,
        max_capacity: int = 0,
        replicas: int = 0,
        write_quorum: int = 0,
        read_quorum: int = 0,
        maybe_when_unavailable: bool = False,
        hash: Hash = Hash.SIPHASH,
        keylog: bool = True,
        refuse_when_full: bool = False,
        max_staleness: Optional[float] = None,
        acks: int = 0,
    ) -> bool:
        """Make a filter for `capacity` keys with at most `rate` false positives (0.01 is 1 %). False: it was there, with
        the same parameters, or has grown since. What is 0 takes its default, as in orbloom.h."""
        name = bytes_of(filter, "filter")
        wish = ffi.new("struct orbloom_filter *")
        wish.name = name
        wish.capacity = capacity
        wish.rate = rate
        wish.max_capacity = max_capacity
        wish.replicas = replicas
        wish.write_quorum = write_quorum
        wish.read_quorum = read_quorum
        wish.maybe_when_unavailable = maybe_when_unavailable
        wish.hash = Hash(hash).value
        wish.keylog_off = not keylog
        wish.refuse_when_full = refuse_when_full
        if max_staleness is not None:
            wish.bounded = 1
            wish.max_staleness_us = _microseconds(max_staleness, "max_staleness")
        wish.acks = acks
        created = ffi.new("int *")
        self._call(lib.orbloom_create, wish, created)
        return bool(created[0])

    def drop(self, filter: str) -> None:
        """Returns when no add or check can reach the filter any more."""
        self._call(lib.orbloom_drop, bytes_of(filter, "filter"))

    def info(self, filter: str) -> FilterInfo:
        """What routers know of the filter."""
        out = ffi.new("struct orbloom_info *")
        self._call(lib.orbloom_info, bytes_of(filter, "filter"), out)
        values = {name: getattr(out, name) for name, _ in ffi.typeof("struct orbloom_info").fields}
        values["hash"] = Hash(values["hash"])
        bound_us = values.pop("max_staleness_us")
        values["max_staleness"] = bound_us / 1e6 if values.pop("bounded") else None
        return FilterInfo(**values)

    @property
    def site(self) -> str:
        """Of which site the routers are that are asked about filters in several; "" before one has answered."""
        return self._turn.do(lambda: text_of(lib.orbloom_site(self._open())))

    # ---- a filter's keys, replaced by a list ----

    def rebuild_begin(self, filter: str) -> int:
        """Begin to replace the filter's keys by a list, or join one that is open; its number. orbloom.h has the steps."""
        keyset = ffi.new("uint32_t *")
        self._call(lib.orbloom_rebuild_begin, bytes_of(filter, "filter"), keyset)
        return int(keyset[0])

    def feed(self, filter: str, keys: Sequence[bytes], *, keyset: int = 0) -> List[Answer]:
        """Add a batch of the list, into the new keys only."""
        return self._batch(lib.orbloom_feed, filter, (keyset,), keys)

    def rebuild_fed(self, filter: str, keys: int, *, keyset: int = 0) -> None:
        """So many keys were fed: without that a commit takes the list for empty."""
        self._call(lib.orbloom_rebuild_fed, bytes_of(filter, "filter"), keyset, keys)

    def rebuild_commit(self, filter: str, *, keyset: int = 0, empty: bool = False) -> None:
        """Forget what was neither fed nor added since it began. empty: even if no list has been fed."""
        self._call(lib.orbloom_rebuild_commit, bytes_of(filter, "filter"), keyset, empty)

    def rebuild_abort(self, filter: str, *, keyset: int = 0) -> None:
        """All is as it was."""
        self._call(lib.orbloom_rebuild_abort, bytes_of(filter, "filter"), keyset)

    # ---- calls ----

    def _open(self) -> Any:
        if not self._handle:
            raise ValueError("the cluster is closed")
        return self._handle

    def _ask(self, call: Any, *words: Any) -> Tuple[int, str]:
        """How it ended, and in words where that is not well. In one's turn."""
        code = call(self._open(), *words)
        return code, "" if code == Code.OK else text_of(lib.orbloom_error(self._handle))

    def _call(self, call: Any, *words: Any) -> None:
        code, message = self._turn.do(self._ask, call, *words)
        if code != Code.OK:
            raise OrbloomError(code, message)
