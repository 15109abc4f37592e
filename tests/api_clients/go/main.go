// The main job of a client that oapi-codegen has generated: get a token, run a container, look at it, delete it.
//
//	client BASE CLIENT_ID CLIENT_SECRET
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"berth.test/client/berth"
)

func must[T any](value *T, err error, body []byte) *T {
	if err != nil {
		log.Fatal(err)
	}
	if value == nil {
		log.Fatalf("refused: %s", body)
	}
	return value
}

func check(holds bool, what string) {
	if !holds {
		log.Fatalf("not so: %s", what)
	}
}

func main() {
	base, clientID, clientSecret := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	var bearer string
	api, err := berth.NewClientWithResponses(base, berth.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			if bearer != "" {
				request.Header.Set("Authorization", "Bearer "+bearer)
			}
			return nil
		}))
	if err != nil {
		log.Fatal(err)
	}

	granted, err := api.TokenWithResponse(ctx, nil, berth.OAuthTokenRequest{
		GrantType: "client_credentials", ClientId: &clientID, ClientSecret: &clientSecret})
	if err != nil {
		log.Fatal(err)
	}
	bearer = must(granted.JSON200, err, granted.Body).AccessToken

	order := berth.CreateDeploymentRequest{Name: "go", Image: "docker.io/library/hello:1", Tier: "free",
		EnvVars: &map[string]string{"LOG_LEVEL": "info"}}
	answer, err := api.CreateDeploymentWithResponse(ctx, nil, order)
	if err != nil {
		log.Fatal(err)
	}
	created := must(answer.JSON201, err, answer.Body)
	check(created.Deployment.Status == "pending", "a new deployment is pending")

	status := created.Deployment.Status
	for tries := 0; status != "running" && tries < 300; tries++ {
		time.Sleep(100 * time.Millisecond)
		seen, err := api.DeploymentStatusWithResponse(ctx, created.Id)
		if err != nil {
			log.Fatal(err)
		}
		status = must(seen.JSON200, err, seen.Body).Status
	}
	check(status == "running", "the deployment runs")

	logs, err := api.DeploymentLogsWithResponse(ctx, created.Id, nil)
	if err != nil {
		log.Fatal(err)
	}
	check(len(must(logs.JSON200, err, logs.Body).Logs) > 0, "its log has entries")

	order.Name = "Not A Name"
	refused, err := api.CreateDeploymentWithResponse(ctx, nil, order)
	if err != nil {
		log.Fatal(err)
	}
	check(refused.StatusCode() == 422, "a bad name is refused")
	check(must(refused.JSON422, err, refused.Body).Error.Code == berth.ErrorCodeValidationFailed, "the code says why")

	deleted, err := api.DeleteDeploymentWithResponse(ctx, created.Id)
	if err != nil {
		log.Fatal(err)
	}
	check(must(deleted.JSON200, err, deleted.Body).Id == created.Id, "the deployment is deleted")
	fmt.Println("the Go client has done its job")
}
