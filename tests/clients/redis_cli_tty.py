#!/usr/bin/python3
"""redis-cli at a terminal: SOCKET as the argument. It asks COMMAND DOCS first, and hints."""
import os
import pty
import select
import signal
import sys

signal.alarm(60)
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"  # whole lines, no colours
    os.execvp("redis-cli", ["redis-cli", "-s", sys.argv[1]])

seen = b""


def wait_for(text):
    global seen
    while text not in seen:
        if not select.select([terminal], [], [], 30)[0]:
            sys.exit(f"no {text} in {seen}")
        seen += os.read(terminal, 4096)
    seen = seen[seen.index(text) + len(text):]


for line, answer in (
    (b"BF.ADD tty alpha\n", b"(integer) 1"),
    (b"BF.MEXISTS tty alpha beta\n", b"1) (integer) 1"),
    (b"TYPE tty\n", b"MBbloom--"),
    (b"BF.NOPE\n", b"(error) ERR unknown command 'BF.NOPE'"),
):
    wait_for(b"> ")
    os.write(terminal, line)
    wait_for(answer)
os.write(terminal, b"quit\n")
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
