"""Drivers of apps' webhooks."""

import itertools

from . import driver


def hooks(scene):
    return f"/api/operator/apps/{scene.app.id}/webhooks"


numbers = itertools.count()


def new_hook(scene):
    # Nobody listens there. An app has no two webhooks with one URL.
    body = {"url": f"http://127.0.0.1:1/hook{next(numbers)}", "events": ["deployment.status"]}
    return scene.operator.post(hooks(scene), body)


def hook(scene, rest=""):
    made = scene.once("hook", lambda: new_hook(scene).expect(201).id)
    return f"{hooks(scene)}/{made}{rest}"


@driver("createWebhook")
def create_webhook(scene):
    return new_hook(scene)


@driver("listWebhooks")
def list_webhooks(scene):
    return scene.operator.get(hooks(scene))


@driver("changeWebhook")
def change_webhook(scene):
    return scene.operator.patch(hook(scene), {"events": ["billing.failed"]})


@driver("deleteWebhook")
def delete_webhook(scene):
    return scene.operator.delete(f"{hooks(scene)}/{new_hook(scene).expect(201).id}")


@driver("rotateWebhookSecret")
def rotate_webhook_secret(scene):
    return scene.operator.post(f"{hooks(scene)}/{new_hook(scene).expect(201).id}/rotate-secret")


@driver("testWebhook")
def test_webhook(scene):
    return scene.operator.post(hook(scene, "/test"))


@driver("listDeliveries")
def list_deliveries(scene):
    return scene.operator.get(hook(scene, "/deliveries"))
