#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/apps/members.h"

// Invitations to become a member of an app. Functions throw berth::Error if they refuse.
namespace berth::apps {

inline constexpr int max_open_invitations_per_app = 20;
inline constexpr int max_invitations_of_account_per_day = 20;  // counted over all apps
inline constexpr Duration invitation_lifetime = std::chrono::days(7);
// A mailbox (accounts::mailbox_of()) gets no more letters than this about invitations in 24 hours,
// whoever sends them. Further invitations wait in the account without a letter.
inline constexpr int max_invitation_letters_per_mailbox_and_day = 3;
// How long an app can't invite somebody again who has declined.
inline constexpr Duration declined_for = std::chrono::days(30);
// How long ended invitations are kept. All of the limits above count them.
inline constexpr Duration invitations_kept_for = std::chrono::days(30);
static_assert(invitations_kept_for >= declined_for);
// How many invitations a user is shown, the newest.
inline constexpr int max_invitations_shown = 100;

enum class InvitationStatus { pending, accepted, declined, withdrawn };
constexpr auto texts_of(InvitationStatus) {
  return EnumTexts<InvitationStatus::withdrawn>{"pending", "accepted", "declined", "withdrawn"};
}
struct Invitation {
  std::string id;
  std::string app_id;
  std::optional<std::string> email;     // as it was typed; nothing if a user was named instead
  std::optional<std::string> user_id;   // of the user who was named
  std::optional<std::string> username;  // theirs
  Role role = Role::viewer;
  std::optional<std::vector<std::string>> deployments = {};
  std::string invited_by;           // the id of a user
  std::string invited_by_username;  // theirs; "deleted" after the account was
  InvitationStatus status = InvitationStatus::pending;
  Instant inserted_at;
  Instant expires_at;
};
// Returns the app's invitations that can still be accepted, oldest first.
std::vector<Invitation> invitations_of_app(db::Tx& tx, const std::string& app_id);
// Returns those to the user, newest first: to their name, or to their address if it is verified.
std::vector<Invitation> invitations_to(db::Tx& tx, const accounts::User& user);

struct NewInvitation {
  std::optional<std::string> email;  // one of these two
  std::optional<std::string> username;
  Role role = Role::viewer;
  // The caller has checked that they are the app's.
  std::optional<std::vector<std::string>> deployments = {};
};
// Invites somebody, who gets a letter. With an address, neither the answer nor the time that it
// takes says whether an account has it. Throws app_not_found; forbidden if the actor may not give
// the role; validation_failed; email_not_verified for the actor; user_not_found for a name;
// invalid_state if they are already invited, have declined a short time ago or are a member, or the
// app has too many invitations; rate_limited if the actor has invited too many today.
Invitation invite(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                  const NewInvitation& wanted);
// Withdraws an invitation. Throws app_not_found, forbidden, invitation_not_found.
Invitation withdraw_invitation(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                               const std::string& id);
// The actor accepts or declines an invitation to them. Both throw invitation_not_found, also for
// one to somebody else and for one that has expired or ended; accept() also invalid_state for a
// member and if there are too many of them, and email_not_verified.
Member accept(db::Tx& tx, const MemberChange& by, const std::string& id);
Invitation decline(db::Tx& tx, const MemberChange& by, const std::string& id);

// Withdraws the open invitations of an app that the user has sent. For those who lose their role.
void withdraw_invitations_by(db::Tx& tx, const std::string& app_id, const std::string& user_id);
// Ends the invitations to an app that is deleted, and removes their addresses. The rows stay for a
// day, because limits count them: otherwise an app that is made and deleted again and again would
// write any number of letters to a mailbox.
void forget_invitations_of_app(db::Tx& tx, const std::string& app_id);
// Removes the invitations to and by a user whose account is deleted.
void forget_invitations_of_user(db::Tx& tx, const std::string& user_id);
// Whether there are invitations that nobody needs any more, and their removal: `limit` at most.
bool is_any_invitation_old(db::Tx& tx);
int remove_old_invitations(db::Tx& tx, int limit);

}  // namespace berth::apps
