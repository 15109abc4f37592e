#include "controller/domain/deployments/pushes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/image_reference.h"
#include "controller/base/text.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/revisions.h"
#include "controller/domain/deployments/rollback.h"
#include "controller/domain/deployments/rules.h"
#include "controller/domain/deployments/runs/releases.h"
#include "controller/domain/kernel/outbox.h"

namespace berth::pushes {
namespace {

using deployments::Reason;
using deployments::Status;

constexpr const char* hook_prefix = "hook_";
constexpr const char* initiator = "push";  // as the id of the request that began a generation
constexpr int hours_of_day = 24;
constexpr std::string_view built_here = "localhost/";

// The image without its digest, whose tag is followed.
std::string tagged(const std::string& image) { return with_tag(image.substr(0, image.find('@'))); }

bool is_pinned(const std::string& image) { return image.find('@') != std::string::npos; }

struct Hours {
  int from = 0;
  int to = 0;
};

std::optional<Hours> hours_of(const std::string& text) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const auto from = parse_number<int>(text.substr(0, dash));
  const auto to = parse_number<int>(text.substr(dash + 1));
  const auto fits = [](const std::optional<int>& hour) {
    return hour && *hour >= 0 && *hour < hours_of_day;
  };
  if (!fits(from) || !fits(to) || *from == *to) return std::nullopt;
  return Hours{*from, *to};
}

struct Row {
  std::string image;
  std::optional<std::string> digest = {};
  std::vector<std::string> rejected = {};
  std::optional<Instant> due_at = {};
  std::optional<Instant> asked_at = {};
  int hurried = 0;
  int failures = 0;
  std::optional<std::string> error = {};
  std::optional<std::int64_t> trial_generation = {};
  std::string trial_digest = {};
  std::optional<Instant> trial_until = {};
  std::optional<Instant> mailed_at = {};
  bool has_hook = false;
};

std::optional<Row> find(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(R"(
      SELECT image, digest, rejected, due_at, asked_at, hurried, failures, error, trial_generation,
             trial_digest, trial_until, mailed_at, hook_hash
      FROM deployment_pushes
      WHERE deployment_id = $1)",
                       id);
  if (!rows.next()) return std::nullopt;
  return Row{.image = rows.text("image"),
             .digest = rows.text_or_null("digest"),
             .rejected = nlohmann::json::parse(rows.text("rejected")),
             .due_at = rows.instant_or_null("due_at"),
             .asked_at = rows.instant_or_null("asked_at"),
             .hurried = int(rows.integer("hurried")),
             .failures = int(rows.integer("failures")),
             .error = rows.text_or_null("error"),
             .trial_generation = rows.integer_or_null("trial_generation"),
             .trial_digest = rows.text_or_null("trial_digest").value_or(""),
             .trial_until = rows.instant_or_null("trial_until"),
             .mailed_at = rows.instant_or_null("mailed_at"),
             .has_hook = !rows.null("hook_hash")};
}

void store(db::Tx& tx, const std::string& id, const Row& row) {
  tx.execute(R"(
      UPDATE deployment_pushes
      SET image = $2, digest = $3, rejected = $4, due_at = $5, asked_at = $6, hurried = $7,
          failures = $8, error = $9, trial_generation = $10, trial_digest = $11, trial_until = $12,
          mailed_at = $13
      WHERE deployment_id = $1)",
             id, row.image, row.digest, nlohmann::json(row.rejected).dump(), row.due_at,
             row.asked_at, row.hurried, row.failures, row.error, row.trial_generation,
             row.trial_digest.empty() ? std::optional<std::string>() : row.trial_digest,
             row.trial_until, row.mailed_at);
}

void end_trial(Row& row) {
  row.trial_generation.reset();
  row.trial_digest.clear();
  row.trial_until.reset();
}

Duration pause_after(int failures) {
  Duration pause = asked_every;
  for (int i = 1; i < failures && pause < longest_pause; ++i) pause *= 2;
  return std::min<Duration>(pause, longest_pause);
}

bool is_rejected(const Row& row, const std::string& digest) {
  return std::ranges::find(row.rejected, digest) != row.rejected.end();
}

// Whether the deployment runs this digest by name, as it does after a rollback.
bool is_pinned_to(const Deployment& deployment, const std::string& digest) {
  return deployment.container.image.ends_with("@" + digest);
}

