#pragma once

#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/kernel/use_log.h"
#include "controller/domain/oauth/oauth.h"

// The programs that have logged in to a user's account by berth's own client (apps/built_in.h): the
// command line on each of their machines. A device is a family of that client's tokens.
namespace berth::devices {

inline constexpr size_t kept_of_name = 64;  // bytes
inline constexpr size_t kept_of_program = 128;

// What a program says about itself, and where it calls from. The name and the program are a
// stranger's words: what can't be shown in a line is dropped.
struct Origin {
  std::string name;     // what the machine is called, such as its host name; may be empty
  std::string program;  // the User-Agent
  std::string address;
};

struct Device {
  std::string id;
  std::string name;  // "unnamed" if the program has said nothing
  std::string program;
  std::string address;  // where it last got tokens; empty for logins from before it was recorded
  ScopeSet scopes;
  Instant connected_at;
  Instant last_used;
};

// Records the origin of a login by which berth's own client has just got these tokens. Returns the
// device.
Device connect(db::Tx& tx, const oauth::Tokens& tokens, const Origin& origin);
// Records that the device has refreshed its tokens. Its name stays. Does nothing for other tokens.
void refreshed(db::Tx& tx, const oauth::Tokens& tokens, const Origin& origin);
// Returns how many programs have logged in to the account since then, whether or not they have
// ended; those that ended longer than an hour ago aren't counted.
std::int64_t connected_since(db::Tx& tx, const std::string& user_id, Instant since);

// Returns the user's devices that can still act for them, newest first.
Page<Device> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);
// Ends a device's tokens at once. Throws device_not_found if the user has no such device, or it has
// ended.
void end(db::Tx& tx, const std::string& user_id, const std::string& id);
// For accounts that are deleted: removes what the devices were called and where they were.
void forget(db::Tx& tx, const std::string& user_id);

// The last use of each device, collected in memory and written in batches.
class UseLog : public berth::UseLog {
 public:
  UseLog() : berth::UseLog(R"(UPDATE devices SET last_used_at = $2 WHERE family_id = $1)") {}
};

}  // namespace berth::devices
