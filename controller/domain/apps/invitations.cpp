#include "controller/domain/apps/invitations.h"

#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/domain/accounts/returning_users.h"
#include "controller/domain/apps/member_mail.h"
#include "controller/domain/apps/member_rows.h"
#include "controller/domain/kernel/audit.h"

namespace berth::apps {
namespace {

constexpr Duration day = std::chrono::hours(24);

const std::string select_invitations = R"(
    SELECT i.id, i.app_id, i.email, i.user_id, n.username, i.role, i.deployments, i.invited_by,
           b.username AS invited_by_username, i.status, i.inserted_at, i.expires_at
    FROM app_invitations i
    JOIN users b ON b.id = i.invited_by
    LEFT JOIN users n ON n.id = i.user_id )";

Invitation invitation_of(const db::Query& row) {
  return {.id = row.text("id"),
          .app_id = row.text("app_id"),
          .email = row.text_or_null("email"),
          .user_id = row.text_or_null("user_id"),
          .username = row.text_or_null("username"),
          .role = role_in(row),
          .deployments = deployments_of(row),
          .invited_by = row.text("invited_by"),
          .invited_by_username = row.text("invited_by_username"),
          .status = parse_enum<InvitationStatus>(row.text("status")).value(),
          .inserted_at = row.instant("inserted_at"),
          .expires_at = row.instant("expires_at")};
}

std::optional<Invitation> find_invitation(db::Tx& tx, const std::string& id) {
  static const std::string sql = select_invitations + R"(WHERE i.id = $1)";
  auto rows = tx.query(sql, id);
  return rows.next() ? std::optional(invitation_of(rows)) : std::nullopt;
}

Error no_invitation() {
  return {Code::invitation_not_found, "there is no such invitation, or it has ended"};
}

bool is_open(const db::Tx& tx, const Invitation& invitation) {
  return invitation.status == InvitationStatus::pending && invitation.expires_at > tx.now();
}

// Whom an invitation is for.
struct Recipient {
  std::optional<std::string> email_key;
  std::optional<accounts::User> user;  // who was named
  std::string address;                 // to which the letter goes
};

Recipient recipient_of(db::Tx& tx, const NewInvitation& wanted) {
  if (wanted.email.has_value() == wanted.username.has_value())
    throw invalid_field("email", "is required, or username, but not both");
  if (wanted.email) {
    accounts::check_email(*wanted.email);
    return {.email_key = accounts::email_key(*wanted.email), .user = {}, .address = *wanted.email};
  }
  std::string id;
  {
    auto rows = tx.query(R"(SELECT id FROM users WHERE username_key = $1 AND deleted_at IS NULL)",
                         accounts::folded(*wanted.username));
    if (rows.next()) id = rows.text("id");
  }
  auto user = id.empty() ? std::nullopt : accounts::find(tx, id);
  if (!user || user->is_guest) throw Error(Code::user_not_found, "there is no user with this name");
  return {.email_key = {}, .user = user, .address = user->email};
}

// Nothing here depends on whether an address is an account's.
void require_not_invited(db::Tx& tx, const App& app, const Recipient& to) {
  auto rows = tx.query(
      R"(
      SELECT status
      FROM app_invitations
      WHERE app_id = $1 AND (email_key = $2 OR user_id = $3)
        AND ((status = 'pending' AND expires_at > $4) OR (status = 'declined' AND ended_at > $5)))",
      app.id, to.email_key, to.user ? std::optional(to.user->id) : std::nullopt, tx.now(),
      tx.now() - declined_for);
  if (!rows.next()) return;
  if (rows.text("status") == to_string(InvitationStatus::pending))
    throw Error(Code::invalid_state, "they are already invited; withdraw that invitation first");
  throw Error(Code::invalid_state,
              "they have declined an invitation of this app in the last 30 days");
}

void require_room(db::Tx& tx, const App& app, const accounts::User& actor) {
  if (tx.number(
          R"(
          SELECT count(*)
          FROM app_invitations
          WHERE app_id = $1 AND status = 'pending' AND expires_at > $2)",
          app.id, tx.now()) >= max_open_invitations_per_app)
    throw Error(Code::invalid_state, "the app already has " +
                                         std::to_string(max_open_invitations_per_app) +
                                         " open invitations; withdraw one first");
  auto rows = tx.query(
      R"(
      SELECT count(*) AS sent, min(inserted_at) AS oldest
      FROM app_invitations
      WHERE invited_by = $1 AND inserted_at > $2)",
      actor.id, tx.now() - day);
  if (!rows.next() || rows.integer("sent") < max_invitations_of_account_per_day) return;
  Error refusal(Code::rate_limited, "you have invited " +
                                        std::to_string(max_invitations_of_account_per_day) +
                                        " people in the last 24 hours; try again later");
  refusal.retry_after =
      std::chrono::ceil<std::chrono::seconds>(rows.instant("oldest") + day - tx.now());
  throw refusal;
}

