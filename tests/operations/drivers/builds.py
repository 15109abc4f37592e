"""Drivers of builds, on a berthd whose builder pretends (simulated-builds)."""

import gzip
import io
import tarfile

from . import driver


def source(instructions="FROM scratch\nCOPY x /x\n"):
    """Returns a source with these instructions."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, text in (("Containerfile", instructions), ("x", "x")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(plain.getvalue())


def build_of(scene, deployment=False):
    path = f"/api/deploy/apps/{scene.deployment}/builds" if deployment else \
        f"/api/deploy/builds?tier=free&name={scene.new_name('built')}"
    return scene.owner_api.send("POST", path, source(), "application/x-tar")


@driver("createFirstBuild")
def create_first_build(scene):
    return build_of(scene)


@driver("listBuilds")
def list_builds(scene):
    return scene.owner_api.get("/api/deploy/builds")


@driver("getBuild")
def get_build(scene):
    return scene.owner_api.get("/api/deploy/builds/" + build_of(scene).expect(201).id)


@driver("buildLog")
def build_log(scene):
    return scene.owner_api.get("/api/deploy/builds/" + build_of(scene).expect(201).id + "/logs?follow=true")


@driver("cancelBuild")
def cancel_build(scene):
    return scene.owner_api.delete("/api/deploy/builds/" + build_of(scene).expect(201).id)


@driver("createBuild")
def create_build(scene):
    return build_of(scene, deployment=True)


@driver("listBuildsOfDeployment")
def list_builds_of_deployment(scene):
    return scene.owner_api.get(f"/api/deploy/apps/{scene.deployment}/builds")


def of_deployment(scene):
    return f"/api/deploy/apps/{scene.deployment}/builds/" + build_of(scene, deployment=True).expect(201).id


@driver("getBuildOfDeployment")
def get_build_of_deployment(scene):
    return scene.owner_api.get(of_deployment(scene))


@driver("buildLogOfDeployment")
def build_log_of_deployment(scene):
    return scene.owner_api.get(of_deployment(scene) + "/logs?follow=true")
