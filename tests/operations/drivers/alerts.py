"""Drivers of an account's alerts."""

from . import driver

ALERTS = "/api/operator/alerts"


def new_alert(scene):
    # Nobody listens there.
    return scene.operator.post(ALERTS, {
        "channel": "discord", "name": "Team", "app_id": scene.app.id, "events": ["deployment.failed"],
        "target": {"url": "http://127.0.0.1:1/alert"}})


def alert(scene, rest=""):
    made = scene.once("alert", lambda: new_alert(scene).expect(201).id)
    return f"{ALERTS}/{made}{rest}"


@driver("createAlert")
def create_alert(scene):
    return new_alert(scene)


@driver("listAlerts")
def list_alerts(scene):
    return scene.operator.get(ALERTS)


@driver("changeAlert")
def change_alert(scene):
    return scene.operator.patch(alert(scene), {"events": ["deployment.crashed", "balance.low"]})


@driver("deleteAlert")
def delete_alert(scene):
    return scene.operator.delete(f"{ALERTS}/{new_alert(scene).expect(201).id}")


@driver("testAlert")
def test_alert(scene):
    return scene.operator.post(alert(scene, "/test"))
