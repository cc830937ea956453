#!/usr/bin/python3
"""Dedup with a Redis client, redis-py: print each line that nobody has seen before.

    ORBLOOM_RESP=/run/orbloom/resp.sock resp_dedup.py FILTER < LINES      # or HOST:PORT

PIPELINE commands of BATCH lines are under way at once. Not sure counts as new, and the exit
status is 1 then: a line twice is better than a line lost.
"""
import itertools
import os
import sys

import redis

BATCH, PIPELINE = 500, 8


def connect():
    where = os.environ.get("ORBLOOM_RESP", "127.0.0.1:6380")
    if where.startswith("/"):
        return redis.Redis(unix_socket_path=where)
    host, port = where.rsplit(":", 1)
    return redis.Redis(host=host, port=int(port))


def batches(lines):
    while batch := list(itertools.islice(lines, BATCH)):
        yield batch


def dedup(client, name, lines, out):
    """False: of some lines nothing is known."""
    sure = True
    waves = batches(line for line in lines if 1 <= len(line) <= 65536)
    while wave := list(itertools.islice(waves, PIPELINE)):
        pipe = client.pipeline(transaction=False)
        for batch in wave:
            pipe.bf().madd(name, *batch)
        answers = pipe.execute(raise_on_error=False)
        for batch, answer in zip(wave, answers):
            # Errors stand in the list, or instead of it; a full filter ends it early.
            verdicts = answer if isinstance(answer, list) else []
            for line, verdict in itertools.zip_longest(batch, verdicts):
                sure = sure and verdict in (0, 1)
                if verdict != 0:
                    out.write(line + b"\n")
            if not isinstance(answer, list):
                print("resp_dedup.py: printed all the same:", answer, file=sys.stderr)
    return sure


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: ORBLOOM_RESP=/SOCKET|HOST:PORT resp_dedup.py FILTER < LINES")
    stdin = (line.removesuffix(b"\n") for line in sys.stdin.buffer)
    try:
        known = dedup(connect(), sys.argv[1], stdin, sys.stdout.buffer)
    except redis.RedisError as error:
        sys.exit(f"resp_dedup.py: {error}")
    sys.exit(0 if known else 1)
