#include "api/resources/accounts/new_password.h"

#include "api/resources/accounts/sign_in.h"
#include "controller/base/shares.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/guests.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::api {
namespace {

void check(const std::string& password, const std::vector<std::string>& own,
           const Services& services) {
  accounts::check_password(
      password, own,
      services.logins.password_blocklist ? accounts::Blocklist::on : accounts::Blocklist::off);
}

// Runs checks that throw validation_failed, and throws what all of them have found.
class AllChecks {
 public:
  template <typename Check>
  void run(Check&& check) {
    try {
      check();
    } catch (const Error& error) {
      if (error.code != Code::validation_failed) throw;
      if (!found_) {
        found_ = error;
        return;
      }
      Details all = found_->details;
      for (const auto& [field, reasons] : error.details) all.emplace(field, reasons);
      found_ = Error(Code::validation_failed, std::string(found_->what()) + "; " + error.what(),
                     std::move(all));
    }
  }
  bool has_found(const char* field) const { return found_ && found_->details.contains(field); }
  bool has_found_any() const { return found_.has_value(); }
  void finish() const {
    if (found_) throw Error(*found_);
  }

 private:
  std::optional<Error> found_;
};

// Throws validation_failed, which names every field that is wrong. Returns the password's hash.
std::string check_and_hash(const accounts::Registration& wanted, const std::string& password,
                           const Services& services) {
  AllChecks checks;
  checks.run([&] { accounts::check_email(wanted.email); });
  checks.run([&] { accounts::check_username(wanted.username); });
  if (!checks.has_found("username"))
    checks.run(
        [&] { accounts::check_not_reserved(wanted.username, services.rules.reserved_names); });
  checks.run([&] {
    check(password, accounts::own_words(wanted.username, wanted.email, services.base_url),
          services);
  });
  if (checks.has_found_any())
    checks.run(
        [&] { services.db.read([&](db::Tx& tx) { accounts::check_not_taken(tx, wanted); }); });
  checks.finish();
  return services.logins.passwords.hash(accounts::composed_password(password));
}

}  // namespace

accounts::User sign_up(accounts::Registration wanted, const std::string& password,
                       const Services& services) {
  wanted.password_hash = check_and_hash(wanted, password, services);
  accounts::User user = services.db.write([&](db::Tx& tx) {
    accounts::User made = accounts::register_user(tx, wanted, services.rules.signup_bonus,
                                                  services.keys, services.base_url);
    ClaimantOfThread::set_account(made.id);
    audit::record_operation(tx, "user", made.id);
    return made;
  });
  return user;
}

accounts::User upgrade_guest(const std::string& guest_id, accounts::Registration wanted,
                             const std::string& password, const Services& services) {
  wanted.password_hash = check_and_hash(wanted, password, services);
  return services.db.write([&](db::Tx& tx) {
    accounts::User user = guests::upgrade(tx, guest_id, wanted, services.rules.signup_bonus,
                                          services.keys, services.base_url, services.rules.oauth);
    audit::record_operation(tx, "user", user.id);
    return user;
  });
}

void change_password(const accounts::User& user, const PasswordChange& change,
                     const Services& services) {
  check(change.fresh, accounts::own_words(user.username, user.email, services.base_url), services);
  const std::string old_hash = confirm_password(user, change.current, change.address, services);
  const std::string new_hash =
      services.logins.passwords.hash(accounts::composed_password(change.fresh));
  services.db.write([&](db::Tx& tx) {
    accounts::change_password(tx, user,
                              {.old_hash = old_hash,
                               .new_hash = new_hash,
                               .kept_session = change.kept_session,
                               .others = change.others},
                              services.keys, services.base_url);
    audit::record_operation(tx, "user", user.id);
  });
}

void reset_password(const std::string& token, const std::string& password,
                    const Services& services) {
  // The token is checked first, so that no hash is computed without a valid one.
  const accounts::User user =
      services.db.read([&](db::Tx& tx) { return accounts::check_reset_token(tx, token); });
  ClaimantOfThread::set_account(user.id);
  check(password, accounts::own_words(user.username, user.email, services.base_url), services);
  const std::string hash = services.logins.passwords.hash(accounts::composed_password(password));
  services.db.write([&](db::Tx& tx) {
    accounts::reset_password(tx, token, hash, services.keys, services.base_url);
    audit::record_operation(tx, "user", user.id);
  });
}

}  // namespace berth::api
