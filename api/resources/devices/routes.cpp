#include "api/resources/routes.h"

#include "api/resources/devices/handlers.h"

namespace berth::api {

std::vector<Route> devices_routes() {
  return {
      {.method = "GET",
       .path = "/api/auth/devices",
       .name = "listDevices",
       .tag = "Account",
       .summary = "List the programs that have logged in with the client berth",
       .access = person(),
       .rate = account_reads,
       .shape = Shape::nested_but_access,
       .query = paged,
       .answer = {200, "DeviceList"},
       .run = ReadHandler{list_devices}},
      {.method = "DELETE",
       .path = "/api/auth/devices/{id}",
       .name = "endDevice",
       .tag = "Account",
       .summary = "Disconnect one of these programs: its tokens end at once",
       .access = session(),
       .rate = account_writes,
       .stores = Stores::nothing,
       .shape = Shape::nested_but_access,
       .answer = {200, "Message"},
       .errors = {Code::device_not_found},
       .run = WriteHandler{end_device}},
  };
}

}  // namespace berth::api
