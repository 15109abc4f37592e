"""Has berthd send events to receivers in JavaScript and Python, which verify them with the libraries of the Standard
Webhooks specification, and shows them a wrong secret as well.

    webhooks.py BASE INTERNAL_SECRET receiver.mjs PYTHON receiver.py"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "operations"))
import scene as scenes  # noqa: E402

base, internal_secret, in_javascript, python, in_python = sys.argv[1:]
scene = scenes.Scene(base, internal_secret)
webhooks = f"/api/operator/apps/{scene.app.id}/webhooks"


class Receiver:
    def __init__(self, *command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.url = f"http://127.0.0.1:{self.read()}/"

    def read(self):
        return self.process.stdout.readline().strip()

    def use(self, secret):
        self.process.stdin.write(secret + "\n")

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def check(receiver):
    wanted = {"url": receiver.url, "events": ["deployment.status"]}
    made = scene.operator.post(webhooks, wanted).expect(201)["webhook"]
    one = f"{webhooks}/{made['id']}"
    receiver.use(made["secret"])
    scene.operator.post(one + "/test").expect(202)
    said = receiver.read()
    assert said == "genuine webhook.test", said
    scene.new_deployment().expect(201)
    said = receiver.read()
    assert said == "genuine deployment.status", said
    scene.operator.delete(one).expect(200)


def check_wrong_secret(receiver):
    wanted = {"url": receiver.url, "events": ["billing.failed"]}
    made = scene.operator.post(webhooks, wanted).expect(201)["webhook"]
    one = f"{webhooks}/{made['id']}"
    scene.operator.post(one + "/rotate-secret").expect(200)
    receiver.use(made["secret"])  # the one before
    scene.operator.post(one + "/test").expect(202)
    said = receiver.read()
    assert said.startswith("forged"), said
    scene.operator.delete(one).expect(200)


for command in (("node", in_javascript), (python, in_python)):
    # Each check has a receiver of its own: the deployment's next event may still be on its way when the first one ends.
    for one in (check, check_wrong_secret):
        receiver = Receiver(*command)
        one(receiver)
        receiver.close()
    print(f"{os.path.basename(command[-1])} verified the events and refused the wrong secret")
