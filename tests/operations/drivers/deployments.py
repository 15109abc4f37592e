"""Deployments and their tiers."""

from . import driver


def of(scene, rest=""):
    return f"/api/deploy/apps/{scene.deployment}{rest}"


@driver("listTiers")
def list_tiers(scene):
    return scene.owner_api.get("/api/deploy/tiers")


@driver("createDeployment")
def create_deployment(scene):
    return scene.new_deployment()


@driver("listDeployments")
def list_deployments(scene):
    return scene.owner_api.get("/api/deploy/apps")


@driver("getDeployment")
def get_deployment(scene):
    return scene.owner_api.get(of(scene))


@driver("changeDeployment")
def change_deployment(scene):
    return scene.owner_api.patch(of(scene), {"env_vars": {"COLOR": "green"}})


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
    }
    return scene.admin.post("/api/internal/deploy/tiers", body)


@driver("createTier")
def create_tier(scene):
    return new_tier(scene)


@driver("changeTier")
def change_tier(scene):
    tier = new_tier(scene).expect(201)["tier"]["id"]
    return scene.admin.patch("/api/internal/deploy/tiers/" + tier, {"description": "For games"})


@driver("listOrphans")
def list_orphans(scene):
    return scene.admin.get("/api/internal/deploy/orphans")
