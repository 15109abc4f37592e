#pragma once

#include <string>
#include <vector>

#include "controller/domain/apps/apps.h"

// Functions that change nothing but an app's rows. apps::remove(), suspend(), reactivate() and
// promote(), which lifecycle implements, call them and do what else belongs to such a change
// (campaigns, points, the audit log).
namespace berth::apps {

// Each returns false if there is no such app. Suspending a suspended app keeps the time at which it
// was suspended.
bool set_suspended(db::Tx& tx, const std::string& app_id, bool suspended);
bool set_promoted_tier(db::Tx& tx, const std::string& app_id, const std::string& tier);

// Makes the app belong to another account, which is a member. The account that it belonged to stays
// an owner, as a member. Throws invalid_state if the app was transferred less than
// transfer_interval (members.h) ago.
void change_owner(db::Tx& tx, const App& app, const std::string& owner_id);

// Marks the app as deleted, takes its secrets and its texts away, and withdraws its pending request
// for scopes. Removes its members and invitations.
void mark_deleted(db::Tx& tx, const App& app);

// Returns deleted apps to which there may still be consents, at most `limit`. oauth ends the
// consents and notes once there is none left, so that nobody looks at all apps that were ever
// deleted.
std::vector<std::string> with_consents_to_end(db::Tx& tx, int limit);
void note_consents_ended(db::Tx& tx, const std::string& app_id);

// The ids of all apps that the user has ever owned, deleted ones included.
std::vector<std::string> ids_ever_owned(db::Tx& tx, const std::string& owner_id);

// Erases the texts in the scope requests of a deleted app, and in the audit log's entries about it,
// about `limit` rows. The rows stay. Returns how many were changed; fewer than `limit` if nothing
// is left.
int erase_words(db::Tx& tx, const std::string& app_id, int limit);

}  // namespace berth::apps
