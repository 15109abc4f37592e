#!/usr/bin/env python3
"""The comparison finds what is metered twice, too long, too short or not at all."""
import pathlib
import sys
import threading
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compare import Interval, Kill, check_charges, compare, most_at_once, reached_at  # noqa: E402
from watcher import Run, Watcher, runs_of  # noqa: E402

KILLS = [Kill(at=100, watched_until=95, back=116)]


def problems(run, interval, kills=KILLS):
    return compare({"u/0": run} if run else {}, {"u/0": interval} if interval else {}, kills).problems


class Comparison(unittest.TestCase):
    def test_what_is_right_is_right(self):
        result = compare({"u/0": Run("d", 10, 50), "u/1": Run("d", 60, 98)},
                         {"u/0": Interval("d", 10.4, 50, "finished"), "u/1": Interval("d", 60, 95, "vanished")}, KILLS)
        self.assertEqual(result.problems, [])
        self.assertEqual((result.starts, result.vanished, result.lost, result.missed), (2, 1, 3, 0))
        self.assertEqual((result.ran, round(result.metered, 3)), (78, 74.6))

    def test_other_times_are_found(self):
        for interval, word in ((Interval("d", 11.5, 50, "finished"), "began"),
                               (Interval("d", 10, 51.5, "finished"), "ended"),
                               (Interval("d", 10, 48, "finished"), "ended"), (Interval("d", 10, None, None), "no end"),
                               (Interval("e", 10, 50, "finished"), "another deployment")):
            with self.subTest(word):
                self.assertIn(word, "".join(problems(Run("d", 10, 50), interval)))

    def test_what_vanished_is_metered_until_it_was_seen_last(self):
        run = Run("d", 10, 110)
        self.assertEqual(problems(run, Interval("d", 10, 95, "vanished")), [])
        self.assertIn("beyond", problems(run, Interval("d", 10, 112, "vanished"))[0])
        self.assertIn("for less", problems(run, Interval("d", 10, 90, "vanished"))[0])
        self.assertIn("never away", problems(Run("d", 10, 50), Interval("d", 10, 46, "vanished"))[0])
        self.assertEqual(problems(Run("d", 10, 50), Interval("d", 10, 48, "vanished")), [])
        self.assertEqual(problems(Run("d", 93, 110), Interval("d", 93, 93, "vanished")), [])
        self.assertIn("for less", problems(Run("d", 91, 110), Interval("d", 91, 91, "vanished"))[0])

    def test_what_vanished_between_two_kills_may_have_been_seen_by_the_first_process_alone(self):
        kills = [*KILLS, Kill(at=118, watched_until=111, back=130)]
        run = Run("d", 10, 116)
        self.assertEqual(problems(run, Interval("d", 10, 95, "vanished"), kills), [])
        self.assertIn("for less", problems(run, Interval("d", 10, 90, "vanished"), kills)[0])
        self.assertIn("for less", problems(Run("d", 10, 122), Interval("d", 10, 95, "vanished"), kills)[0])

    def test_an_end_of_which_the_kubelet_told_late_is_not_known_before(self):
        interval = Interval("d", 10, 95, "vanished")
        result = compare({"u/0": Run("d", 10, 80, told=105)}, {"u/0": interval}, KILLS)
        self.assertEqual((result.problems, result.lost, result.late), ([], 0, 15))
        self.assertIn("beyond", problems(Run("d", 10, 80, told=90), interval)[0])
        self.assertIn("beyond", problems(Run("d", 10, 80, told=120), interval)[0])
        self.assertIn("beyond", problems(Run("d", 10, 80, told=105), Interval("d", 10, 97, "vanished"))[0])

    def test_what_never_ran_or_is_missing_is_found(self):
        self.assertIn("never ran", problems(None, Interval("d", 10, 50, "finished"))[0])
        self.assertIn("isn't metered", problems(Run("d", 10, 50), None)[0])
        self.assertIn("still runs", problems(Run("d", 10), None)[0])
        self.assertEqual(problems(Run("d", 101, 115), None), [])
        self.assertEqual(problems(Run("d", 101, 140), None, [*KILLS, Kill(120, 95, 138)]), [])
        self.assertIn("isn't metered", problems(Run("d", 101, 160), None, [*KILLS, Kill(150, 95, 158)])[0])
        self.assertEqual(problems(Run("d", 10, 12), None), [])

    def test_what_counts_is_when_a_run_could_be_seen(self):
        # The kubelet told of it when it was over, and the pod was gone before berthd was back.
        self.assertEqual(problems(Run("d", 60, 97, seen=98, gone=115), None), [])
        self.assertIn("isn't metered", problems(Run("d", 60, 97, seen=90, gone=115), None)[0])
        self.assertIn("isn't metered", problems(Run("d", 101, 115, seen=101, gone=140), None)[0])

    def test_a_run_whose_end_nobody_knows_has_vanished_before_its_pod_was_gone(self):
        run = Run("d", 10, seen=10, gone=50)
        result = compare({"u/0": run}, {"u/0": Interval("d", 10, 30, "vanished")}, KILLS)
        self.assertEqual((result.problems, result.starts, result.without_end, result.ran), ([], 1, 1, 0))
        for interval in (Interval("d", 10, 30, "finished"), Interval("d", 10, 52, "vanished")):
            self.assertIn("nobody knows when", problems(run, interval)[0])
        self.assertIn("no end", problems(run, Interval("d", 10, None, None))[0])
        self.assertIn("isn't metered", problems(run, None)[0])

    def test_points_are_those_of_the_time(self):
        self.assertEqual(check_charges({"a": (10_900, 10, 10)}, 3600), [])
        self.assertIn("charged 12", check_charges({"a": (10_900, 12, 12)}, 3600)[0])
        self.assertIn("charged 8", check_charges({"a": (10_900, 8, 8)}, 3600)[0])
        self.assertIn("left its account", check_charges({"a": (10_900, 10, 20)}, 3600)[0])

    def test_several_containers_at_once(self):
        self.assertEqual(most_at_once([Run("d", 0, 30), Run("e", 10, 30), Run("d", 30, 40)]), 1)
        self.assertEqual(most_at_once([Run("d", 0, 30), Run("d", 20, 50), Run("d", 40, 60), Run("d", 29, 31)]), 3)
        self.assertEqual(most_at_once([Run("d", 0)]), 0)

    def test_when_a_limit_was_reached(self):
        runs = [Run("d", 0, 30), Run("e", 10, 30)]
        self.assertEqual(reached_at(runs, 5, 3600), 5)
        self.assertEqual(reached_at(runs, 20, 3600), 15)
        self.assertEqual(reached_at(runs, 50, 3600), 30)
        self.assertIsNone(reached_at(runs, 51, 3600))


