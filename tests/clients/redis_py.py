#!/usr/bin/python3
"""redis-py against a router: SOCKET as the argument, or rediss://HOST:PORT and files in $TLS_FOLDER.
Exit status 0: all is as it should be."""
import os
import sys
import threading

import redis


def by_tls(**named):
    folder = os.environ["TLS_FOLDER"]
    return redis.Redis.from_url(sys.argv[1], ssl_ca_certs=f"{folder}/ca.pem", **named)


def certificate():
    folder = os.environ["TLS_FOLDER"]
    return {"ssl_certfile": f"{folder}/client.pem", "ssl_keyfile": f"{folder}/client.key"}


secure = sys.argv[1].startswith("rediss:")
client = by_tls(**certificate()) if secure else redis.Redis(unix_socket_path=sys.argv[1])
bf = client.bf()
reserve = getattr(bf, "reserve", None) or bf.create  # by version


def raises(text, call, *arguments, **named):
    try:
        answer = call(*arguments, **named)
    except redis.ResponseError as error:
        assert text in str(error), error
        return
    raise AssertionError(f"{answer} instead of an error with {text}")


def commands():
    assert reserve("py:f", 0.001, 10000) is True
    raises("item exists", reserve, "py:f", 0.001, 10000)
    assert bf.add("py:f", "a") == 1 and bf.add("py:f", "a") == 0
    assert bf.madd("py:f", "a", "b", b"\x00\r\n\xff") == [0, 1, 1]
    assert bf.exists("py:f", b"\x00\r\n\xff") == 1
    assert bf.mexists("py:f", "a", "nobody", "b") == [1, 0, 1]
    assert bf.exists("py:none", "a") == 0
    assert bf.insert("py:made", ["x", "y"], capacity=1000, error=0.01) == [1, 1]
    raises("not found", bf.insert, "py:none", ["x"], noCreate=True)
    info = bf.info("py:f")
    assert info.capacity == 10000 and info.filterNum == 1 and info.insertedNum == 3
    assert client.type("py:f") == b"MBbloom--"
    assert client.exists("py:f", "py:none") == 1
    assert sorted(client.scan_iter("py:*")) == [b"py:f", b"py:made"]
    raises("wrong number of arguments", client.execute_command, "BF.ADD", "py:f")
    raises("unknown command", client.execute_command, "BF.NOPE", "py:f")


def pipelines():
    for transaction in (True, False):
        pipe = client.pipeline(transaction=transaction)
        for i in range(1000):
            pipe.bf().add("py:pipe", f"{transaction}-{i}")
            pipe.bf().exists("py:pipe", f"{transaction}-{i}")
        answers = pipe.execute()
        assert len(answers) == 2000 and set(answers[1::2]) == {1}, answers
    pipe = client.pipeline(transaction=False)
    pipe.bf().add("py:pipe", "good")
    pipe.execute_command("BF.ADD", "py:pipe")
    pipe.bf().exists("py:pipe", "good")
    first, error, last = pipe.execute(raise_on_error=False)
    assert first in (0, 1) and isinstance(error, redis.ResponseError) and last == 1


def threads():
    """A pool of connections, each with its own items: reads see the writes before them."""
    wrong = []

    def work(number):
        own = client.bf()
        for i in range(200):
            own.add("py:threads", f"{number}-{i}")
            if own.exists("py:threads", f"{number}-{i}") != 1:
                wrong.append((number, i))

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong, wrong


def strangers():
    """Nobody gets in without a certificate, and nobody takes a server that it does not know."""
    with_another = redis.Redis.from_url(sys.argv[1], **certificate())
    for stranger in (by_tls(), with_another):
        try:
            stranger.ping()
        except redis.ConnectionError:
            continue
        raise AssertionError("a stranger is in")


def users():
    """By its certificate it is one user, by a token another one, and each may what its rights say."""
    raises("No permissions to access a key", bf.add, "other", "a")
    raises("No permissions", bf.exists, "other", "a")
    reader = by_tls(username="reader", password=os.environ["TLS_TOKEN"], **certificate())
    assert reader.execute_command("ACL", "WHOAMI") in (b"reader", "reader")
    assert reader.bf().exists("py:f", "a") == 1
    raises("has no permissions to run the 'bf.add' command", reader.bf().add, "py:f", "a")
    raises("has no permissions to run the 'del' command", reader.delete, "py:f")


commands()
pipelines()
threads()
if secure:
    strangers()
    users()
assert client.delete("py:f", "py:made", "py:none") == 2
print("redis-py", redis.__version__, "ok")
