// Who administers the platform, and the internal secrets that admins make for machines.
#include "cli/commands/commands.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

constexpr const char* secrets_path = "/api/internal/secrets";

struct SecretFlags {
  std::string name;
  std::string role;
  int days = 0;
  std::string id;
  bool yes = false;
};
using SharedSecretFlags = std::shared_ptr<SecretFlags>;

const std::vector<Column> admin_columns = {{"NAME", "username"},
                                           {"ROLE", "role"},
                                           {"2ND FACTOR", "totp_enabled"},
                                           {"SUSPENDED", "suspended"},
                                           {"ID", "id"}};
const std::vector<Column> secret_columns = {{"NAME", "name"},
                                            {"ROLE", "role"},
                                            {"LAST USE", "last_used_at"},
                                            {"EXPIRES", "expires_at"},
                                            {"MADE BY", "made_by"},
                                            {"SINCE", "inserted_at"},
                                            {"ID", "id"}};

void make(Run& run, const SecretFlags& flags) {
  json body = {{"name", flags.name}};
  if (!flags.role.empty()) body["role"] = flags.role;
  if (flags.days > 0) body["expires_in_days"] = flags.days;
  const json answer = run.api().post(secrets_path, body, As::admin);
  run.out().done(answer, "The secret " + cell(answer, "internal_secret.name") + " with the role " +
                             cell(answer, "internal_secret.role") +
                             " works from now on. It can't be shown again:\n" +
                             cell(answer, "secret"));
}

void revoke(Run& run, const SecretFlags& flags) {
  if (!is_uuid(flags.id))
    throw Failure(Exit::usage, flags.id + " isn't the id of an internal secret",
                  "`berth admin secrets list` shows the ids.");
  confirm("Revoke the internal secret " + flags.id + "? It stops working at once", flags.yes);
  const json answer = run.api().call(
      {.method = "DELETE", .path = std::string(secrets_path) + "/" + flags.id, .as = As::admin});
  run.out().done(answer,
                 "The secret " + cell(answer, "internal_secret.name") + " opens nothing any more.");
}

}  // namespace

void add_admin_secret_commands(CLI::App& admin, Run& run) {
  add_command(admin, "admins", "List the admins and their roles", "berth admin admins", [&run] {
    const json body = run.api().get("/api/internal/admins", As::admin);
    run.out().list(body, body.at("admins"), admin_columns);
  });
  CLI::App* group = add_group(admin, "secrets", "Internal secrets with names, for machines");
  add_command(*group, "list", "List the internal secrets that admins have made",
              "berth admin secrets list", [&run] {
                const json body = run.api().get(secrets_path, As::admin);
                run.out().list(body, body.at("secrets"), secret_columns);
              });
  const SharedSecretFlags made = std::make_shared<SecretFlags>();
  CLI::App* making = add_command(*group, "make", "Make an internal secret, and print it once",
                                 "berth admin secrets make billing-job --role finance --days 90",
                                 [&run, made] { make(run, *made); });
  making->add_option("NAME", made->name, "Name, by which the audit log knows who acts")->required();
  making->add_option("--role", made->role, "What it may do: admin, support or finance")
      ->check(CLI::IsMember({"admin", "support", "finance"}));
  constexpr int most_days = 3650;
  making->add_option("--days", made->days, "After how many days it expires; by default never")
      ->check(CLI::Range(1, most_days));
  const SharedSecretFlags ended = std::make_shared<SecretFlags>();
  CLI::App* end = add_command(*group, "revoke", "Revoke an internal secret",
                              "berth admin secrets revoke 01936f5e-7c1a-7000-8000-000000000018",
                              [&run, ended] { revoke(run, *ended); });
  end->add_option("ID", ended->id, "Id of the secret")->required();
  end->add_flag("--yes,-y", ended->yes, "Don't ask");
}

}  // namespace berth::cli
