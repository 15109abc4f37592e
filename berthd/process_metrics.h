#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace berth {

// CPU, memory, open files and start of this process, as Prometheus' client libraries name them. A
// figure that the system doesn't give is left out.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace berth
