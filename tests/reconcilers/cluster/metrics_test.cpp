#include "reconcilers/cluster/metrics.h"

#include <prometheus/text_serializer.h>

#include <catch2/catch.hpp>

#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;

TEST_CASE("the usual metrics of controllers exist under their names") {
  embedded::Cluster cluster(quick());
  World world(config_of(cluster));
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, berth::deployments::Status::running));
  REQUIRE(world.settles());
  const std::string text = prometheus::TextSerializer().Serialize(world.registry().Collect());
  for (const char* line :
       {"workqueue_depth{name=\"deployment\"} 0", "workqueue_adds_total{name=\"deployment\"}",
        "workqueue_queue_duration_seconds_count{name=\"deployment\"}",
        "workqueue_work_duration_seconds_count{name=\"deployment\"}",
        "workqueue_retries_total{name=\"deployment\"}",
        "workqueue_unfinished_work_seconds{name=\"deployment\"} 0",
        "workqueue_longest_running_processor_seconds{name=\"deployment\"} 0",
        "controller_runtime_reconcile_total{controller=\"deployment\",result=\"success\"}",
        "controller_runtime_reconcile_errors_total{controller=\"deployment\"}",
        "controller_runtime_reconcile_time_seconds_count{controller=\"deployment\"}",
        "controller_runtime_active_workers{controller=\"deployment\"} 0",
        "controller_runtime_max_concurrent_reconciles{controller=\"deployment\"} 8",
        "rest_client_requests_total{", "code=\"201\"", "method=\"PATCH\"", "method=\"POST\"",
        "method=\"GET\"",
        // The app's five objects and the Secret; Service, Deployment and Ingress.
        "rest_client_request_duration_seconds_count{verb=\"apply\"} 6",
        "rest_client_request_duration_seconds_count{verb=\"create\"} 3"}) {
    INFO(line);
    CHECK(text.find(line) != std::string::npos);
  }
}
