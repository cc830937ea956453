"""How fast is the Python package beside C's client? python_client.py ORBLOOM SECONDS ROUNDS, in a playground.

Checks of keys of 60 bytes, half of them present, in batches of 1, 64 and 1,000 keys, one batch at a time and 16 in
flight: by `orbloom bench`, then by the package, in turn in each round; medians. Prints a table. Exit 1 where a key
was lost or not answered.
"""

import json
import statistics
import subprocess
import sys
import time
from typing import Any, List, Tuple

from orbloom import Answer, Cluster, Operation

FILTER, FILTER_OF_C = "bench-python", "bench-c"
SIZE = 100_000
BATCHES = (1, 64, 1000)
FLIGHTS = (1, 16)


def key(number: int) -> bytes:
    return b"https://python.example.org/a/page/with/a/longish/name:%06d" % number


def batches_of(count: int) -> List[List[bytes]]:
    """Known and fresh keys in turn, some thousand batches at most."""
    keys = [key(number // 2 + (SIZE if number % 2 else 0)) for number in range(2 * SIZE)]
    return [keys[at : at + count] for at in range(0, min(len(keys), 4000 * count), count)]


def judge(answers: List[Answer]) -> None:
    if Answer.ABSENT in answers[::2] or Answer.UNKNOWN in answers:
        sys.exit("a key was lost, or not answered")


def one_at_a_time(cluster: Cluster, batches: List[List[bytes]], end: float) -> int:
    turns = 0
    while time.monotonic() < end:
        keys = batches[turns % len(batches)]
        answers = cluster.check(FILTER, keys)
        if turns % 50 == 0 and len(keys) > 1:
            judge(answers)
        turns += 1
    return turns


def in_flight(cluster: Cluster, batches: List[List[bytes]], end: float, flight: int) -> int:
    sent = turns = 0
    while time.monotonic() < end or turns < sent:
        while sent - turns < flight and time.monotonic() < end:
            cluster.submit(Operation.CHECK, FILTER, batches[sent % len(batches)])
            sent += 1
        done = cluster.wait()
        if done is None or done.error is not None:
            sys.exit(f"not answered: {done and done.error}")
        if turns % 50 == 0 and len(done.answers) > 1:
            judge(done.answers)
        turns += 1
    return turns


def python_rate(batch: int, flight: int, seconds: float) -> Tuple[float, float]:
    """Keys a second, and microseconds of this process' CPU time a key; its library's threads belong to it."""
    with Cluster() as cluster:
        batches = batches_of(batch)
        cluster.check(FILTER, batches[0])
        begin, used = time.monotonic(), time.process_time()
        end = begin + seconds
        turns = one_at_a_time(cluster, batches, end) if flight == 1 else in_flight(cluster, batches, end, flight)
        return turns * batch / (time.monotonic() - begin), (time.process_time() - used) / (turns * batch) * 1e6


def bench_of_c(orbloom: str, operation: str, *flags: str) -> Any:
    words = [orbloom, "bench", "--json", "--op", operation, "--filter", FILTER_OF_C, "--size", str(SIZE), *flags]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def c_rate(orbloom: str, batch: int, flight: int, seconds: float) -> Tuple[float, float]:
    load = ["--batch", str(batch), "--in-flight", str(flight), "--keys", "1G", "--for", f"{round(seconds * 1000)}ms"]
    row = bench_of_c(orbloom, "check", "--filled", *load)
    return row["keys_per_s"], row["cpu_ns_per_key"]["client"] / 1000


def main() -> None:
    orbloom, seconds, rounds = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    with Cluster() as cluster:
        cluster.create(FILTER, 2 * SIZE, 0.01)
        for _ in cluster.stream(Operation.ADD, FILTER, ([key(n) for n in range(at, at + 1000)] for at in range(0, SIZE, 1000))):
            pass
    bench_of_c(orbloom, "fill", "--keys", str(2 * SIZE))
    rows = [(batch, flight) for batch in BATCHES for flight in FLIGHTS]
    measured = {row: ([], []) for row in rows}
    for _ in range(rounds):
        for row in rows:
            measured[row][0].append(c_rate(orbloom, *row, seconds))
            measured[row][1].append(python_rate(*row, seconds))
    print("| keys a batch | in flight | C, keys/s | Python, keys/s | Python / C | C, us of CPU a key | Python |")
    print("|---|---|---|---|---|---|---|")
    for batch, flight in rows:
        c, python = (tuple(map(statistics.median, zip(*rates))) for rates in measured[batch, flight])
        print(f"| {batch:,} | {flight} | {c[0]:,.0f} | {python[0]:,.0f} | {python[0] / c[0]:.2f} | {c[1]:.2f} | {python[1]:.2f} |")


main()
