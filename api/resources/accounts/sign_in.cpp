#include "api/resources/accounts/sign_in.h"

#include "controller/base/error.h"
#include "controller/base/shares.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/accounts/two_factor.h"
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

// The session of a SignIn or a CodeSignIn. A password that was changed since it was verified opens
// none: whoever had the old one must not get in beside the change.
template <typename Attempt>
SignedIn open(db::Tx& tx, const std::string& user_id, const std::string& verified_hash,
              const Attempt& attempt, const Services& services) {
  if (accounts::password_hash_of(tx, user_id) != verified_hash) throw wrong_credentials(user_id);
  const std::string& address = attempt.address;
  auto session = accounts::open_session(tx, user_id, address, attempt.user_agent,
                                        services.logins.session_lifetime, attempt.idle_timeout);
  const std::string network = accounts::network_of(address);
  const bool is_new_network = !accounts::knows_network(tx, user_id, network);
  accounts::remember_network(tx, user_id, network);
  ClaimantOfThread::set_account(user_id);
  return {.session = std::move(session),
          .user = *accounts::find(tx, user_id),
          .is_new_network = is_new_network};
}

LoginThrottle::Attempt attempt_on(db::Tx& tx, const accounts::User& user,
                                  const std::string& address) {
  const std::string network = accounts::network_of(address);
  return {.account = accounts::email_key(user.email),
          .network = network,
          .known_network = accounts::knows_network(tx, user.id, network)};
}

}  // namespace

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

}  // namespace

void require_proof(const accounts::User& user, const std::string& session_id, const Proof& proof,
                   const Services& services) {
  if (proof.password) confirm_password(user, *proof.password, proof.address, services);
  if (proof.totp_code) confirm_code(user, *proof.totp_code, proof.address, services);
  if (proof.password || proof.totp_code)
    services.db.write([&](db::Tx& tx) {
      accounts::note_proof(tx, session_id);
      if (proof.totp_code) accounts::note_second_factor(tx, session_id);
    });
  else if (!services.db.read([&](db::Tx& tx) { return accounts::has_fresh_proof(tx, session_id); }))
    throw Error(Code::insufficient_user_authentication,
                "the password or second factor was last entered more than 10 minutes ago; the "
                "password is required again");
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
    });
  } catch (const Error& error) {
    if (error.code == Code::invalid_totp) throw wrong_code(user.id);
    one_try.was_no_failure();
    throw;
  }
  one_try.was_no_failure();
}

}  // namespace berth::api
