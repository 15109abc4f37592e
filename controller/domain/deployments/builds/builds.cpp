#include "controller/domain/deployments/builds/builds.h"

#include <algorithm>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/db/enum_column.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/builds/build_rows.h"
#include "controller/domain/deployments/rules.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::builds {
namespace {

constexpr std::string_view digest_mark = "@sha256:";
constexpr std::size_t digest_digits = 64;

// What the deployment with a name that isn't destroyed says about it.
struct Holder {
  std::string app_id;
  std::string tier_slug;
};
std::optional<Holder> holder_of(db::Tx& tx, const std::string& name) {
  auto rows = tx.query(R"(
      SELECT d.app_id, t.slug
      FROM deployments d
      JOIN deploy_tiers t ON t.id = d.tier_id
      WHERE d.name = $1 AND d.status <> 'destroyed')",
                       name);
  if (!rows.next()) return std::nullopt;
  return Holder{.app_id = rows.text("app_id"), .tier_slug = rows.text("slug")};
}

// The tier by which the build is priced.
tiers::Tier tier_of(db::Tx& tx, const apps::App& app, const Order& order) {
  const auto holder = holder_of(tx, order.name);
  if (holder && holder->app_id != app.id)
    throw Error(Code::subdomain_taken, "another deployment has the name " + order.name);
  tiers::Tier tier = deployments::payable_tier(tx, holder ? holder->tier_slug : order.tier);
  if (!holder) deployments::check_tier_allowed(app, tier);
  return tier;
}

std::string in_megabytes(std::int64_t bytes) {
  constexpr std::int64_t megabyte = 1'000'000;
  return std::to_string((bytes + megabyte - 1) / megabyte) + " MB";
}

void check_room(db::Tx& tx, const std::string& owner_id, const Limits& limits) {
  const auto open = tx.number(R"(
      SELECT count(*)
      FROM builds
      WHERE owner_id = $1 AND status IN ('queued', 'building'))",
                              owner_id);
  if (open >= max_open_of_account)
    throw Error(
        Code::build_limit_reached,
        "the account has " + std::to_string(open) +
            " builds that are waiting or running, which is the limit; wait for one, or cancel it");
  const auto bytes = tx.number(R"(
      SELECT CAST(coalesce(sum(image_bytes), 0) AS BIGINT) AS bytes
      FROM builds
      WHERE owner_id = $1 AND status = 'succeeded' AND image_removed_at IS NULL)",
                               owner_id);
  if (bytes >= limits.storage_bytes)
    throw Error(Code::build_limit_reached,
                "the images of the account's builds have " + in_megabytes(bytes) + " of " +
                    in_megabytes(limits.storage_bytes) +
                    "; those of a deployment that is deleted are removed within an hour");
}

std::int64_t minutes_of(Duration time) {
  constexpr Duration minute = std::chrono::minutes(1);
  return std::max<std::int64_t>((time + minute - Duration(1)) / minute, 1);
}

void check_balance(db::Tx& tx, const std::string& app_id, const tiers::Tier& tier,
                   const Limits& limits) {
  if (tier.build_points_per_minute == 0) return;
  const std::int64_t most = tier.build_points_per_minute * minutes_of(limits.time);
  const ledger::Account payer = ledger::app_account(app_id);
  if (ledger::spendable(tx, payer) < most)
    throw Error(Code::insufficient_balance,
                "a build may cost up to " + std::to_string(most) + " points (" +
                    std::to_string(tier.build_points_per_minute) + " a minute), and the app has " +
                    std::to_string(ledger::balance(tx, payer)) + ledger::words_for_held(tx, payer));
}

// Old builds of a name go when there are many, so that their number is bounded.
void remove_beyond(db::Tx& tx, const std::string& app_id, const std::string& name) {
  tx.execute(R"(
      DELETE FROM builds
      WHERE app_id = $1
        AND name = $2
        AND ended_at IS NOT NULL
        AND (image IS NULL OR image_removed_at IS NOT NULL)
        AND id <= (SELECT id
                   FROM builds
                   WHERE app_id = $1 AND name = $2
                   ORDER BY id DESC
                   LIMIT 1 OFFSET $3))",
             app_id, name, kept_builds);
}

// Takes the points for the time that the build took. Returns nothing if it costs nothing.
void charge(db::Tx& tx, const Build& build, const Limits& limits) {
  const Duration took = std::clamp<Duration>(tx.now() - build.started_at.value_or(tx.now()),
                                             Duration(0), limits.time);
  const std::int64_t minutes = minutes_of(took);
  const ledger::Account payer = ledger::app_account(build.app_id);
  // The balance was enough when the build was asked for. What was spent since is the platform's
  // loss, which one build at a time keeps small.
  const std::int64_t amount = std::min(minutes * build.price, ledger::spendable(tx, payer));
  if (amount <= 0) return;
  ledger::open_account(tx, ledger::treasury());
  const auto transaction =
      ledger::post(tx, {.kind = "build",
                        .from = payer,
                        .to = ledger::treasury(),
                        .amount = amount,
                        .memo = "build of " + build.name + ", " + std::to_string(minutes) +
                                (minutes == 1 ? " minute" : " minutes")});
  if (!transaction) return;
  tx.execute(R"(
      INSERT INTO build_charges (build_id, app_id, minutes, amount, transaction_id, at)
      VALUES ($1, $2, $3, $4, $5, $6))",
             build.id, build.app_id, minutes, amount, *transaction, tx.now());
}

}  // namespace

