"""The package against a cluster: run by tools/test-python.sh, in a playground of three nodes."""

import enum
import os
import pathlib
import pickle
import signal
import subprocess
import tempfile
import threading
import unittest

import orbloom
from curve_cluster import CurveCluster
from orbloom import Answer, Cluster, Code, Operation, OrbloomError
from orbloom._library import ffi, lib


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def keys_of(count, prefix=b"key"):
    return [b"%s-%d" % (prefix, number) for number in range(count)]


class Declarations(unittest.TestCase):
    def test_codes_answers_and_operations_are_those_of_the_header(self):
        for python, kind, prefix in (
            (Code, "enum orbloom_code", "ORBLOOM_"),
            (Answer, "enum orbloom_answer", "ORBLOOM_"),
            (Operation, "enum orbloom_operation", "ORBLOOM_"),
            (orbloom.Hash, "enum orbloom_hash", "ORBLOOM_"),
        ):
            declared = {name[len(prefix) :]: value for name, value in ffi.typeof(kind).relements.items()}
            self.assertEqual({name: member.value for name, member in python.__members__.items()}, declared)

    def test_what_can_be_unsure_is_no_truth(self):
        self.assertTrue(Answer.PRESENT)
        self.assertFalse(Answer.ABSENT)
        for unsure in (Answer.UNKNOWN, Answer.MAYBE, Answer.MAYBE_NEW):
            with self.assertRaisesRegex(ValueError, "neither yes nor no"):
                if unsure:
                    pass
        self.assertIs(Answer.NEW, Answer.ABSENT)

    def test_every_function_of_the_library_is_reachable(self):
        source = read(orbloom._cluster.__file__)
        others = {"orbloom_version", "orbloom_code_name", "orbloom_add_key", "orbloom_check_key"}
        for name in set(dir(lib)) - others:
            if name.startswith("orbloom_"):
                self.assertIn("lib." + name, source)

    def test_the_version_is_that_of_the_library(self):
        self.assertRegex(orbloom.version(), r"^\d+\.\d+\.\d+$")


class Clustered(unittest.TestCase):
    made = 0

    def setUp(self):
        self.cluster = Cluster(timeout=60)
        self.addCleanup(self.cluster.close)
        Clustered.made += 1
        self.filter = f"python-{Clustered.made}"
        self.assertTrue(self.cluster.create(self.filter, 100_000, 0.0001))