// Whether the mailbox may get another letter.
bool may_write_to(db::Tx& tx, const std::string& mailbox_hash) {
  return tx.number(
             R"(
             SELECT count(*)
             FROM app_invitations
             WHERE mailbox_hash = $1 AND inserted_at > $2 AND mailed = 1)",
             mailbox_hash, tx.now() - day) < max_invitation_letters_per_mailbox_and_day;
}

void end(db::Tx& tx, const Invitation& invitation, InvitationStatus status) {
  tx.require_change(
      R"(
      UPDATE app_invitations
      SET status = $2, ended_at = $3
      WHERE id = $1 AND status = 'pending')",
      invitation.id, to_string(status), tx.now());
}

// `app_id` if the app's admins see it although the request doesn't name the app.
void record(db::Tx& tx, const MemberChange& by, const char* action, const Invitation& invitation,
            const std::string& app_id = {}) {
  nlohmann::json details = {{"invitation_id", invitation.id}, {"role", to_string(invitation.role)}};
  if (invitation.user_id) details["user_id"] = *invitation.user_id;
  audit::record(tx, by.actor.id, action, invitation.app_id, details.dump(), app_id);
}

// Returns an invitation to the actor that can be accepted.
Invitation invitation_to(db::Tx& tx, const accounts::User& user, const std::string& id) {
  tx.require_serializable();
  const auto invitation = find_invitation(tx, id);
  const bool is_theirs =
      invitation && is_open(tx, *invitation) &&
      (invitation->user_id ? *invitation->user_id == user.id
                           : user.email_verified && accounts::email_key(*invitation->email) ==
                                                        accounts::email_key(user.email));
  if (!is_theirs) throw no_invitation();
  return *invitation;
}

void require_room_for_member(db::Tx& tx, const App& app, const accounts::User& user) {
  if (app.owner_id == user.id || find_member(tx, app.id, user.id))
    throw Error(Code::invalid_state, "you are already a member of this app");
  if (tx.number(R"(SELECT count(*) FROM app_members WHERE app_id = $1)", app.id) >=
      max_members_per_app)
    throw Error(Code::invalid_state,
                "the app already has " + std::to_string(max_members_per_app) + " members");
  require_room_for_membership(tx, user.id);
}

}  // namespace

std::vector<Invitation> invitations_of_app(db::Tx& tx, const std::string& app_id) {
  static const std::string sql = select_invitations + R"(
      WHERE i.app_id = $1 AND i.status = 'pending' AND i.expires_at > $2
      ORDER BY i.inserted_at, i.id)";
  std::vector<Invitation> all;
  auto rows = tx.query(sql, app_id, tx.now());
  while (rows.next()) all.push_back(invitation_of(rows));
  return all;
}

std::vector<Invitation> invitations_to(db::Tx& tx, const accounts::User& user) {
  static const std::string sql = select_invitations + R"(
      WHERE i.id IN (SELECT id FROM app_invitations WHERE user_id = $1
                     UNION
                     SELECT id FROM app_invitations WHERE email_key = $2)
        AND i.status = 'pending' AND i.expires_at > $3
      ORDER BY i.inserted_at DESC, i.id DESC
      LIMIT $4)";
  std::vector<Invitation> all;
  auto rows =
      tx.query(sql, user.id,
               user.email_verified ? std::optional(accounts::email_key(user.email)) : std::nullopt,
               tx.now(), max_invitations_shown);
  while (rows.next()) all.push_back(invitation_of(rows));
  return all;
}

