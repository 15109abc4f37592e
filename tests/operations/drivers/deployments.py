"""Drivers of deployments and their tiers."""

import time

from . import driver


def of(scene, rest=""):
    return f"/api/deploy/apps/{scene.deployment}{rest}"


@driver("listTiers")
def list_tiers(scene):
    return scene.owner_api.get("/api/deploy/tiers")


@driver("deploymentName")
def deployment_name(scene):
    return scene.owner_api.get("/api/deploy/names/" + scene.new_name("free"))


@driver("createDeployment")
def create_deployment(scene):
    return scene.new_deployment()


@driver("dryRunDeployments")
def dry_run_deployments(scene):
    order = {"name": scene.new_name("dry"), "image": "docker.io/library/hello:1", "tier": "free"}
    return scene.owner_api.post("/api/deploy/dry-run", {"operations": [
        {"create": order}, {"create": order}, {"id": scene.deployment, "change": {"env_vars": {"COLOR": "dry"}}}]})


@driver("listDeployments")
def list_deployments(scene):
    scene.owner_api.get("/api/deploy/apps?label=stage=test").expect(200)
    return scene.owner_api.get("/api/deploy/apps")


@driver("getDeployment")
def get_deployment(scene):
    return scene.owner_api.get(of(scene))


@driver("changeDeployment")
def change_deployment(scene):
    return scene.owner_api.patch(of(scene), {"env_vars": {"COLOR": "green"}, "labels": {"stage": "test"}})


@driver("deploymentDomain")
def deployment_domain(scene):
    scene.admin.post(f"/api/internal/apps/{scene.app.id}/promote", {"tier": "basic"}).expect(200)
    order = {
        "name": scene.new_name("own"),
        "image": "docker.io/library/hello:1",
        "tier": "basic",
        "custom_domain": scene.new_name("game") + ".example.org",
    }
    made = scene.owner_api.post("/api/deploy/apps", order).expect(201)
    return scene.owner_api.get(f"/api/deploy/apps/{made['id']}/domain")


@driver("listVariables")
def list_variables(scene):
    return scene.owner_api.get(of(scene, "/env"))


@driver("listAppVariables")
def list_app_variables(scene):
    return scene.owner_api.get("/api/deploy/variables")


@driver("changeAppVariables")
def change_app_variables(scene):
    return scene.owner_api.patch("/api/deploy/variables", {"variables": {"SHARED": "1", "GONE": None}})


@driver("deploymentStatus")
def deployment_status(scene):
    return scene.owner_api.get(of(scene, "/status"))


@driver("deploymentLogs")
def deployment_logs(scene):
    return scene.owner_api.get(of(scene, "/logs"))


@driver("stopDeployment")
def stop_deployment(scene):
    return scene.owner_api.post(of(scene, "/stop"))


@driver("restartDeployment")
def restart_deployment(scene):
    return scene.owner_api.post(of(scene, "/restart"))


@driver("deleteDeployment")
def delete_deployment(scene):
    made = scene.new_deployment().expect(201)
    return scene.owner_api.delete("/api/deploy/apps/" + made["id"])


@driver("sandboxStatus")
def sandbox_status(scene):
    return scene.owner_api.get("/api/deploy/sandbox-status")


@driver("internalListTiers")
def internal_list_tiers(scene):
    return scene.admin.get("/api/internal/deploy/tiers")


def new_tier(scene):
    slug = scene.new_name("tier")
    body = {
        "name": "Large",
        "slug": slug,
        "memory_limit_mb": 64,
        "cpu_limit_millicores": 50,
        "monthly_cost_points": 5,
        "points_per_hour": 1,
    }
    return scene.admin.post("/api/internal/deploy/tiers", body)


@driver("createTier")
def create_tier(scene):
    return new_tier(scene)


@driver("changeTier")
def change_tier(scene):
    tier = new_tier(scene).expect(201)["tier"]["id"]
    return scene.admin.patch("/api/internal/deploy/tiers/" + tier, {
        "description": "For games", "runtime_class": "gvisor", "user_namespaces": True, "smtp": False, "bandwidth": 100})


@driver("previewTierPrice")
def preview_tier_price(scene):
    tier = new_tier(scene).expect(201)["tier"]["id"]
    return scene.admin.get(f"/api/internal/deploy/tiers/{tier}/price-change?points_per_hour=3")


@driver("listOrphans")
def list_orphans(scene):
    return scene.admin.get("/api/internal/deploy/orphans")


@driver("deploymentBilling")
def deployment_billing(scene):
    return scene.owner_api.get(of(scene, "/billing"))


@driver("deploymentUsage")
def deployment_usage(scene):
    return scene.owner_api.get(of(scene, "/usage?from=2026-01-01&to=2026-01-31&page_size=5"))


@driver("listBudgets")
def list_budgets(scene):
    scene.owner_api.put("/api/operator/budgets", {"period": "30d", "limit": 1_000_000_000}).expect(200)
    return scene.owner_api.get("/api/operator/budgets")


@driver("putBudget")
def put_budget(scene):
    order = {"deployment_id": scene.deployment, "period": "day", "limit": 1_000_000, "at_limit": "stop_metered"}
    scene.owner_api.put("/api/operator/budgets", order).expect(200)
    higher = {**order, "limit": 2_000_000, "password": scene.operator.password}
    return scene.owner_api.put("/api/operator/budgets", higher)


