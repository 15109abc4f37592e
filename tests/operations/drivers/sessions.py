"""Drivers of play sessions: the time that a user spends in an app."""

from . import driver


@driver("sessionHeartbeat")
def session_heartbeat(scene):
    return scene.playing.post("/api/sessions/heartbeat")


@driver("sessionStatus")
def session_status(scene):
    return scene.playing.get("/api/sessions/status")


@driver("refreshSession")
def refresh_session(scene):
    return scene.new_playing().post("/api/sessions/refresh")


@driver("endPlaySession")
def end_play_session(scene):
    return scene.new_playing().post("/api/sessions/end")