class Watching(unittest.TestCase):
    def test_when_a_run_is_seen(self):
        def change(kind, restarts, state):
            state = {"running": {"startedAt": f"2026-05-01T00:00:0{restarts}Z"}} if state is None else state
            return {"type": kind, "object": {
                "metadata": {"uid": "u", "resourceVersion": "7", "labels": {"berth/deployment": "d"}},
                "status": {"containerStatuses": [{"name": "app", "restartCount": restarts, "state": state}]}}}

        watcher = object.__new__(Watcher)  # without the pods of an API server
        watcher.lock, watcher.known, watcher.names, watcher.present, watcher.alive = threading.Lock(), {}, {}, {}, {}
        with unittest.mock.patch("watcher.time.time", side_effect=range(1, 9)):
            watcher.take(change("ADDED", 0, {"waiting": {}}))  # at 1
            watcher.take(change("MODIFIED", 0, None))
            watcher.take(change("MODIFIED", 0, None))
            watcher.take(change("MODIFIED", 1, None))  # at 4
            watcher.take(change("DELETED", 1, {"terminated": {"exitCode": 137}}))
            watcher.take(change("ADDED", 2, {"terminated": {"startedAt": "2026-05-01T00:00:02Z",
                                                            "finishedAt": "2026-05-01T00:00:03Z"}}))  # at 7
            watcher.take(change("MODIFIED", 2, {"terminated": {"startedAt": "2026-05-01T00:00:02Z",
                                                               "finishedAt": "2026-05-01T00:00:03Z"}}))
        times = {name: (run.seen, run.gone, run.told) for name, run in watcher.runs().items()}
        self.assertEqual(times, {"u/0": (2, 4, None), "u/1": (4, 5, None), "u/2": (7, None, 7)})

    def test_the_runs_of_a_pod(self):
        def pod(restarts, state, last=None):
            return {"metadata": {"uid": "u", "labels": {"berth/deployment": "d"}}, "status": {"containerStatuses": [
                {"name": "app", "restartCount": restarts, "state": state, "lastState": last or {}},
                {"name": "proxy", "restartCount": 9, "state": {"running": {"startedAt": "2026-05-01T00:00:09Z"}}}]}}

        start, end = "1970-01-02T00:00:00Z", "1970-01-02T00:00:05Z"
        ended = {"terminated": {"startedAt": start.replace("1970", "2026"), "finishedAt": end.replace("1970", "2026")}}
        running = {"running": {"startedAt": "2026-05-01T00:00:09Z"}}
        self.assertEqual([name for name, _ in runs_of(pod(3, running, ended))], ["u/3", "u/2"])
        self.assertEqual([name for name, _ in runs_of(pod(3, {"waiting": {}}, ended))], ["u/3"])
        (_, run), = runs_of(pod(0, ended))
        self.assertEqual((run.deployment, run.finished - run.started), ("d", 5))
        never = {"terminated": {"startedAt": "1970-01-01T00:00:00Z", "finishedAt": end}}
        self.assertEqual(list(runs_of(pod(0, never))), [])


unittest.main()
