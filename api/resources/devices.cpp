// The programs that have logged in to the caller's account by berth's own client.
#include "controller/domain/oauth/devices.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

Reply list_devices(db::Tx& tx, const Call& call, const Services& services) {
  const std::string current = call.caller ? call.caller->family_id : "";
  return {.body = encode_page(
              "devices", devices::list(tx, call.user->id, call.page()),
              [&](const devices::Device& device) {
                // The latest use may not have been written to the database yet.
                const auto noted = services.logins.device_uses.last(device.id);
                return json{{"id", device.id},
                            {"name", device.name},
                            {"program", device.program},
                            {"address", device.address},
                            {"scopes", device.scopes.names()},
                            {"connected_at", to_iso8601(device.connected_at)},
                            {"last_used", to_iso8601(std::max(device.last_used,
                                                              noted.value_or(device.last_used)))},
                            {"current", device.id == current}};
              })};
}

Reply end_device(db::Tx& tx, const Call& call, const Services&) {
  devices::end(tx, call.user->id, call.id());
  return message_reply("the device was disconnected, and its tokens no longer work");
}

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