@driver("deploymentMetrics")
def deployment_metrics(scene):
    return scene.owner_api.get(of(scene, "/metrics"))


@driver("deploymentMetricsHistory")
def deployment_metrics_history(scene):
    return scene.owner_api.get(of(scene, "/metrics/history?metric=cpu&step=60"))


def running(scene):
    """Returns a deployment that is running."""
    made = scene.new_deployment().expect(201).id
    path = "/api/deploy/apps/" + made
    wait_until_running(scene, path)
    return path


def wait_until_running(scene, path):
    for _ in range(600):
        if scene.owner_api.get(path + "/status").expect(200)["status"] == "running":
            return
        time.sleep(0.05)
    raise TimeoutError(path + " doesn't run")


@driver("rollbackDeployment")
def rollback_deployment(scene):
    path = running(scene)
    scene.owner_api.patch(path, {"image": "docker.io/library/hello:2"}).expect(200)
    wait_until_running(scene, path)
    return scene.owner_api.post(path + "/rollback", {})


@driver("containerLogs")
def container_logs(scene):
    return scene.owner_api.get(running(scene) + "/container-logs?tail=1")


def shell(scene):
    """Returns the path of a deployment that runs, on a tier that allows sessions in containers."""
    path = running(scene)
    tiers = scene.admin.get("/api/internal/deploy/tiers").expect(200)["tiers"]
    free = next(tier["id"] for tier in tiers if tier["slug"] == "free")
    scene.admin.patch("/api/internal/deploy/tiers/" + free, {"exec_allowed": True}).expect(200)
    return path


# A plain GET can't open a WebSocket: its only success is to be told so.
@driver("execInContainer", 426)
def exec_in_container(scene):
    return scene.owner_api.get(shell(scene) + "/exec?command=ls&command=-l")


@driver("forwardPort", 426)
def forward_port(scene):
    return scene.owner_api.get(shell(scene) + "/port-forward?port=8080")


@driver("followedLogs")
def followed_logs(scene):
    return scene.owner_api.get("/api/deploy/container-logs?logs=" + running(scene).rsplit("/", 1)[1])


@driver("listInstances")
def list_instances(scene):
    return scene.owner_api.get(running(scene) + "/instances")


@driver("deploymentEvents")
def deployment_events(scene):
    return scene.owner_api.get(of(scene, "/events"))


@driver("accountEvents")
def account_events(scene):
    return scene.operator.get("/api/events")


@driver("suspendDeployment")
def suspend_deployment(scene):
    made = scene.new_deployment().expect(201).id
    return scene.admin.post(f"/api/internal/deploy/apps/{made}/suspend")


@driver("reactivateDeployment")
def reactivate_deployment(scene):
    made = scene.new_deployment().expect(201).id
    scene.admin.post(f"/api/internal/deploy/apps/{made}/suspend").expect(200)
    return scene.admin.post(f"/api/internal/deploy/apps/{made}/reactivate")


@driver("listAllDeployments")
def list_all_deployments(scene):
    return scene.admin.get("/api/internal/deploy/apps?q=s&status=running")


@driver("getAnyDeployment")
def get_any_deployment(scene):
    return scene.admin.get(f"/api/internal/deploy/apps/{scene.deployment}")


@driver("refundDeployment")
def refund_deployment(scene):
    tier = new_tier(scene).expect(201)["tier"]["slug"]
    scene.mint({"kind": "app", "id": scene.app.id})
    scene.admin.post(f"/api/internal/apps/{scene.app.id}/promote", {"tier": tier}).expect(200)
    order = {"name": scene.new_name("paid"), "image": "docker.io/library/hello:1", "tier": tier}
    made = scene.owner_api.post("/api/deploy/apps", order).expect(201).id
    return scene.admin.post(f"/api/internal/deploy/apps/{made}/refund", {"amount": 1, "reason": "for the tests"})


@driver("internalSearch")
def internal_search(scene):
    return scene.admin.get("/api/internal/search?q=a")


def following(scene):
    """The scene's deployment, which follows the tag of its image."""
    scene.owner_api.patch(of(scene), {"auto_deploy": True}).expect(200)


@driver("showAutoDeploy")
def show_auto_deploy(scene):
    following(scene)
    return scene.owner_api.get(of(scene, "/auto-deploy"))


@driver("createPushHook")
def create_push_hook(scene):
    following(scene)
    return scene.owner_api.post(of(scene, "/auto-deploy/hook"))


@driver("deletePushHook")
def delete_push_hook(scene):
    following(scene)
    scene.owner_api.post(of(scene, "/auto-deploy/hook")).expect(201)
    return scene.owner_api.delete(of(scene, "/auto-deploy/hook"))


@driver("takePushHook")
def take_push_hook(scene):
    following(scene)
    url = scene.owner_api.post(of(scene, "/auto-deploy/hook")).expect(201)["url"]
    return scene.anybody.post("/api/" + url.split("/api/", 1)[1])


@driver("createPreview")
def create_preview(scene):
    return scene.owner_api.post(of(scene, "/previews"), {"name": scene.new_name("preview"), "ttl_seconds": 3600,
                                                         "env_vars": {"STAGE": "preview"}, "budget": 100})


@driver("listPreviews")
def list_previews(scene):
    return scene.owner_api.get(of(scene, "/previews"))