// Rolls the tag's present image out. A rollback has pinned the image to a digest; from now on the
// tag counts again.
void roll_out(db::Tx& tx, const Deployment& before, Row& row, const std::string& digest) {
  if (is_pinned(before.container.image)) {
    deployments::ContainerSpec container = before.container;
    container.image = row.image;
    deployments::store_container(tx, before.id, container);
  }
  deployments::begin_generation(tx, before.id,
                                {.status = deployments::status_with_new_container(before.status),
                                 .request_id = initiator,
                                 .replace = deployments::Replace::always});
  deployments::begin_revision(tx, before.id, deployments::RolloutKind::restart, std::nullopt);
  const std::int64_t generation = before.generation + 1;
  deployments::write_log(tx, before.id,
                         {.action = deployments::LogAction::deploy,
                          .status = deployments::LogStatus::started,
                          .initiated_by = {},
                          .details = nlohmann::json{
                              {"kind", "push"},
                              {"generation", generation},
                              {"image", row.image},
                              {"digest",
                               digest}}.dump()});
  row.trial_generation = generation;
  row.trial_digest = digest;
  row.trial_until = tx.now() + trial_time;
}

// Whether something is wrong with the new image itself, and not with the cluster.
bool is_images_fault(Reason reason) {
  switch (reason) {
    case Reason::image_pull_failed:
    case Reason::crash_loop:
    case Reason::port_not_listening:
    case Reason::out_of_memory:
    case Reason::image_needs_root:
    case Reason::image_too_large:
    case Reason::release_failed:
      return true;
    default:
      return false;
  }
}

bool has_failed(const Deployment& deployment) {
  if (!deployment.reason) return false;
  if (deployment.reason == Reason::rollout_failed)
    return !deployment.cause || is_images_fault(*deployment.cause);
  return (deployment.status == Status::errored || deployment.reason == Reason::release_failed) &&
         is_images_fault(*deployment.reason);
}

bool waits_for_release(db::Tx& tx, const Deployment& deployment) {
  using releases::State;
  const State state = releases::release_of(tx, deployment).state;
  return state == State::needed || state == State::under_way;
}

// Whether the release has failed, and the image isn't to blame: the release wasn't paid, its node
// was lost, or somebody cancelled it. What ran before goes on, because the rollout hasn't begun.
bool has_failed_without_fault(db::Tx& tx, const Deployment& deployment) {
  if (deployment.reason != Reason::release_failed) return false;
  const auto run = releases::release_of(tx, deployment).run;
  return run && (run->reason == runs::Reason::points_missing || run->reason == runs::Reason::lost ||
                 run->reason == runs::Reason::cancelled_by_owner);
}

// What is wrong with the new image, also while the old one serves.
std::optional<Reason> trouble_of(const Deployment& deployment) {
  return deployment.reason == Reason::rollout_failed ? deployment.cause : deployment.reason;
}

std::string why(const Deployment& deployment) {
  const auto trouble = trouble_of(deployment);
  return trouble ? std::string(to_string(*trouble)) : "it didn't run in time";
}

void mail_rollback(db::Tx& tx, const Deployment& deployment, const std::string& reason,
                   const std::string& data_key) {
  using messages::say;
  const auto owner = accounts::find(tx, deployment.owner_id);
  if (!owner || owner->email.empty()) return;
  const auto in = owner->language;
  outbox::put(
      tx, data_key,
      {.to = owner->email,
       .subject = say(in, "Your deployment {name} was rolled back", {{"name", deployment.name}}),
       .body = accounts::greeting(*owner) +
               say(in,
                   "a new image of your deployment \"{name}\" was rolled out and failed "
                   "({reason}). The deployment went back to what ran before. That image won't be "
                   "rolled out again by itself; the next one will be.",
                   {{"name", deployment.name}, {"reason", reason}}) +
               "\n"});
}

}  // namespace

bool has_tag(const std::string& image) {
  if (image.starts_with(built_here)) return false;
  const size_t at = image.find('@');
  if (at == std::string::npos) return true;  // without a tag, it is `latest`
  const std::string named = image.substr(0, at);
  const size_t slash = named.rfind('/');
  return named.find(':', slash == std::string::npos ? 0 : slash) != std::string::npos;
}

bool is_hours(const std::string& text) { return hours_of(text).has_value(); }

bool is_in_hours(const std::string& text, Instant at) {
  const auto hours = hours_of(text);
  if (!hours) return true;
  constexpr std::int64_t millis_of_hour = 3'600'000;
  const int hour = int(to_millis(at) / millis_of_hour % hours_of_day);
  return hours->from < hours->to ? hour >= hours->from && hour < hours->to
                                 : hour >= hours->from || hour < hours->to;
}