class Batches(Clustered):
    def test_what_was_added_is_present_and_nothing_else(self):
        answers = self.cluster.add(self.filter, keys_of(1000))
        self.assertEqual(len(answers), 1000)
        self.assertGreater(answers.count(Answer.NEW), 990)
        self.assertEqual(self.cluster.check(self.filter, keys_of(1000)), [Answer.PRESENT] * 1000)
        absent = self.cluster.check(self.filter, keys_of(1000, b"other"))
        self.assertGreater(absent.count(Answer.ABSENT), 990)
        self.assertTrue(set(absent) <= {Answer.ABSENT, Answer.PRESENT})

    def test_keys_may_hold_any_bytes_and_be_of_any_length(self):
        keys = [b"\0", b"\0\0", b"a\0b", b"\n", b"\xff" * 3, b"x" * orbloom.MAX_KEY_BYTES, bytearray(b"array"), memoryview(b"view")]
        self.assertEqual(self.cluster.add(self.filter, keys), [Answer.NEW] * len(keys))
        self.assertIs(self.cluster.check_key(self.filter, b"a"), Answer.ABSENT)
        self.assertIs(self.cluster.check_key(self.filter, b"a\0b"), Answer.PRESENT)

    def test_dedup_returns_what_is_seen_for_the_first_time(self):
        keys = [b"a", b"b", b"a", b"c"]
        self.assertEqual(self.cluster.dedup(self.filter, keys), [b"a", b"b", b"c"])
        self.assertEqual(self.cluster.dedup(self.filter, keys), [])

    def test_keys_may_come_from_anywhere(self):
        self.assertEqual(self.cluster.add(self.filter, (key for key in (b"a", b"b"))), [Answer.NEW] * 2)
        self.assertEqual(self.cluster.dedup(self.filter, iter([b"b", b"c"])), [b"c"])
        self.assertEqual(self.cluster.check(self.filter, {b"a", b"b", b"c"}), [Answer.PRESENT] * 3)

    def test_one_key_has_a_truth(self):
        self.assertFalse(self.cluster.add_key(self.filter, b"one"))
        self.assertTrue(self.cluster.check_key(self.filter, b"one"))

    def test_no_keys_ask_nobody(self):
        self.assertEqual(self.cluster.check(self.filter, []), [])
        got = list(self.cluster.stream(Operation.ADD, self.filter, [[b"a"], [], [b"b"]]))
        self.assertEqual([done.answers for _, done in got], [[Answer.NEW], [], [Answer.NEW]])

    def test_what_is_no_key_is_refused_and_nothing_is_sent(self):
        for bad in ([1], "ab", ["ab"], [None], [memoryview(b"abcd").cast("I")]):
            with self.assertRaises(TypeError, msg=repr(bad)):
                self.cluster.add(self.filter, bad)
        for bad in ([b""], [b"x" * (orbloom.MAX_KEY_BYTES + 1)], [b"k"] * (orbloom.MAX_BATCH_KEYS + 1)):
            with self.assertRaises(OrbloomError) as caught:
                self.cluster.add(self.filter, bad)
            self.assertIn(caught.exception.code, (Code.INVALID, Code.TOO_LARGE))
            self.assertEqual(caught.exception.answers, [Answer.UNKNOWN] * len(bad))

    def test_a_name_with_a_nul_is_no_other_filter(self):
        with self.assertRaisesRegex(ValueError, "NUL"):
            self.cluster.check(self.filter + "\0x", [b"k"])

    def test_bounds_and_acks_are_taken(self):
        self.assertEqual(self.cluster.add(self.filter, [b"k"], acks=orbloom.ACKS_LOCAL), [Answer.NEW])
        self.assertEqual(self.cluster.check(self.filter, [b"k"], max_staleness=0), [Answer.PRESENT])
        with self.assertRaises(OverflowError):
            self.cluster.add(self.filter, [b"k"], acks=-1)
        with self.assertRaises(ValueError):
            self.cluster.check(self.filter, [b"k"], max_staleness=-1)


class Errors(Clustered):
    def test_an_error_has_a_code_a_cause_and_a_remedy(self):
        with self.assertRaises(OrbloomError) as caught:
            self.cluster.check("nobody-has-this", [b"k", b"l"])
        error = caught.exception
        self.assertIs(error.code, Code.NOT_FOUND)
        self.assertIn("nobody-has-this", error.cause)
        self.assertTrue(error.remedy)
        self.assertTrue(str(error).startswith("NOT_FOUND: "))
        self.assertEqual(error.answers, [Answer.UNKNOWN] * 2)

    def test_an_error_comes_back_from_other_processes(self):
        error = OrbloomError(Code.UNAVAILABLE, "UNAVAILABLE: no node; start some", [Answer.PRESENT, Answer.UNKNOWN])
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(vars(again), vars(error))
        self.assertEqual(str(again), str(error))

    def test_a_code_of_a_newer_library_is_an_error_like_others(self):
        error = OrbloomError(4711, "LATER: cause; remedy")
        self.assertIs(error.code, Code.INTERNAL)
        self.assertEqual(str(error), "LATER: cause; remedy")

    def test_a_cluster_that_is_not_there_is_told_of(self):
        with Cluster("tcp://127.0.0.1:1", "tcp://127.0.0.1:1", timeout=0.3) as nobody:
            with self.assertRaises(OrbloomError) as caught:
                nobody.check("x", [b"k"])
        self.assertIs(caught.exception.code, Code.DEADLINE)

    def test_options_that_are_wrong_are_refused(self):
        with self.assertRaises(OrbloomError) as caught:
            Cluster("udp://here")
        self.assertIs(caught.exception.code, Code.INVALID)
        with self.assertRaises(OrbloomError):
            Cluster(credential="/nonexistent/credential")
        with self.assertRaisesRegex(OrbloomError, "/nonexistent/path"):
            Cluster(credential=pathlib.Path("/nonexistent/path"))
        with self.assertRaisesRegex(TypeError, "filter is a str, not bytes"):
            Cluster().check(b"x", [b"k"])
        for timeout in (0, -1, 1e9):
            with self.assertRaises(ValueError):
                Cluster(timeout=timeout)

    def test_a_closed_cluster_says_so(self):
        cluster = Cluster()
        cluster.close()
        cluster.close()
        for call in (
            lambda: cluster.check("x", [b"k"]),
            lambda: cluster.info("x"),
            lambda: cluster.wait(0),
            lambda: cluster.submit(Operation.ADD, "x", [b"k"]),
            lambda: cluster.site,
        ):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()


