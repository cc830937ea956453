#!/usr/bin/python3
"""Keep lookups of rows that do not exist away from a database, with redis-py:

    ORBLOOM_RESP=/run/orbloom/resp.sock resp_cache_guard.py FILTER DATABASE < IDS   # or HOST:PORT

A lookup gets through to SQLite unless the filter says that its id is absent. Not sure is not
absent: an error of one id, or of all of them, lets the query through.
"""
import itertools
import os
import sqlite3
import sys

import redis

BATCH = 1000


def connect():
    where = os.environ.get("ORBLOOM_RESP", "127.0.0.1:6380")
    if where.startswith("/"):
        return redis.Redis(unix_socket_path=where, socket_timeout=10)
    host, port = where.rsplit(":", 1)
    return redis.Redis(host=host, port=int(port), socket_timeout=10)


def open_table(path):
    """The ids 10, 20 ... 1,000,000."""
    table = sqlite3.connect(path)
    with table:
        table.execute("CREATE TABLE IF NOT EXISTS demo (id INTEGER PRIMARY KEY)")
        rows = ((i,) for i in range(10, 1000001, 10))
        table.executemany("INSERT OR IGNORE INTO demo VALUES (?)", rows)
    return table


def load(client, name, table):
    """All ids or none: a row whose id is not in the filter is hidden. New rows: first the id."""
    ids = (row[0] for row in table.execute("SELECT id FROM demo"))
    while batch := list(itertools.islice(ids, BATCH)):
        answers = client.bf().madd(name, *batch)
        if len(answers) != len(batch) or any(answer not in (0, 1) for answer in answers):
            sys.exit(f"resp_cache_guard.py: not all ids are in the filter: {answers[-1]}")


def absent(client, name, batch):
    """Of each id: is it known to be absent?"""
    try:
        answers = client.bf().mexists(name, *batch)
    except redis.RedisError as error:
        print("resp_cache_guard.py: not sure:", error, file=sys.stderr)
        return [False] * len(batch)
    for answer in answers:
        if answer not in (0, 1):
            print("resp_cache_guard.py: not sure:", answer, file=sys.stderr)
            break
    return [isinstance(answer, int) and answer == 0 for answer in answers]


def look_up(client, name, table, ids):
    lookups = queries = found = 0
    while batch := list(itertools.islice(ids, BATCH)):
        lookups += len(batch)
        for number, useless in zip(batch, absent(client, name, batch)):
            if not useless:
                queries += 1
                row = table.execute("SELECT 1 FROM demo WHERE id=?", (number,)).fetchone()
                found += row is not None
    print(f"{lookups} lookups, {queries} queries got through, {found} rows found")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: ORBLOOM_RESP=/SOCKET|HOST:PORT resp_cache_guard.py FILTER DATABASE < IDS")
    guard = connect()
    rows = open_table(sys.argv[2])
    load(guard, sys.argv[1], rows)
    look_up(guard, sys.argv[1], rows, (int(line) for line in sys.stdin))