void follow(db::Tx& tx, const Deployment& deployment) {
  auto row = find(tx, deployment.id);
  if (deployment.status == Status::destroyed) {
    if (row) tx.execute(R"(DELETE FROM deployment_pushes WHERE deployment_id = $1)", deployment.id);
    return;
  }
  if (!deployment.container.auto_deploy) {
    if (!row) return;
    row->due_at.reset();
    end_trial(*row);
    store(tx, deployment.id, *row);
    return;
  }
  const std::string image = tagged(deployment.container.image);
  if (!row) {
    tx.execute(R"(INSERT INTO deployment_pushes (deployment_id, image) VALUES ($1, $2))",
               deployment.id, image);
    row = Row{.image = image};
  } else if (row->image != image) {
    *row = {.image = image, .mailed_at = row->mailed_at, .has_hook = row->has_hook};
  }
  if (!row->due_at) row->due_at = tx.now();
  store(tx, deployment.id, *row);
}

std::optional<View> view(db::Tx& tx, const std::string& deployment_id) {
  const auto row = find(tx, deployment_id);
  if (!row) return std::nullopt;
  return View{.image = row->image,
              .digest = row->digest,
              .asked_at = row->asked_at,
              .next_at = row->due_at,
              .error = row->error,
              .rejected = row->rejected,
              .trial_until = row->trial_until,
              .has_hook = row->has_hook};
}

std::string make_hook(db::Tx& tx, const Deployment& deployment) {
  if (!deployment.container.auto_deploy || deployment.status == Status::destroyed)
    throw Error(Code::invalid_state,
                "the deployment doesn't follow its image's tag; set auto_deploy first");
  std::string secret = random_token(hook_prefix);
  tx.execute(R"(UPDATE deployment_pushes SET hook_hash = $2 WHERE deployment_id = $1)",
             deployment.id, token_hash(secret));
  return secret;
}

void remove_hook(db::Tx& tx, const std::string& deployment_id) {
  // Without a hook nothing changes, and the audit log gets no entry.
  tx.execute(R"(
      UPDATE deployment_pushes
      SET hook_hash = NULL
      WHERE deployment_id = $1 AND hook_hash IS NOT NULL)",
             deployment_id);
}

bool hint(db::Tx& tx, const std::string& id, const std::string& secret) {
  // Only the hash is compared, so that the time says nothing.
  if (tx.number(R"(
      SELECT count(*) FROM deployment_pushes WHERE deployment_id = $1 AND hook_hash = $2)",
                id, token_hash(secret)) == 0)
    return false;
  auto row = find(tx, id);
  if (!row || !row->due_at) return true;  // it is paused
  const Instant soonest = row->asked_at ? *row->asked_at + hurried_every : tx.now();
  const Instant next = std::min(*row->due_at, std::max(soonest, tx.now()));
  if (next == *row->due_at && row->hurried == hurried_times) return true;
  row->due_at = next;
  row->hurried = hurried_times;
  store(tx, id, *row);
  return true;
}

std::vector<Question> due(db::Tx& tx, int most, const std::string& data_key) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT deployment_id
      FROM deployment_pushes
      WHERE due_at <= $1
      ORDER BY due_at
      LIMIT $2)",
                       tx.now(), most);
  while (rows.next()) ids.push_back(rows.text("deployment_id"));
  std::vector<Question> questions;
  for (const std::string& id : ids) {
    const auto row = find(tx, id);
    if (!row) continue;
    const auto secrets = deployments::own_secrets(tx, id, data_key);
    questions.push_back(
        {.deployment_id = id, .image = row->image, .credentials = secrets.registry_credentials});
  }
  return questions;
}

bool record(db::Tx& tx, const Question& question, const Answer& answer, const Rules& rules) {
  tx.require_serializable();
  auto row = find(tx, question.deployment_id);
  const auto deployment = deployments::find(tx, question.deployment_id);
  if (!row || !row->due_at || !deployment || row->image != question.image) return false;
  row->asked_at = tx.now();
  if (!answer.digest) {
    ++row->failures;
    row->hurried = 0;
    row->error = cut(answer.error, deployments::max_message_length);
    row->due_at = tx.now() + pause_after(row->failures);
    store(tx, question.deployment_id, *row);
    return false;
  }
  row->failures = 0;
  row->error.reset();
  row->hurried = std::max(row->hurried - 1, 0);
  row->due_at = tx.now() + (row->hurried > 0 ? hurried_every : asked_every);
  const std::string& digest = *answer.digest;
  const bool is_first = !row->digest;
  const bool runs = deployment->status == Status::running ||
                    deployment->status == Status::errored ||
                    deployment->status == Status::deploying;
  const bool differs = !is_first && *row->digest != digest;
  // What is stopped pulls the tag's image when it starts, unless a rollback has pinned another one.
  // What is pending may have pulled the earlier image already.
  const bool starts_with_it =
      deployment->status == Status::stopped && !is_pinned(deployment->container.image);
  const bool may_be_rolled_out = runs && is_in_hours(deployment->container.deploy_hours, tx.now());
  // What waits isn't known yet, so that a later look finds it.
  const bool waits = differs && !may_be_rolled_out && !starts_with_it;
  const bool is_new = differs && may_be_rolled_out;
  if (!waits) row->digest = digest;
  const bool is_allowed = std::ranges::any_of(rules.registries, [&](const std::string& prefix) {
    return row->image.starts_with(prefix + "/");
  });
  const bool rolls_out =
      is_new && is_allowed && !is_rejected(*row, digest) && !is_pinned_to(*deployment, digest);
  if (rolls_out) {
    row->hurried = 0;
    row->due_at = tx.now() + asked_every;
    roll_out(tx, *deployment, *row, digest);
  }
  store(tx, question.deployment_id, *row);
  return rolls_out;
}