class Pipelined(Clustered):
    def test_many_batches_are_in_flight_and_each_ends_once(self):
        batches = [keys_of(100, b"batch-%d" % number) for number in range(40)]
        for number, keys in enumerate(batches):
            self.cluster.submit(Operation.ADD, self.filter, keys, user=number)
        self.assertGreater(self.cluster.in_flight, 1)
        users = set()
        while (done := self.cluster.wait()) is not None:
            self.assertIsNone(done.error)
            self.assertEqual(len(done.answers), 100)
            self.assertNotIn(Answer.UNKNOWN, done.answers)
            self.assertGreater(done.latency, 0)
            users.add(done.user)
        self.assertEqual(users, set(range(40)))
        for keys in batches:
            self.assertEqual(self.cluster.check(self.filter, keys), [Answer.PRESENT] * 100)

    def test_too_much_in_flight_is_refused(self):
        with Cluster(max_in_flight=2) as cluster:
            for number in range(2):
                cluster.submit(Operation.CHECK, self.filter, [b"k"])
            with self.assertRaises(OrbloomError) as caught:
                cluster.submit(Operation.CHECK, self.filter, [b"k"])
            self.assertIs(caught.exception.code, Code.OVERLOADED)
            self.assertIsNotNone(cluster.wait())
            cluster.submit(Operation.CHECK, self.filter, [b"k"])

    def test_nothing_in_flight_is_nothing_to_wait_for(self):
        self.assertIsNone(self.cluster.wait())

    def test_an_error_is_part_of_the_end(self):
        self.cluster.submit(Operation.CHECK, "nobody-has-this", [b"k"], user="u")
        done = self.cluster.wait()
        self.assertEqual(done.user, "u")
        self.assertIs(done.error.code, Code.NOT_FOUND)
        self.assertEqual(done.answers, [Answer.UNKNOWN])

    def test_a_stream_keeps_the_order(self):
        batches = [keys_of(50, b"s%d" % number) for number in range(100)]
        got = list(self.cluster.stream(Operation.ADD, self.filter, iter(batches), in_flight=8))
        self.assertEqual([keys for keys, _ in got], batches)
        self.assertTrue(all(done.error is None and len(done.answers) == 50 for _, done in got))
        self.assertEqual(self.cluster.in_flight, 0)

    def test_a_stream_waits_for_room(self):
        batches = [keys_of(100, b"room%d" % number) for number in range(30)]
        with Cluster(timeout=60, max_bytes=5000) as cluster:
            got = list(cluster.stream(Operation.ADD, self.filter, batches))
            self.assertTrue(all(done.error is None for _, done in got))
            self.assertEqual(len(got), 30)
            with self.assertRaises(OrbloomError) as caught:
                list(cluster.stream(Operation.ADD, self.filter, [keys_of(1000)]))
            self.assertIs(caught.exception.code, Code.TOO_LARGE)

    def test_a_stream_that_may_have_nothing_in_flight_is_refused(self):
        with self.assertRaisesRegex(ValueError, "at least 1"):
            list(self.cluster.stream(Operation.ADD, self.filter, [[b"k"]], in_flight=0))

    def test_no_time_and_all_time_can_be_waited(self):
        self.cluster.submit(Operation.CHECK, self.filter, [b"k"])
        self.cluster.wait(-1)
        self.cluster.wait(float("inf"))
        self.assertEqual(self.cluster.in_flight, 0)

    def test_a_stream_is_alone(self):
        self.cluster.submit(Operation.CHECK, self.filter, [b"k"])
        with self.assertRaisesRegex(ValueError, "in flight"):
            next(self.cluster.stream(Operation.ADD, self.filter, [[b"k"]]))

    def test_a_stream_that_is_given_up_leaves_nothing_in_flight(self):
        for _ in self.cluster.stream(Operation.ADD, self.filter, (keys_of(10) for _ in range(1000))):
            break
        self.assertEqual(self.cluster.in_flight, 0)

    def test_threads_may_share_a_client(self):
        wrong = []

        def work(number):
            for turn in range(20):
                keys = keys_of(20, b"thread-%d-%d" % (number, turn))
                self.cluster.add(self.filter, keys)
                if self.cluster.check(self.filter, keys) != [Answer.PRESENT] * 20:
                    wrong.append((number, turn))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Filters(Clustered):
    def test_a_filter_is_made_once_described_and_dropped(self):
        self.assertFalse(self.cluster.create(self.filter, 100_000, 0.0001))
        info = self.cluster.info(self.filter)
        self.assertEqual((info.capacity, info.rate, info.replicas), (100_000, 0.0001, 3))
        self.assertIs(info.hash, orbloom.Hash.SIPHASH)
        self.assertIsNone(info.max_staleness)
        self.cluster.drop(self.filter)
        with self.assertRaises(OrbloomError) as caught:
            self.cluster.info(self.filter)
        self.assertIs(caught.exception.code, Code.NOT_FOUND)

    def test_other_parameters_are_another_filter(self):
        with self.assertRaises(OrbloomError) as caught:
            self.cluster.create(self.filter, 200_000, 0.01)
        self.assertIs(caught.exception.code, Code.EXISTS)

    def test_keys_are_replaced_by_a_list(self):
        self.cluster.add(self.filter, [b"stays", b"goes"])
        keyset = self.cluster.rebuild_begin(self.filter)
        self.cluster.feed(self.filter, [b"stays"], keyset=keyset)
        self.cluster.rebuild_fed(self.filter, 1, keyset=keyset)
        self.cluster.rebuild_commit(self.filter, keyset=keyset)
        self.assertEqual(self.cluster.check(self.filter, [b"stays", b"goes"]), [Answer.PRESENT, Answer.ABSENT])