std::string repository(const std::string& app_id, const std::string& name) {
  return std::string(image_host) + "/" + app_id + "/" + name;
}

bool is_built(std::string_view image) {
  return image.starts_with(image_host) && image.substr(image_host.size()).starts_with('/');
}

Build create(db::Tx& tx, const deployments::Actor& actor, const Order& order,
             const Limits& limits) {
  tx.require_serializable();
  if (order.name.size() > deployments::max_name_length || !is_host_label(order.name))
    throw invalid_field("name",
                        "must have 1 to 32 lower-case letters, digits and hyphens, with a letter "
                        "or digit at both ends");
  const auto app = apps::find(tx, actor.app_id);
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  const tiers::Tier tier = tier_of(tx, *app, order);
  check_room(tx, app->owner_id, limits);
  check_balance(tx, app->id, tier, limits);
  tx.execute(R"(
      INSERT INTO builds
        (id, app_id, owner_id, name, tier_id, initiated_by, status, source_bytes, price,
         inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6, 'queued', $7, $8, $9))",
             order.id, app->id, app->owner_id, order.name, tier.id, actor.user_id,
             order.source_bytes, tier.build_points_per_minute, tx.now());
  remove_beyond(tx, app->id, order.name);
  tx.notify(db::Topic::build, order.id);
  return *find(tx, order.id);
}

Build get_owned(db::Tx& tx, const std::string& app_id, const std::string& id) {
  auto build = find(tx, id);
  if (!build) throw Error(Code::build_not_found, "there is no such build");
  if (build->app_id != app_id) throw apps::foreign(tx, "the build", build->app_id, app_id);
  return std::move(*build);
}

Build cancel(db::Tx& tx, const deployments::Actor& actor, const std::string& id) {
  const Build build = get_owned(tx, actor.app_id, id);
  if (build.status == Status::queued)
    tx.execute(R"(
        UPDATE builds
        SET status = 'cancelled', ended_at = $2
        WHERE id = $1 AND status = 'queued')",
               id, tx.now());
  else if (build.status == Status::building)
    tx.execute(R"(
        UPDATE builds
        SET cancel_asked_at = $2
        WHERE id = $1 AND status = 'building' AND cancel_asked_at IS NULL)",
               id, tx.now());
  else
    return build;
  tx.notify(db::Topic::build, id);
  return *find(tx, id);
}

void check_image(db::Tx& tx, const std::string& app_id, const std::string& image) {
  if (!is_built(image)) return;
  const auto refuse = [](const std::string& why) {
    throw Error(Code::unsupported_registry, why, {{"image", {why}}});
  };
  if (!image.starts_with(repository(app_id, "")))
    refuse("an image of localhost belongs to the app that built it, and this one isn't yours");
  auto rows = tx.query(R"(SELECT image_removed_at FROM builds WHERE image = $1 AND app_id = $2)",
                       image, app_id);
  if (!rows.next())
    refuse("no build of this app has made this image; `berth builds list` shows those that did");
  if (!rows.null("image_removed_at"))
    refuse("this image was removed, because no deployment has needed it; build it again");
}

bool start(db::Tx& tx, const std::string& id) {
  const bool starts = tx.execute(R"(
      UPDATE builds
      SET status = 'building', started_at = $2
      WHERE id = $1 AND status = 'queued')",
                                 id, tx.now()) > 0;
  if (starts) tx.notify(db::Topic::build, id);
  return starts;
}

bool finish(db::Tx& tx, const std::string& id, const Outcome& outcome, const Limits& limits) {
  tx.require_serializable();
  const bool has_image = outcome.status == Status::succeeded;
  const int ended = tx.execute(
      R"(
      UPDATE builds
      SET status = $2, reason = $3, message = $4, image = $5, image_bytes = $6, log_bytes = $7,
          ended_at = $8
      WHERE id = $1 AND status = 'building')",
      id, to_string(outcome.status), to_string(outcome.reason),
      outcome.message.empty() ? std::nullopt
                              : std::optional(cut(outcome.message, max_message_length)),
      has_image ? std::optional(outcome.image) : std::nullopt, has_image ? outcome.image_bytes : 0,
      outcome.log_bytes, tx.now());
  if (ended == 0) return false;
  if (!outcome.reason || !is_own_fault(*outcome.reason)) charge(tx, *find(tx, id), limits);
  tx.notify(db::Topic::build, id);
  return true;
}

bool give_up_image(db::Tx& tx, const std::string& id) {
  tx.require_serializable();
  if (!is_unneeded(tx, id)) return false;
  return tx.execute(R"(
      UPDATE builds
      SET image_removed_at = $2
      WHERE id = $1 AND image IS NOT NULL AND image_removed_at IS NULL)",
                    id, tx.now()) > 0;
}

}  // namespace berth::builds
