#pragma once

#include <optional>
#include <string>

#include "controller/domain/apps/invitations.h"

// Letters about members of an app, in the language of whoever gets them. Private to this module and
// lifecycle.
namespace berth::apps {

// Tells somebody that they are invited. The letter to an address is the same whether or not an
// account has it, and in the language of the one who invites. `user` is the one who was named.
void tell_invited(db::Tx& tx, const MemberChange& by, const App& app, const Invitation& invitation,
                  const std::optional<accounts::User>& user);
// Tells the one who has invited the actor that they have accepted.
void tell_accepted(db::Tx& tx, const MemberChange& by, const App& app, const Member& member,
                   const std::string& invited_by);
// Tell a member that the actor has changed their role or removed them.
void tell_role_changed(db::Tx& tx, const MemberChange& by, const App& app, const Member& member);
void tell_removed(db::Tx& tx, const MemberChange& by, const App& app, const std::string& user_id);
// Tells both sides that the app now belongs to `to`, and no longer to the actor.
void tell_transferred(db::Tx& tx, const MemberChange& by, const App& app, const accounts::User& to);

}  // namespace berth::apps
