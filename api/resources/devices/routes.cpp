#include "api/resources/devices/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Placeholder device_in_path = {"DeviceId", "The id of the device.",
                                        "01936f5e-7c1a-7000-8000-000000000008"};

constexpr Route rows[] = {
    {.request = "GET /api/auth/devices",
     .name = "listDevices",
     .tag = "Account",
     .summary = "List the programs that have logged in with the client berth",
     .text =
         "Lists the programs that have logged in by berth's own client, on any machine, and can "
         "still act for the caller. Each login is one device; a mail told of it when it came.",
     .guards = {person(), account_reads, Shape::nested_but_access},
     .paged = true,
     .answer = {200, "DeviceList"},
     .served_by = {"berth account devices", "/console/account"},
     .run = ReadHandler{list_devices}},
    {.request = "DELETE /api/auth/devices/{id}",
     .name = "endDevice",
     .tag = "Account",
     .summary = "Disconnect one of these programs: its tokens end at once",
     .text = "Ends the tokens of one program at once. It has to log in again.",
     .guards = {session(), account_writes, Shape::nested_but_access},
     .stores = Stores::nothing,
     .in_path = {&device_in_path},
     .answer = {200, "Message"},
     .errors = {Code::device_not_found},
     .event = {SecurityKind::session_ended, "device"},
     .served_by = {"berth account end-device", "/console/account"},
     .run = WriteHandler{end_device}},
};

}  // namespace

std::span<const Route> devices_routes() { return rows; }

}  // namespace berth::api