Invitation invite(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                  const NewInvitation& wanted) {
  const Membership own = manage(tx, by, app_id);
  require_manages(own.role, wanted.role);
  check_deployments(wanted.role, wanted.deployments);
  if (!by.actor.email_verified)
    throw Error(Code::email_not_verified, "verify your email address before you invite others");
  const Recipient to = recipient_of(tx, wanted);
  if (to.user && (to.user->id == own.app.owner_id || find_member(tx, app_id, to.user->id)))
    throw Error(Code::invalid_state, "this user is already a member of the app");
  require_not_invited(tx, own.app, to);
  require_room(tx, own.app, by.actor);
  const std::string mailbox_hash = hex(sha256(accounts::mailbox_of(to.address)));
  const bool is_mailed = may_write_to(tx, mailbox_hash);
  const std::string id = new_uuid(tx.now());
  const Instant expires_at = tx.now() + invitation_lifetime;
  tx.execute(
      R"(
      INSERT INTO app_invitations
        (id, app_id, email, email_key, user_id, mailbox_hash, mailed, role, deployments, invited_by,
         status, inserted_at, expires_at, keep_until)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, $13))",
      id, app_id, wanted.email, to.email_key, to.user ? std::optional(to.user->id) : std::nullopt,
      mailbox_hash, is_mailed, to_string(wanted.role), stored_deployments(wanted.deployments),
      by.actor.id, tx.now(), expires_at, expires_at + invitations_kept_for);
  const Invitation made = find_invitation(tx, id).value();
  record(tx, by, "app.invite", made);
  if (is_mailed) tell_invited(tx, by, own.app, made, to.user);
  return made;
}

Invitation withdraw_invitation(db::Tx& tx, const MemberChange& by, const std::string& app_id,
                               const std::string& id) {
  const Membership own = manage(tx, by, app_id);
  auto invitation = find_invitation(tx, id);
  if (!invitation || invitation->app_id != app_id || !is_open(tx, *invitation))
    throw no_invitation();
  require_manages(own.role, invitation->role);
  end(tx, *invitation, InvitationStatus::withdrawn);
  record(tx, by, "app.invitation_withdraw", *invitation);
  invitation->status = InvitationStatus::withdrawn;
  return *invitation;
}

Member accept(db::Tx& tx, const MemberChange& by, const std::string& id) {
  const Invitation invitation = invitation_to(tx, by.actor, id);
  if (!by.actor.email_verified)
    throw Error(Code::email_not_verified, "verify your email address before you join an app");
  const auto app = find(tx, invitation.app_id);
  if (!app) throw no_invitation();
  require_room_for_member(tx, *app, by.actor);
  tx.execute(
      R"(
      INSERT INTO app_members (app_id, user_id, role, deployments, inserted_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $5))",
      app->id, by.actor.id, to_string(invitation.role), stored_deployments(invitation.deployments),
      tx.now());
  end(tx, invitation, InvitationStatus::accepted);
  record(tx, by, "app.invitation_accept", invitation, invitation.app_id);
  const Member member = find_member(tx, app->id, by.actor.id).value();
  tell_accepted(tx, by, *app, member, invitation.invited_by);
  return member;
}

Invitation decline(db::Tx& tx, const MemberChange& by, const std::string& id) {
  Invitation invitation = invitation_to(tx, by.actor, id);
  end(tx, invitation, InvitationStatus::declined);
  record(tx, by, "app.invitation_decline", invitation);
  invitation.status = InvitationStatus::declined;
  return invitation;
}

void withdraw_invitations_by(db::Tx& tx, const std::string& app_id, const std::string& user_id) {
  tx.execute(
      R"(
      UPDATE app_invitations
      SET status = 'withdrawn', ended_at = $3
      WHERE app_id = $1 AND invited_by = $2 AND status = 'pending')",
      app_id, user_id, tx.now());
}

void forget_invitations_of_app(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(DELETE FROM app_invitations WHERE app_id = $1 AND inserted_at <= $2)", app_id,
             tx.now() - day);
  tx.execute(
      R"(
      UPDATE app_invitations
      SET status = CASE WHEN status = 'pending' THEN 'withdrawn' ELSE status END,
          ended_at = coalesce(ended_at, $2),
          email = CASE WHEN email IS NULL THEN NULL ELSE '' END,
          email_key = CASE WHEN email_key IS NULL THEN NULL ELSE '' END,
          keep_until = $3
      WHERE app_id = $1)",
      app_id, tx.now(), tx.now() + day);
}

void forget_invitations_of_user(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM app_invitations WHERE invited_by = $1)", user_id);
  tx.execute(R"(DELETE FROM app_invitations WHERE user_id = $1)", user_id);
  // Only the holder of an address can have verified it.
  tx.execute(
      R"(
      DELETE FROM app_invitations
      WHERE email_key = (SELECT email_key
                         FROM users
                         WHERE id = $1 AND email_verified_at IS NOT NULL))",
      user_id);
}

bool is_any_invitation_old(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM app_invitations WHERE keep_until <= $1 LIMIT 1)", tx.now()) > 0;
}

int remove_old_invitations(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM app_invitations
      WHERE id IN (SELECT id
                   FROM app_invitations
                   WHERE keep_until <= $1
                   ORDER BY keep_until
                   LIMIT $2))",
      tx.now(), limit);
}

}  // namespace berth::apps