class Credentials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.curve = CurveCluster(folder.name)
        cls.addClassCleanup(cls.curve.stop)
        cls.admin = cls.curve.add_user("root", "--role", "admin")
        cls.reader = cls.curve.add_user("reader", "--rights", "r seen*")

    def connect(self, credential, timeout=60.0):
        cluster = Cluster(self.curve.router, self.curve.coordinator, timeout=timeout, credential=credential)
        self.addCleanup(cluster.close)
        return cluster

    def test_a_user_may_do_what_its_rights_say(self):
        admin = self.connect(self.admin)
        admin.create("seen", 1000, 0.01, replicas=1, write_quorum=1, read_quorum=1)
        admin.add("seen", [b"k"])
        reader = self.connect(self.reader)
        self.assertEqual(reader.check("seen", [b"k", b"l"]), [Answer.PRESENT, Answer.ABSENT])
        with self.assertRaises(OrbloomError) as caught:
            reader.add("seen", [b"m"])
        self.assertIs(caught.exception.code, Code.UNAUTHENTIC)
        self.assertEqual(caught.exception.answers, [Answer.UNKNOWN])

    def test_nobody_gets_in_without_a_credential(self):
        with self.assertRaises(OrbloomError) as caught:
            self.connect("none", 5).check("seen", [b"k"])
        self.assertIs(caught.exception.code, Code.UNAUTHENTIC)

    def test_a_file_that_others_may_read_is_refused(self):
        loose = self.reader + ".loose"
        with open(loose, "w", encoding="utf-8") as file:
            file.write(read(self.reader))
        os.chmod(loose, 0o644)
        with self.assertRaises(OrbloomError) as caught:
            self.connect(loose)
        self.assertIn(loose, str(caught.exception))


