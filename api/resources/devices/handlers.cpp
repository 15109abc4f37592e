#include "api/resources/devices/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/oauth/devices.h"

namespace berth::api {

Reply list_devices(db::Tx& tx, const Call& call, const Services& services) {
  const std::string current = call.caller ? call.caller->family_id : "";
  return {.body = encode_page(
              "devices", devices::list(tx, call.user->id, call.page()),
              [&](const devices::Device& device) {
                // The latest use may not have been written to the database yet.
                const auto noted = services.device_uses.last(device.id);
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
  return message_reply("the device was disconnected, and its tokens don't work any more");
}

}  // namespace berth::api
