#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/jwk.h"
#include "controller/db/database.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/oauth/issuers.h"
#include "controller/domain/oauth/oauth.h"

// CI without secrets: a job shows the ID token that its CI service has signed, and gets an access
// token of an app that trusts such tokens (token exchange, RFC 8693). An app's trust says which
// tokens: those of an issuer (issuers.h), for an audience, with certain claims.
namespace berth::oauth {

inline constexpr int max_trusts = 20;  // of an app
// Trusts in this issuer accept the tokens of the app's own containers, which the cluster signs and
// checks. No issuer that admins list can be called so, because theirs are URLs.
inline constexpr std::string_view containers_issuer = "berth";
inline constexpr std::size_t max_claims = 20;
inline constexpr std::size_t max_texts_of_claim = 10;
inline constexpr std::size_t max_claim_name_length = 64;
inline constexpr std::size_t max_claim_text_length = 256;
inline constexpr std::size_t max_trusted_deployments = 50;

// How long an access token for an ID token works. There is no refresh token: a job gets another ID
// token.
inline constexpr Duration trusted_token_lifetime = std::chrono::minutes(15);
// How many living access tokens a trust may have given. Those of all trusts of an app are fewer
// than its owner's consent may have (max_families_per_grant), so that CI jobs never end the app's
// other tokens.
inline constexpr int max_living_tokens = 40;

// The clocks of berthd and of an issuer may differ by this.
inline constexpr Duration clock_skew = std::chrono::seconds(60);
// An ID token is accepted for this long after it was issued, however late it expires; GitLab's
// expire with their job's time-out. Until then its id is remembered.
inline constexpr Duration id_token_accepted_for = std::chrono::hours(24);

// The texts that each claim may have, by the claim's name.
using ClaimTexts = std::map<std::string, std::vector<std::string>>;

struct Trust {
  std::string id;
  std::string app_id;
  std::string name;
  std::string issuer;
  std::string audience;
  ClaimTexts claims;
  // Whether a * at the end of a text stands for anything, except in claims that have to be exact.
  bool wildcards = false;
  std::vector<std::string> deployments;  // ids; empty: all of the app
  ScopeSet scopes;
  Instant inserted_at;
  std::optional<Instant> last_used_at;
};

struct TrustOrder {
  std::string name;  // may be empty: the issuer's name
  std::string issuer;
  std::string audience;
  ClaimTexts claims;
  bool allow_wildcards = false;
  std::vector<std::string> deployments;  // of the app, which the caller has checked
  std::vector<std::string> scopes;       // names
};
struct NewTrust {
  Trust trust;
  std::vector<std::string> warnings;  // sentences about what the trust allows
};
// Creates a trust. One in containers_issuer has no claims, since berth itself knows which
// deployment a container is of. Throws validation_failed if the issuer isn't listed; if no claim
// names a project or an owner by an id that never changes hands (names do: whoever registers a name
// that was given up, or renamed, would be trusted); for a * without allow_wildcards; or for a scope
// that the app isn't approved for, or that moves points. Throws invalid_state if the app has
// max_trusts.
NewTrust create_trust(db::Tx& tx, const apps::App& app, const TrustOrder& order);
// Returns the app's trusts, oldest first.
std::vector<Trust> trusts(db::Tx& tx, const std::string& app_id);
// Removes a trust and ends its tokens at once. Throws trust_not_found.
void remove_trust(db::Tx& tx, const std::string& app_id, const std::string& id);
// For apps that are deleted.
void remove_trusts_of(db::Tx& tx, const std::string& app_id);

// Whether the claims of an ID token have the texts that the trust asks for: each claim that it
// names is there, as a text, an integer or a boolean, and is one of the texts.
bool has_claims(const Trust& trust, const nlohmann::json& claims);

// An exchange has three steps, because the issuer's keys may have to be fetched while no
// transaction is open: read what the token says (1), get the key (IssuerKeys) and check the token
// by it (2), and give the access token (3). They throw the errors of RFC 8693, section 2.2.2:
// invalid_target for an app that doesn't exist; invalid_request for an ID token that can't be
// accepted, with an entry for the security log; unauthorized_client for an app that is suspended.

// (1) An ID token of an issuer that the app trusts for something. Its signature hasn't been
// checked.
struct ShownToken {
  std::string client_id;  // of the app
  Issuer issuer;
  jwk::Token token;
};
ShownToken read_id_token(db::Tx& tx, const std::string& client_id, std::string_view text);

// (2) Checks signature and times at `now`. `key` is the issuer's with the token's key_id, if there
// is one.
struct VerifiedToken {
  std::string client_id;
  std::string issuer;
  IssuerKind kind = IssuerKind::other;
  nlohmann::json claims;
  std::string id;       // the claim `jti`
  Instant accepted_to;  // it is refused from then on, and its id can be forgotten
};
VerifiedToken verify_id_token(const ShownToken& shown, const std::optional<jwk::Key>& key,
                              Instant now);

// Returns the app if one of its trusts accepts the ID token, which wasn't exchanged yet. Then the
// request is the app's, and counts for it.
apps::App require_trust(db::Tx& tx, const VerifiedToken& token);

// (3) Gives an access token of trusted_token_lifetime by the oldest of the app's trusts that
// accepts the ID token and has the scopes in `scope`, or any scope if that is empty. It acts as the
// app's owner, as with client_credentials(). An ID token works once. The audit log gets an entry
// with the issuer and what the token says of its job. Also throws invalid_scope, and rate_limited
// if the trust has max_living_tokens.
Tokens exchange_id_token(db::Tx& tx, const VerifiedToken& token,
                         const std::optional<std::string>& scope);

// A container whose cluster has said that it is one of the deployment.
struct Container {
  std::string app_id;
  std::string deployment_id;
};
// Throws the errors that exchange_container_token() would throw for a container without a trust,
// before its cluster is asked.
void require_container_trust(db::Tx& tx, const Container& container);
// Gives an access token as exchange_id_token() does, by the oldest trust in containers_issuer that
// is for the deployment. The token is for that deployment alone, and the same token of the
// container may be shown again, because it is a file that several processes read. The caller has to
// have checked that the deployment has an identity and isn't stopped; when either changes, a
// trigger of deployments (container_tokens_end) ends the tokens.
Tokens exchange_container_token(db::Tx& tx, const Container& container,
                                const std::optional<std::string>& scope);

// The parts of expiry.h for the ids of ID tokens that nobody can show any more.
bool is_any_used_id_old(db::Tx& tx);
int remove_used_ids(db::Tx& tx, int limit);

}  // namespace berth::oauth
