#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/requester.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// The audit log: who did what, on whom or what, when, and from where. Each operation that changes
// something leaves an entry in the transaction that makes the change: the one that its module
// records, or else the one that the gate does (api/gate/audit_entry.h). audit_chain.h says how an
// entry that was removed or changed is found.
namespace berth::audit {

// How long entries are kept. They are removed at checkpoints of the chain: an entry goes once the
// checkpoint behind it is as old, which is made when the entry's UTC day is over, if not before.
inline constexpr std::chrono::days kept_for{400};

// Records an action in the transaction that performs it. `details` is a JSON object. If the
// transaction is one of a request, the entry also has what its requester is known for. `app_id` is
// the app that it is about, whose admins see it; if it is empty, the one that the request is about.
// `user_id` is the person who acts, or whose account it happens to; if it is empty, the request's.
void record(db::Tx& tx, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view details = "{}", const std::string& app_id = {},
            const std::string& user_id = {});
// The same for a request that is over: the entry has what is said of it here, and nothing else.
void record_for(db::Tx& tx, const Requester& who, std::string_view action, std::string_view target,
                std::string_view details = "{}");
// Records the operation of the request that the transaction is for, and does nothing if it is for
// none. `target` is an id, and `target_kind` says of what; both may be empty. Without an actor, it
// is the claimant of the thread (base/shares.h), whom a login has named, or else "anonymous".
void record_operation(db::Tx& tx, std::string_view target_kind, std::string_view target);

struct Entry {
  std::string id;
  std::optional<std::int64_t> number;  // its place in the chain; nothing until it has one
  std::string actor;
  std::string action;
  std::string operation;  // of the API, or a form; empty if no request asked for it
  std::string target;     // the id of what was acted on; may be empty
  std::optional<std::string> target_kind = {};
  std::optional<std::string> app_id = {};
  std::optional<std::string> user_id = {};
  // session, console, client_token (of berth's own client), access_token (of an app),
  // personal_token, play_session; of an admin: admin_console, admin_token, internal_secret.
  std::optional<std::string> token_kind = {};
  std::optional<std::string> token_id = {};  // of a login, the session that it has opened
  std::optional<std::string> network = {};
  std::optional<std::string> request_id = {};
  std::string details;  // a JSON object
  Instant at;
};
// What a list contains: entries that have all of these. The times are those of entries at or after
// `from` and before `until`. With `token_id`, one of the others that is a text has to be set, so
// that not all entries are looked through.
struct Filter {
  std::optional<std::string> actor = {};
  std::optional<std::string> action = {};
  std::optional<std::string> target = {};
  std::optional<std::string> user_id = {};
  std::optional<std::string> app_id = {};
  std::optional<std::string> network = {};
  std::optional<std::string> token_id = {};
  std::optional<Instant> from = {};
  std::optional<Instant> until = {};
};
// The entries of the audit log, newest first.
Page<Entry> list(db::Tx& tx, const Filter& filter, const PageRequest& page);

// A part of a list. It may have no entries although others follow.
struct Part {
  std::vector<Entry> entries;
  std::string last;  // the id of the last entry that was looked at
  bool is_end = false;
};
// Looks at `limit` entries of one of the filter's texts that have a lower id than `before`, newest
// first (at the newest ones if it is empty), and returns those that match the others as well. So
// its costs are limited, and nothing is counted, unlike those of list().
Part read(db::Tx& tx, const Filter& filter, const std::string& before, int limit);

// Empties the details of at most `limit` entries about one of the targets. Returns the number of
// entries that had details.
int erase_details(db::Tx& tx, std::initializer_list<std::string> targets, int limit);
// Empties of at most `limit` entries of what the user did who it was, by which token, from where
// and in which request, and the details. The actor stays, which is an id. Returns their number.
int erase_of_user(db::Tx& tx, const std::string& user_id, int limit);

// Whether remove_old() would find an entry.
bool is_any_old(db::Tx& tx);
// Removes at most `limit` entries that are older than kept_for, and the checkpoints before them.
// Returns the number of entries.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::audit
