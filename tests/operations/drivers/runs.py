"""Drivers of commands that a deployment runs once, and of its crons."""

from . import driver
from .deployments import running

CRON = {"name": "nightly", "schedule": "0 3 * * *", "zone": "Europe/Berlin", "command": ["echo", "night"]}


def new_run(scene):
    """Returns the path of a deployment, and the id of a run of it."""
    path = running(scene)
    made = scene.owner_api.post(path + "/runs", {"command": ["echo", "hello"], "timeout_seconds": 60}).expect(201)
    return path, made["run"]["id"]


def with_cron(scene):
    path = running(scene)
    scene.owner_api.patch(path, {"crons": [CRON]}).expect(200)
    return path


@driver("createRun")
def create_run(scene):
    return scene.owner_api.post(running(scene) + "/runs", {"command": ["echo", "hello"], "process": "web"})


@driver("listRuns")
def list_runs(scene):
    path, _ = new_run(scene)
    return scene.owner_api.get(path + "/runs")


@driver("getRun")
def get_run(scene):
    path, run = new_run(scene)
    return scene.owner_api.get(f"{path}/runs/{run}")


@driver("runLog")
def run_log(scene):
    path, run = new_run(scene)
    return scene.owner_api.get(f"{path}/runs/{run}/logs?follow=true")


@driver("cancelRun")
def cancel_run(scene):
    path, run = new_run(scene)
    return scene.owner_api.delete(f"{path}/runs/{run}")


@driver("listCrons")
def list_crons(scene):
    return scene.owner_api.get(with_cron(scene) + "/crons")


@driver("runCron")
def run_cron(scene):
    return scene.owner_api.post(with_cron(scene) + "/crons/nightly/runs", {})
