#include "api/resources/accounts/sign_in.h"

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api {
namespace {

using Secret = LoginThrottle::Secret;

// One attempt at a secret. It counts as a failure unless succeeded() or was_no_failure() is called.
class Try {
 public:
  // `user_id`: whose secret it is, empty where nobody has the address; for the security log.
  Try(LoginThrottle::Attempt attempt, Secret secret, const std::string& user_id,
      const Services& services)
      : attempt_(std::move(attempt)), secret_(secret), services_(services) {
    if (!services_.rate_limits) return;
    const auto wait =
        services_.logins.throttle.begin(attempt_, secret_, std::chrono::steady_clock::now());
    if (!wait) return;
    Error refusal(Code::rate_limited, "too many failed attempts; try again later");
    refusal.retry_after = *wait;
    throw with_event(refusal, {.kind = SecurityKind::login_throttled,
                               .reason = secret == Secret::code ? "code" : "password",
                               .user_id = user_id});
  }
  void was_no_failure() {
    if (services_.rate_limits) services_.logins.throttle.undo(attempt_, secret_);
  }
  void succeeded() {
    if (services_.rate_limits) services_.logins.throttle.succeeded(attempt_, secret_);
  }

 private:
  LoginThrottle::Attempt attempt_;
  Secret secret_;
  const Services& services_;
};

Error wrong_credentials(const std::string& user_id) {
  return with_event(Error(Code::invalid_credentials, "the address or the password is wrong"),
                    {.kind = SecurityKind::login_failed,
                     .reason = user_id.empty() ? "unknown_account" : "wrong_password",
                     .user_id = user_id});
}

Error wrong_code(const std::string& user_id) {
  return with_event(
      Error(Code::invalid_totp, "the code is wrong or was used before"),
      {.kind = SecurityKind::second_factor_failed, .reason = "wrong_code", .user_id = user_id});
}

// Takes as long for an address without an account, whose hash is empty, as for a wrong password, so
// that the time doesn't tell which addresses have accounts.
bool matches(const std::string& password, const std::string& stored, const Services& services) {
  return stored.empty() ? services.logins.passwords.matches_nobody(password)
                        : services.logins.passwords.matches(password, stored);
}

// Compares the password with `stored`. If the hasher is too busy, the attempt doesn't count as a
// failed login.
bool fits(Try& one_try, const std::string& password, const std::string& stored,
          const Services& services) {
  try {
    return matches(accounts::composed_password(password), stored, services);
  } catch (const Error&) {
    one_try.was_no_failure();
    throw;
  }
}

// Opens a session for whoever has proven who they are.
template <typename Attempt>
SignedIn open_session(db::Tx& tx, const std::string& user_id, const Attempt& attempt,
                      const Services& services) {
  const std::string& address = attempt.address;
  auto session = accounts::open_session(tx, user_id, address, attempt.user_agent,
                                        services.logins.session_lifetime, attempt.idle_timeout);
  const std::string network = accounts::network_of(address);
  const bool is_new_network = !accounts::knows_network(tx, user_id, network);
  accounts::remember_network(tx, user_id, network);
  ClaimantOfThread::set_account(user_id);
  // By its id, the entry of the login is found together with what was done in the session.
  if (Requester* const requester = tx.requester()) requester->token_id = session.id;
  audit::record_operation(tx, "user", user_id);
  return {.session = std::move(session),
          .user = *accounts::find(tx, user_id),
          .is_new_network = is_new_network};
}

// The session of a SignIn or a CodeSignIn. A password that was changed since it was verified opens
// none: whoever had the old one must not get in beside the change.
template <typename Attempt>
SignedIn open(db::Tx& tx, const std::string& user_id, const std::string& verified_hash,
              const Attempt& attempt, const Services& services) {
  if (accounts::password_hash_of(tx, user_id) != verified_hash) throw wrong_credentials(user_id);
  return open_session(tx, user_id, attempt, services);
}

LoginThrottle::Attempt attempt_on(db::Tx& tx, const accounts::User& user,
                                  const std::string& address) {
  const std::string network = accounts::network_of(address);
  return {.account = accounts::email_key(user.email),
          .network = network,
          .known_network = accounts::knows_network(tx, user.id, network)};
}

Error refused_passkey(const passkeys::Refusal& refusal, SecurityKind kind) {
  return with_event(Error(Code::invalid_credentials, std::string(refusal.why)),
                    {.kind = kind, .reason = refusal.reason, .user_id = refusal.user_id});
}

// Checks the answer in a snapshot, so that a wrong one never waits for those who write. `user_id`
// is that of passkeys::verify().
passkeys::Verified verified_passkey(const passkeys::Answer& answer, const std::string& user_id,
                                    SecurityKind if_refused, const Services& services) {
  const auto party = require_relying_party(services);
  auto verified = services.db.read(
      [&](db::Tx& tx) { return passkeys::verify(tx, party, answer, user_id, services.keys); });
  if (!verified) throw refused_passkey(verified.error(), if_refused);
  return *std::move(verified);
}

}  // namespace

webauthn::RelyingParty require_relying_party(const Services& services) {
  auto party = webauthn::relying_party(services.base_url);
  if (!party)
    throw Error(Code::invalid_state,
                "passkeys need an https address with a host name, or http on localhost");
  return *std::move(party);
}

SignedIn sign_in_by_passkey(const PasskeySignIn& attempt, const Services& services) {
  // Nobody has typed a name, so the passkey stands for the account: its failures are counted.
  const std::string& credential = attempt.answer.credential_id;
  Try one_try({.account = "passkey:" + hex(sha256(credential)),
               .network = accounts::network_of(attempt.address)},
              Secret::password, "", services);
  const auto verified = verified_passkey(attempt.answer, "", SecurityKind::login_failed, services);
  const std::string& user_id = verified.passkey.user_id;
  SignedIn result = services.db.write([&](db::Tx& tx) {
    if (const auto used = passkeys::use(tx, verified); !used)
      throw refused_passkey(used.error(), SecurityKind::login_failed);
    auto signed_in = open_session(tx, user_id, attempt, services);
    accounts::note_second_factor(tx, signed_in.session.id);
    signed_in.by_passkey = true;
    return signed_in;
  });
  one_try.succeeded();
  return result;
}

SignedIn sign_in_by_code(const CodeSignIn& attempt, const Services& services) {
  const LoginThrottle::Attempt counted = services.db.read([&](db::Tx& tx) {
    const auto user = accounts::find(tx, attempt.user_id);
    if (!user) throw wrong_credentials(attempt.user_id);
    return attempt_on(tx, *user, attempt.address);
  });
  Try one_try(counted, Secret::code, attempt.user_id, services);
  SignedIn result = services.db.write([&](db::Tx& tx) {
    // The session is opened first, so that a code is used up only if that succeeds.
    auto signed_in = open(tx, attempt.user_id, attempt.password_hash, attempt, services);
    if (!signed_in.user.totp_enabled) return signed_in;
    if (!two_factor::take_code(tx, attempt.user_id, attempt.code, services.keys))
      throw wrong_code(attempt.user_id);
    accounts::note_second_factor(tx, signed_in.session.id);
    return signed_in;
  });
  one_try.succeeded();
  return result;
}

SignedIn sign_in(const SignIn& attempt, const Services& services) {
  // No account has an address of this length, which is no secret, so the attempt is neither counted
  // nor looked up.
  if (attempt.email.size() > accounts::max_email_length) throw wrong_credentials("");
  struct Found {
    std::optional<accounts::Credentials> credentials;
    LoginThrottle::Attempt counted;
  };
  const Found found = services.db.read([&](db::Tx& tx) {
    Found result = {.credentials = accounts::credentials(tx, attempt.email),
                    .counted = {.account = accounts::email_key(attempt.email),
                                .network = accounts::network_of(attempt.address)}};
    const std::string user_id = result.credentials ? result.credentials->user_id : "";
    result.counted.known_network = accounts::knows_network(tx, user_id, result.counted.network);
    return result;
  });
  const std::string user_id = found.credentials ? found.credentials->user_id : "";
  const std::string hash = found.credentials ? found.credentials->password_hash : "";
  Try one_try(found.counted, Secret::password, user_id, services);
  if (!fits(one_try, attempt.password, hash, services)) throw wrong_credentials(user_id);
  const auto user = services.db.read([&](db::Tx& tx) { return accounts::find(tx, user_id); });
  if (!user) throw wrong_credentials(user_id);
  if (!user->totp_enabled) {
    SignedIn result = services.db.write([&](db::Tx& tx) {
      auto signed_in = open(tx, user_id, hash, attempt, services);
      if (signed_in.user.totp_enabled)  // it was enabled after `user` was read
        throw Error(Code::totp_required, "the account requires a totp_code");
      return signed_in;
    });
    one_try.succeeded();
    return result;
  }
  one_try.was_no_failure();
  if (user->suspended) throw Error(Code::account_suspended, "the account is suspended");
  if (!attempt.totp_code || attempt.totp_code->empty())
    throw Error(Code::totp_required, "the account requires a totp_code");
  return sign_in_by_code({.user_id = user_id,
                          .password_hash = hash,
                          .code = *attempt.totp_code,
                          .address = attempt.address,
                          .user_agent = attempt.user_agent,
                          .idle_timeout = attempt.idle_timeout},
                         services);
}

std::string confirm_password(const accounts::User& user, const std::string& password,
                             const std::string& address, const Services& services) {
  struct Found {
    std::string hash;
    LoginThrottle::Attempt counted;
  };
  const Found found = services.db.read([&](db::Tx& tx) {
    return Found{.hash = accounts::password_hash_of(tx, user.id),
                 .counted = attempt_on(tx, user, address)};
  });
  Try one_try(found.counted, Secret::password, user.id, services);
  if (!fits(one_try, password, found.hash, services))
    throw with_event(
        Error(Code::invalid_credentials, "the password is wrong"),
        {.kind = SecurityKind::login_failed, .reason = "wrong_password", .user_id = user.id});
  one_try.was_no_failure();
  return found.hash;
}

namespace {

void confirm_code(const accounts::User& user, const std::string& code, const std::string& address,
                  const Services& services) {
  const auto counted = services.db.read([&](db::Tx& tx) { return attempt_on(tx, user, address); });
  Try one_try(counted, Secret::code, user.id, services);
  const bool right = services.db.write([&](db::Tx& tx) {
    const auto current = accounts::find(tx, user.id);
    return current && current->totp_enabled &&
           two_factor::take_code(tx, user.id, code, services.keys);
  });
  if (!right) throw wrong_code(user.id);
  one_try.was_no_failure();
}

void confirm_passkey(const accounts::User& user, const passkeys::Answer& answer,
                     const std::string& address, const Services& services) {
  const auto counted = services.db.read([&](db::Tx& tx) { return attempt_on(tx, user, address); });
  Try one_try(counted, Secret::code, user.id, services);
  const auto verified =
      verified_passkey(answer, user.id, SecurityKind::second_factor_failed, services);
  services.db.write([&](db::Tx& tx) {
    if (const auto used = passkeys::use(tx, verified); !used)
      throw refused_passkey(used.error(), SecurityKind::second_factor_failed);
  });
  one_try.was_no_failure();
}

}  // namespace

void require_proof(const accounts::User& user, const std::string& session_id, const Proof& proof,
                   const Services& services) {
  if (proof.password) confirm_password(user, *proof.password, proof.address, services);
  if (proof.totp_code) confirm_code(user, *proof.totp_code, proof.address, services);
  if (proof.passkey) confirm_passkey(user, *proof.passkey, proof.address, services);
  const bool has_second_factor = proof.totp_code || proof.passkey;
  if (proof.password || has_second_factor)
    services.db.write([&](db::Tx& tx) {
      accounts::note_proof(tx, session_id);
      if (has_second_factor) accounts::note_second_factor(tx, session_id);
    });
  else if (!services.db.read([&](db::Tx& tx) { return accounts::has_fresh_proof(tx, session_id); }))
    throw Error(Code::insufficient_user_authentication,
                "the password or second factor was last entered more than 10 minutes ago; the "
                "password is required again");
}

void require_factor_proof(const accounts::User& user, const std::string& session_id,
                          const Proof& proof, const Services& services) {
  require_proof(user, session_id, proof, services);
  const bool is_proven = services.db.read([&](db::Tx& tx) {
    const auto current = accounts::find(tx, user.id);
    return !current || !current->has_second_factor() ||
           accounts::has_proven_second_factor(tx, session_id, accounts::proof_fresh_for);
  });
  if (!is_proven)
    throw Error(Code::insufficient_user_authentication,
                "the second factor was last proven more than 10 minutes ago; it is required again");
}

void disable_totp(const accounts::User& user, const SecondFactorOff& wanted,
                  const Services& services) {
  confirm_password(user, wanted.password, wanted.address, services);
  const auto counted =
      services.db.read([&](db::Tx& tx) { return attempt_on(tx, user, wanted.address); });
  Try one_try(counted, Secret::code, user.id, services);
  try {
    services.db.write([&](db::Tx& tx) {
      two_factor::disable(tx, user, wanted.code, services.keys, services.base_url);
      audit::record_operation(tx, "user", user.id);
    });
  } catch (const Error& error) {
    if (error.code == Code::invalid_totp) throw wrong_code(user.id);
    one_try.was_no_failure();
    throw;
  }
  one_try.was_no_failure();
}

}  // namespace berth::api