std::vector<std::string> to_judge(db::Tx& tx, int most) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT p.deployment_id
      FROM deployment_pushes p
      JOIN deployments d ON d.id = p.deployment_id
      WHERE p.trial_until IS NOT NULL
        AND (p.trial_until <= $1 OR d.generation <> p.trial_generation
             OR d.status IN ('stopped', 'errored')
             OR d.reason IN ('rollout_failed', 'release_failed'))
      ORDER BY p.trial_until
      LIMIT $2)",
                       tx.now(), most);
  while (rows.next()) ids.push_back(rows.text("deployment_id"));
  return ids;
}

Verdict judge(db::Tx& tx, const std::string& id, const Rules& rules, const std::string& data_key) {
  tx.require_serializable();
  auto row = find(tx, id);
  const auto deployment = deployments::find(tx, id);
  if (!row || !row->trial_generation || !deployment) return Verdict::waits;
  const bool is_current = deployment->generation == *row->trial_generation &&
                          deployment->status != Status::stopped && !deployment->suspended_at;
  const bool is_over = tx.now() >= *row->trial_until;
  // With rollout_failed it is the old image that runs, whatever is wrong with the new one.
  const bool runs = deployment->status == Status::running &&
                    deployment->reason != Reason::rollout_failed && !has_failed(*deployment);
  if (!is_current || (is_over && runs) || has_failed_without_fault(tx, *deployment)) {
    end_trial(*row);
    store(tx, id, *row);
    return Verdict::passed;
  }
  const bool is_clusters_fault = deployment->reason == Reason::cluster_unreachable ||
                                 deployment->reason == Reason::cluster_refuses_writes;
  if (is_clusters_fault) return Verdict::waits;
  if (!has_failed(*deployment) && !is_over) return Verdict::waits;
  // A release command may take longer than the trial. It isn't cut off, and the new containers have
  // time when it has ended.
  if (!has_failed(*deployment) && waits_for_release(tx, *deployment)) {
    row->trial_until = tx.now() + trial_time;
    store(tx, id, *row);
    return Verdict::waits;
  }
  if (trouble_of(*deployment) == Reason::image_pull_failed &&
      tx.now() < *row->trial_until - trial_time + pull_tried_for)
    return Verdict::waits;
  const std::string reason = why(*deployment);
  const std::string digest = row->trial_digest;
  row->rejected.push_back(digest);
  if (row->rejected.size() > max_rejected) row->rejected.erase(row->rejected.begin());
  end_trial(*row);
  store(tx, id, *row);
  const deployments::Actor actor = {
      .user_id = deployment->owner_id, .app_id = deployment->app_id, .request_id = initiator};
  try {
    tx.nested([&] {
      deployments::rollback(tx, actor, id, std::nullopt, rules, data_key,
                            deployments::RollbackBy::berth);
      deployments::write_log(
          tx, id,
          {.action = deployments::LogAction::deploy,
           .status = deployments::LogStatus::failed,
           .initiated_by = {},
           .details =
               nlohmann::json{{"kind", "push"}, {"digest", digest}, {"reason", reason}}.dump()});
      if (row->mailed_at && tx.now() - *row->mailed_at < mailed_every) return;
      mail_rollback(tx, *deployment, reason, data_key);
      tx.execute(R"(UPDATE deployment_pushes SET mailed_at = $2 WHERE deployment_id = $1)", id,
                 tx.now());
    });
  } catch (const Error&) {
    return Verdict::passed;  // nothing ran before, or it isn't allowed any more
  }
  return Verdict::rolled_back;
}

}  // namespace berth::pushes
