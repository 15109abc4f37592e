#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// The servers whose ID tokens apps may trust (trusts.h), such as those of GitHub Actions and GitLab
// CI. There are none until an admin lists them.
namespace berth::oauth {

// What kind of server it is: which of its claims name a project for good.
enum class IssuerKind { github, gitlab, other };
constexpr auto texts_of(IssuerKind) {
  return EnumTexts<IssuerKind::other>{"github", "gitlab", "other"};
}

inline constexpr int max_issuers = 50;
inline constexpr std::size_t max_issuer_length = 512;

struct Issuer {
  std::string id;
  std::string issuer;  // the claim `iss` of its tokens: a URL
  std::string name;
  IssuerKind kind = IssuerKind::other;
  // Where its keys are; if it is empty, its discovery document says it (OpenID Connect Discovery
  // 1.0, section 4).
  std::optional<std::string> jwks_uri;
  Instant inserted_at;
};

// Whether http:// is allowed, too, on this machine: in development.
enum class IssuerSchemes { only_https, loopback_too };
// Returns why documents of an issuer can't be got from `url`, as the end of a sentence that begins
// with the field's name; nothing if they can. The addresses that its host resolves to are checked
// when a connection is made.
std::optional<std::string> refuse_issuer_url(const std::string& url, IssuerSchemes schemes);

struct IssuerOrder {
  std::string issuer;
  std::string name;
  IssuerKind kind = IssuerKind::other;
  std::optional<std::string> jwks_uri = {};
};
// Lists an issuer, and records in the audit log that `actor` did. Throws validation_failed, also if
// the issuer is listed already; throws invalid_state if there are max_issuers.
Issuer add_issuer(db::Tx& tx, const IssuerOrder& order, IssuerSchemes schemes,
                  const std::string& actor);
// Returns all issuers, oldest first.
std::vector<Issuer> issuers(db::Tx& tx);
// Returns the issuer of tokens with this `iss`, compared exactly; nothing if it isn't listed.
std::optional<Issuer> find_issuer(db::Tx& tx, const std::string& issuer);
// Removes an issuer. Its trusts stay and give no tokens; those that they gave end at once. Throws
// issuer_not_found.
void remove_issuer(db::Tx& tx, const std::string& id, const std::string& actor);

}  // namespace berth::oauth
