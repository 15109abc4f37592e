"""Compares what the meter says with what ran. Everything is in seconds since 1970."""
import dataclasses

START_SECONDS = 1.0  # what a start may cost or save: runtimes name whole seconds
EXACT = 0.001  # the database has milliseconds
# A run so short may begin and end between two looks at its pod, or in the moments before berthd is killed.
SHORT_SECONDS = 3.0
AROUND_KILL = 5.0  # how long after its start berthd may need until it has looked at everything


@dataclasses.dataclass
class Interval:
    """A row of meter_intervals."""
    deployment: str
    started: float
    ended: float | None
    ending: str | None

    def length(self):
        return (self.ended or self.started) - self.started


@dataclasses.dataclass
class Kill:
    at: float
    watched_until: float  # what the database said at that moment
    back: float  # when a process led again


@dataclasses.dataclass
class Result:
    problems: list
    starts: int = 0
    most_at_once: int = 0  # containers of a deployment
    ran: float = 0.0
    metered: float = 0.0
    vanished: int = 0
    lost: float = 0.0  # of runs that vanished: what wasn't metered
    late: float = 0.0  # of runs that vanished: what was metered after an end of which the kubelet told late
    missed: int = 0
    missed_seconds: float = 0.0
    without_end: int = 0  # runs of which nobody knows when they ended


def kill_that_hid(kills, moment):
    """The kill because of which nobody may have seen what ended at the moment: the last one before it, or just after it,
    since what had just ended wasn't recorded yet. If a process that was still beginning is killed, the one before it
    counts as well; of several, the one before which the cluster was in step least long."""
    near = [kill for kill in kills if kill.at <= moment + SHORT_SECONDS]
    hid = [kill for kill in near if moment <= kill.back + AROUND_KILL] or near[-1:]
    return min(hid, key=lambda kill: kill.watched_until, default=None)


def blind_times(kills):
    """Returns the times in which nobody may have looked, in their order, as [begin, end]."""
    times = []
    for kill in kills:
        begin, end = kill.at - SHORT_SECONDS, kill.back + AROUND_KILL
        if times and begin <= times[-1][1]:
            times[-1][1] = max(times[-1][1], end)
        else:
            times.append([begin, end])
    return times


def may_be_missed(run, kills):
    """Whether nobody could have seen the run."""
    if run.finished is not None and run.finished - run.started <= SHORT_SECONDS:
        return True
    begin, end = run.seen or run.started, run.gone or run.finished
    return end - begin <= SHORT_SECONDS or any(first <= begin and end <= last for first, last in blind_times(kills))


def seen_running_until(run, kills):
    """Until when berthd may have seen the run's container as running: if the kubelet told of its end late, and nobody
    looked when it did, until the last look before. Otherwise until the end."""
    told = run.told or run.finished
    blind = next((kill for kill in kills if kill.watched_until <= told <= kill.back), None)
    return max(run.finished, blind.watched_until) if blind else run.finished


def check_interval(name, interval, run, kills, result):
    def problem(text):
        result.problems.append(f"{name} of {interval.deployment}: {text}: metered {interval}, ran {run}")

    if run is None:
        problem("never ran")
        return
    result.metered += interval.length()
    if interval.deployment != run.deployment:
        problem("belongs to another deployment")
    if interval.ended is None or (run.finished or run.gone) is None:
        problem("has no end")
        return
    if abs(interval.started - run.started) > START_SECONDS + EXACT:
        problem("began at another time")
    if run.finished is None:  # the meter can't know more than the watcher
        if interval.ending != "vanished" or not interval.started <= interval.ended <= run.gone + START_SECONDS + EXACT:
            problem("ended, nobody knows when")
        return
    if interval.ending == "finished":
        if abs(interval.ended - run.finished) > START_SECONDS + EXACT:
            problem("ended at another time")
        return
    result.vanished += 1
    result.lost += max(0.0, run.finished - interval.ended)
    result.late += max(0.0, interval.ended - run.finished)
    if interval.ended > max(run.finished, interval.started, seen_running_until(run, kills)) + START_SECONDS + EXACT:
        problem("is metered beyond its end")
    kill = kill_that_hid(kills, run.finished)
    if kill is None:
        # The status of a container that restarts quickly names the last two runs only.
        if run.finished - interval.ended > SHORT_SECONDS:
            problem("vanished although berthd was never away")
        return
    # Otherwise it wasn't recorded yet when berthd was killed.
    was_recorded = (run.seen or run.started) <= kill.watched_until - SHORT_SECONDS
    if was_recorded and interval.ended < min(run.finished, kill.watched_until) - START_SECONDS - EXACT:
        problem(f"was seen until {kill.watched_until}, and is metered for less")


def compare(runs, intervals, kills):
    """`runs` is name -> watcher.Run, `intervals` name -> Interval, `kills` in their order. Returns a Result."""
    result = Result([])
    for name, interval in intervals.items():
        check_interval(name, interval, runs.get(name), kills, result)
    for name, run in runs.items():
        if (run.finished or run.gone) is None:
            result.problems.append(f"{name} of {run.deployment} still runs")
            continue
        result.starts += 1
        if run.finished is None:
            result.without_end += 1
        else:
            result.ran += run.finished - run.started
        if name in intervals:
            continue
        result.missed += 1
        result.missed_seconds += (run.finished or run.gone) - run.started
        if not may_be_missed(run, kills):
            result.problems.append(f"{name} of {run.deployment} isn't metered: {run}")
    return result


def most_at_once(runs):
    """Returns how many runs one deployment had at the same time, at most."""
    edges = sorted(edge for run in runs if run.finished is not None
                   for edge in ((run.deployment, run.started, 1), (run.deployment, run.finished, -1)))
    most, running, deployment = 0, 0, None
    for of, _, change in edges:
        running = running + change if of == deployment else change
        deployment, most = of, max(most, running)
    return most


def check_charges(apps, price):
    """`apps` is id -> (milliseconds metered, points settled, points that left the account). Returns problems."""
    problems = []
    for app, (milliseconds, settled, paid) in apps.items():
        whole = milliseconds * price // 3_600_000
        if not whole - 1 <= settled <= whole:
            problems.append(f"app {app} used {whole} points and was charged {settled}")
        if settled != paid:
            problems.append(f"app {app} was charged {settled} points, and {paid} left its account")
    return problems


def reached_at(runs, points, price):
    """Returns when the runs together had used so many points; None if they never did."""
    wanted = points * 3600 / price
    edges = sorted({moment for run in runs for moment in (run.started, run.finished)})
    for begin, end in zip(edges, edges[1:]):
        running = sum(run.started <= begin and run.finished >= end for run in runs)
        used = running * (end - begin)
        if running and used >= wanted:
            return begin + wanted / running
        wanted -= used
    return edges[-1] if edges and wanted <= EXACT else None