class Unsure(Clustered):
    """Two of three nodes are stopped, which is one too many for any answer."""

    def setUp(self):
        super().setUp()
        folder = os.environ["ORBLOOM_DIR"]
        self.pids = [int(read(f"{folder}/node-{number}/pid")) for number in (2, 3)]

    def stop_nodes(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
            self.addCleanup(os.kill, pid, signal.SIGCONT)

    def test_what_nobody_can_tell_is_unknown_and_not_absent(self):
        self.cluster.add(self.filter, [b"k"])
        with Cluster(timeout=1) as cluster:
            cluster.info(self.filter)
            self.stop_nodes()
            with self.assertRaises(OrbloomError) as caught:
                cluster.check(self.filter, [b"k", b"other"])
            self.assertIn(caught.exception.code, (Code.DEADLINE, Code.UNAVAILABLE))
            self.assertNotIn(Answer.ABSENT, caught.exception.answers)
            self.assertIs(caught.exception.answers[1], Answer.UNKNOWN)
            with self.assertRaises(OrbloomError) as caught:
                cluster.dedup(self.filter, [b"new"])
            self.assertEqual(caught.exception.answers, [Answer.UNKNOWN])

    def test_a_filter_that_fails_open_says_maybe(self):
        name = self.filter + "-open"
        self.cluster.create(name, 1000, 0.01, maybe_when_unavailable=True)
        with Cluster(timeout=1) as cluster:
            cluster.check(name, [b"k"])
            self.stop_nodes()
            self.assertEqual(cluster.check(name, [b"k"]), [Answer.MAYBE])


def in_child(act):
    """The exit status of a child that calls act(); 99: it raised."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = act()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Forked(Clustered):
    def test_a_child_is_refused_and_opens_its_own(self):
        def act():
            try:
                self.cluster.check(self.filter, [b"k"])
            except OrbloomError as error:
                self.assertIs(error.code, Code.INVALID)
                self.assertIn("fork", str(error))
            else:
                return 1
            self.cluster.close()
            with Cluster(timeout=60) as own:
                return int(own.check_key(self.filter, b"k") is not Answer.PRESENT)

        self.cluster.add(self.filter, [b"k"])
        self.assertEqual(in_child(act), 0)
        self.assertIs(self.cluster.check_key(self.filter, b"k"), Answer.PRESENT)

    def test_a_child_can_close_what_another_thread_of_its_parent_uses(self):
        with Cluster("tcp://127.0.0.1:1", "tcp://127.0.0.1:1", timeout=2) as nobody:
            nobody.submit(Operation.ADD, "x", [b"k"])
            thread = threading.Thread(target=nobody.wait)
            thread.start()
            while not nobody._turn._taken:
                pass
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(30)  # It would wait for ever.
                nobody.close()
                os._exit(0)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            thread.join()


class Signalled(unittest.TestCase):
    def setUp(self):
        self.nobody = Cluster("tcp://127.0.0.1:1", "tcp://127.0.0.1:1", timeout=2)
        self.addCleanup(self.nobody.close)

    def during_a_wait(self, act):
        """Calls act() in a signal handler, amid the calls of a wait(), which ends in what it returns."""
        previous = signal.signal(signal.SIGALRM, lambda number, frame: act())
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        self.nobody.submit(Operation.ADD, "x", [b"k"])
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        return self.nobody.wait()

    def test_a_handler_may_close(self):
        with self.assertRaisesRegex(ValueError, "closed"):
            self.during_a_wait(self.nobody.close)

    def test_a_handler_that_asks_is_told_and_does_not_wait_for_ever(self):
        told = []

        def ask():
            try:
                self.nobody.site
            except RuntimeError as error:
                told.append(str(error))

        done = self.during_a_wait(ask)
        self.assertIs(done.error.code, Code.DEADLINE)
        self.assertIn("signal handler", "".join(told) or "signal handler")  # Between two calls it is answered.

    def test_a_close_amid_a_call_is_done_when_that_has_ended(self):
        def amid():
            with self.assertRaisesRegex(RuntimeError, "signal handler"):
                self.nobody.in_flight
            self.nobody.close()
            self.assertTrue(self.nobody._handle)

        self.nobody._turn.do(amid)
        self.assertFalse(self.nobody._handle)

    def test_a_handler_that_raises_leaves_the_turn_to_others(self):
        """Wherever it comes in: between taking a turn and giving it back, too."""

        class Enough(Exception):
            pass

        def stop(number, frame):
            raise Enough

        previous = signal.signal(signal.SIGALRM, stop)
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        for i in range(500):
            with self.assertRaises(Enough):
                signal.setitimer(signal.ITIMER_REAL, 20e-6 + i % 50 * 1e-6)
                while True:
                    self.nobody.in_flight
            self.assertEqual(self.nobody.in_flight, 0)
            other = threading.Thread(target=lambda: self.nobody.in_flight, daemon=True)
            other.start()
            other.join(30)
            self.assertFalse(other.is_alive())


class Interrupted(unittest.TestCase):
    def test_a_program_that_closes_nothing_ends_without_a_word(self):
        done = subprocess.run(
            [os.sys.executable, "-c", "import orbloom; c = orbloom.Cluster(); c.in_flight"],
            capture_output=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


if __name__ == "__main__":
    unittest.main()
