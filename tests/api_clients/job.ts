// The main job of a client that openapi-typescript has generated: get a token, run a container, look at it, delete it.
//   node job.js BASE CLIENT_ID CLIENT_SECRET
import createClient from "openapi-fetch";
import type { components, paths } from "./berth.js";

declare const process: { argv: string[] };
const [baseUrl, client_id, client_secret] = process.argv.slice(2) as [string, string, string];
const grant_type = "client_credentials";

function must<T>(value: T | undefined, error: unknown): T {
  if (value === undefined) throw new Error(JSON.stringify(error));
  return value;
}
function check(holds: boolean, what: string) {
  if (!holds) throw new Error("not so: " + what);
}

const anybody = createClient<paths>({ baseUrl });
const granted = await anybody.POST("/api/oauth/token", { body: { grant_type, client_id, client_secret } });
const token = must(granted.data, granted.error).access_token;
const berth = createClient<paths>({ baseUrl, headers: { Authorization: "Bearer " + token } });

const order: components["schemas"]["CreateDeploymentRequest"] = {
  name: "typescript",
  image: "docker.io/library/hello:1",
  tier: "free",
  env_vars: { LOG_LEVEL: "info" },
};
const created = await berth.POST("/api/deploy/apps", { body: order });
const { id, deployment } = must(created.data, created.error);
check(deployment.status === "pending", "a new deployment is pending");
check(deployment.env_keys?.[0] === "LOG_LEVEL", "it has its variable");
const params = { path: { id } };

let status: components["schemas"]["DeploymentState"] = "pending";
for (let tries = 0; status !== "running" && tries < 300; ++tries) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  const seen = await berth.GET("/api/deploy/apps/{id}/status", { params });
  status = must(seen.data, seen.error).status;
}
check(status === "running", "the deployment runs");

const logs = await berth.GET("/api/deploy/apps/{id}/logs", { params });
check(must(logs.data, logs.error).logs.some((entry) => entry.action === "create"), "its log has the creation");
const output = await berth.GET("/api/deploy/apps/{id}/container-logs", { params, parseAs: "text" });
check(output.response.status === 200, "its output can be read");

// A refusal has a code of the enum.
const again = await berth.POST("/api/deploy/apps", { body: { ...order, name: "Not A Name" } });
check(again.response.status === 422, "a bad name is refused");
if (again.error === undefined || !("error" in again.error)) throw new Error("the refusal has no code");
const code: components["schemas"]["ErrorCode"] = again.error.error.code;
check(code === "validation_failed", "the code says why");

const deleted = await berth.DELETE("/api/deploy/apps/{id}", { params });
check(must(deleted.data, deleted.error).id === id, "the deployment is deleted");
const left = await berth.GET("/api/deploy/apps");
check(must(left.data, left.error).total === 0, "no deployment is left");
console.log("the TypeScript client has done its job");
