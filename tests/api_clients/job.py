"""The main job of a client that openapi-python-client has generated: get a token, run a container, look at it, delete
it.

    job.py BASE CLIENT_ID CLIENT_SECRET"""

import sys
import time

from berth import AuthenticatedClient, Client
from berth.api.deployments import (
    create_deployment,
    delete_deployment,
    deployment_logs,
    deployment_status,
    get_deployment,
    list_deployments,
)
from berth.api.o_auth import token
from berth.models import (
    CreateDeploymentRequest,
    CreateDeploymentRequestEnvVarsType0,
    CreateDeploymentResponse,
    DeploymentEnvelope,
    DeploymentState,
    DeployLogAction,
    ErrorCode,
    NestedError,
    OAuthTokenRequest,
)

base, client_id, client_secret = sys.argv[1:]

credentials = OAuthTokenRequest(
    grant_type="client_credentials", client_id=client_id, client_secret=client_secret
)
granted = token.sync(client=Client(base), body=credentials)
berth = AuthenticatedClient(base, token=granted.access_token)

order = CreateDeploymentRequest(name="python", image="docker.io/library/hello:1", tier="free")
order.env_vars = CreateDeploymentRequestEnvVarsType0.from_dict({"LOG_LEVEL": "info"})
created = create_deployment.sync(client=berth, body=order)
assert isinstance(created, CreateDeploymentResponse), created
assert created.deployment.status is DeploymentState.PENDING
assert created.deployment.env_keys == ["LOG_LEVEL"]

for _ in range(300):
    status = deployment_status.sync(created.id, client=berth).status
    if status is DeploymentState.RUNNING:
        break
    time.sleep(0.1)
assert status is DeploymentState.RUNNING, status

# The answer has the fields of a deployment beside the deployment itself.
seen = get_deployment.sync(created.id, client=berth)
assert isinstance(seen, DeploymentEnvelope), seen
assert seen.url == seen.deployment.url == created.url
log = deployment_logs.sync(created.id, client=berth)
assert DeployLogAction.CREATE in [entry.action for entry in log.logs]

order.name = "Not A Name"
refused = create_deployment.sync(client=berth, body=order)
assert isinstance(refused, NestedError), refused
assert refused.error.code is ErrorCode.VALIDATION_FAILED
assert "name" in refused.error.details.additional_properties

assert delete_deployment.sync(created.id, client=berth).id == created.id
assert list_deployments.sync(client=berth).total == 0
print("the Python client has done its job")
