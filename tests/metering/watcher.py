"""What really ran: reads every change of every pod from the API server, beside berth and without its code."""
import dataclasses
import datetime
import http.client
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

LABEL = "berth/deployment"
CONTAINER = "app"


@dataclasses.dataclass
class Run:
    """One run of a deployment's container, by the runtime's own times, in seconds since 1970. If `finished` stays None and
    the pod is gone, no status has ever said when the run ended: a kubelet that doesn't find a container any more reports
    it as ContainerStatusUnknown, without times."""
    deployment: str
    started: float
    finished: float | None = None
    # Between these two moments, the pod's status named the run: a kubelet with much to do tells late of a start, and of
    # an end.
    seen: float | None = None
    gone: float | None = None
    told: float | None = None  # when the status first had `finished`


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def runs_of(pod):
    """Yields (name, Run) for each run that the pod's status names."""
    for status in pod.get("status", {}).get("containerStatuses", []):
        if status["name"] != CONTAINER:
            continue
        state, last = status.get("state", {}), status.get("lastState", {}).get("terminated")
        states = [(status["restartCount"], state.get("running") or state.get("terminated"))]
        if last:
            # A kubelet that has lost sight of the container for a moment names no id, and may say either number.
            present, before = status.get("containerID"), last.get("containerID")
            if before and present:
                states.append((status["restartCount"] - (0 if present == before else 1), last))
            elif not before:
                states.append((status["restartCount"] - (0 if "waiting" in state else 1), last))
        for number, times in states:
            if times and times.get("startedAt") and not times["startedAt"].startswith("1970"):
                finished = times.get("finishedAt")
                yield f"{pod['metadata']['uid']}/{number}", Run(
                    pod["metadata"]["labels"][LABEL], seconds(times["startedAt"]), finished and seconds(finished))


class Watcher(threading.Thread):
    """Collects all runs from the moment at which it is made."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url = url + "/api/v1/pods?labelSelector=" + urllib.parse.quote(LABEL)
        self.lock = threading.Lock()
        self.known = {}
        self.names = {}  # of the runs of each deployment: a caller that asks for a few doesn't pay for the others
        self.present = {}  # the names of the runs that the pod's status names: uid -> set
        self.alive = {}  # pods that are there: uid -> deployment
        self.is_over = False
        self.lost = None  # why changes may be missing; then nothing can be compared
        with urllib.request.urlopen(self.url) as answer:
            pods = json.load(answer)
        self.version = pods["metadata"]["resourceVersion"]
        for pod in pods["items"]:
            self.take({"type": "ADDED", "object": pod | {"kind": "Pod"}}, self.version)

    def runs(self, deployments=None):
        """Returns the runs of these deployments, or all of them: name -> Run."""
        with self.lock:
            names = self.known if deployments is None else [name for one in deployments for name in self.names.get(one, ())]
            return {name: dataclasses.replace(self.known[name]) for name in names}

    def pods(self, deployments):
        """Returns how many pods these deployments have."""
        with self.lock:
            return sum(deployment in deployments for deployment in self.alive.values())

    def end(self):
        """Ends the thread, once the API server's next answer or the end of its connection wakes it."""
        self.is_over = True

    def run(self):
        while self.lost is None and not self.is_over:
            try:
                with urllib.request.urlopen(f"{self.url}&watch=true&allowWatchBookmarks=true"
                                            f"&resourceVersion={self.version}") as answer:
                    for line in answer:
                        self.take(json.loads(line))
            except (OSError, http.client.HTTPException, urllib.error.URLError, ValueError):
                time.sleep(0.05)  # the watch was broken off, and goes on from the same version

    def take_runs(self, uid, named):
        """`named` are the runs that the pod's status names now: name -> Run. Needs the lock."""
        now = time.time()
        for name in self.present.pop(uid, set()) - named.keys():
            self.known[name].gone = now
        if named:
            self.present[uid] = set(named)
        for name, run in named.items():
            before = self.known.get(name)
            run.seen = before.seen if before else now
            if run.finished is not None:
                run.told = (before.told if before else None) or now
            self.known[name] = run
            if not before:
                self.names.setdefault(run.deployment, []).append(name)

    def take(self, event, version=None):
        pod = event["object"]
        if event["type"] == "ERROR":
            self.lost = json.dumps(pod)
            return
        with self.lock:
            if event["type"] != "BOOKMARK":
                uid = pod["metadata"]["uid"]
                self.take_runs(uid, dict(runs_of(pod)))
                if event["type"] == "DELETED":
                    self.alive.pop(uid, None)
                    self.take_runs(uid, {})
                else:
                    self.alive[uid] = pod["metadata"]["labels"][LABEL]
            self.version = version or pod["metadata"]["resourceVersion"]
