#include "reconcilers/cluster/custom_domain.h"

#include <random>

#include "reconcilers/cluster/custom_domain_check.h"

namespace berth::reconcilers {
namespace {

using custom_domains::Check;
using custom_domains::Claim;
using custom_domains::State;
using deployments::Deployment;
using std::chrono::milliseconds;

// How often the certificate is read although its watch events report its progress, in case an event
// is lost.
constexpr milliseconds while_issuing{10'000};
// When a domain is checked again if its owner has used up their share of the look-ups.
constexpr milliseconds after_others{1'000};

bool is_wanted(State state) { return state == State::issuing || state == State::active; }

Check without_issuer(const std::string& message) {
  return {.outcome = custom_domains::Outcome::impossible,
          .reason = custom_domains::Reason::certificate_failed,
          .message = message,
          .addresses = {}};
}

}  // namespace

// What the database says about a deployment and its claims, read in one transaction.
struct DomainLoop::View {
  Deployment row;
  std::optional<Claim> claim;  // the claim that is in force
  std::vector<Claim> leaving;
  // The domain still belongs to another claim whose objects haven't left the cluster.
  bool is_held = false;
  Instant now;
  bool is_news = false;  // this pass changed what the row says

  milliseconds until(Instant time) const { return std::max(time - now, milliseconds(0)); }
  // Whether there is a certificate that visitors are served until it expires.
  bool is_served_until_expiry() const {
    return claim && claim->expires_at && *claim->expires_at > now;
  }
};

namespace {

// Adds up to a tenth.
milliseconds with_jitter(milliseconds wait) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return wait +
         milliseconds(std::uniform_int_distribution<std::int64_t>(0, wait.count() / 10)(random));
}

}  // namespace

DomainLoop::DomainLoop(Parts parts)
    : parts_(std::move(parts)), objects_(parts_.client, parts_.cache, parts_.settings) {}

std::optional<DomainLoop::View> DomainLoop::view_of(const std::string& deployment_id) {
  return parts_.database.read([&](db::Tx& tx) -> std::optional<View> {
    auto row = deployments::find(tx, deployment_id);
    if (!row) return std::nullopt;
    View view{.row = std::move(*row),
              .claim = custom_domains::living(tx, deployment_id),
              .leaving = custom_domains::leaving(tx, deployment_id),
              .now = tx.now()};
    view.is_held = view.claim && custom_domains::domain_is_held(tx, *view.claim);
    return view;
  });
}

// Tells what a pass is about, also if it ends early or fails.
void DomainLoop::name(Subject& subject, const View& view) {
  if (view.claim) subject = {view.claim->domain, std::string(to_string(view.claim->state))};
}

Outcome DomainLoop::reconcile(const std::string& deployment_id, Subject& subject) {
  Outcome outcome = pass(deployment_id, subject);
  if (outcome.again) outcome.again = with_jitter(*outcome.again);
  return outcome;
}

void DomainLoop::log_pass(log::Level level, const std::string& deployment_id,
                          const Subject& subject, const std::string& reason, Took took) {
  log::write(level, "domain reconciled",
             {{"deployment", deployment_id},
              {"domain", subject.domain},
              {"state", subject.state},
              {"reason", reason},
              {"duration_ms", took.count()}});
}

Outcome DomainLoop::pass(const std::string& deployment_id, Subject& subject) {
  auto view = view_of(deployment_id);
  if (!view) return {};
  name(subject, *view);
  if (!parts_.cache.synced()) return Outcome::waiting("the cluster", look_again);
  Proof proof = Proof::none;
  if (view->claim && !obstacle(*view) && has_to_look(*view)) {
    Shares::Claim place(shares_, {.account = view->claim->owner_id});
    if (place.take() != Shares::Taken::yes)
      return Outcome::waiting("the owner's other domains are looked up", after_others);
    if (!look(*view, proof)) {
      if (parts_.resolver.stopped()) return {};
      return {.again = milliseconds(0), .reason = "the claim has changed"};
    }
  }

  const KeyedMutex::Lock lock(parts_.deployments, deployment_id);
  auto latest = view_of(deployment_id);
  if (!latest) return {};
  const bool same = latest->claim.has_value() == view->claim.has_value() &&
                    (!latest->claim || (latest->claim->id == view->claim->id &&
                                        latest->claim->generation == view->claim->generation));
  if (!same) return {.again = milliseconds(0), .reason = "the claim has changed"};
  latest->is_news = view->is_news;
  Outcome outcome = act(*latest, proof);
  outcome.recorded = outcome.recorded || latest->is_news;
  name(subject, *latest);
  return outcome;
}

// Why no certificate can be ordered now, whatever the DNS says; nothing if one can be.
std::optional<std::string> DomainLoop::obstacle(const View& view) const {
  if (view.is_held) return "the domain's former objects are being deleted";
  const ObjectPtr home =
      parts_.cache.store(kube::namespaces).find("", manifests::namespace_of(view.row.app_id));
  if (!home || is_being_deleted(*home)) return "the namespace doesn't exist yet";
  return std::nullopt;
}

// A missing Certificate is only made after the DNS has been asked again, never because of an old
// answer.
bool DomainLoop::has_to_look(const View& view) const {
  if (view.claim->next_check_at <= view.now) return true;
  return is_wanted(view.claim->state) &&
         objects_.state_of(view.row, view.claim->domain).kind == CertificateState::Kind::none;
}

// Asks the DNS and records the answer. Returns false if the claim has changed in the meantime, or
// if the resolver was stopped.
bool DomainLoop::look(View& view, Proof& proof) {
  const Claim& claim = *view.claim;
  const bool can_issue = parts_.settings.cluster_issuer && parts_.cache.serves(kube::certificates);
  const Check seen =
      can_issue ? check_domain(claim, parts_.settings.apps_domain, parts_.resolver)
      : parts_.settings.cluster_issuer
          ? without_issuer("the cluster has no cert-manager, which would issue certificates")
          : without_issuer(
                "this platform has no issuer of certificates, so that it serves no custom domains");
  if (parts_.resolver.stopped()) return false;  // a stopped resolver's answers mean nothing
  auto next = parts_.database.write([&](db::Tx& tx) {
    return custom_domains::record_check(tx, claim.id, claim.generation, seen);
  });
  if (!next) return false;
  if (seen.outcome == custom_domains::Outcome::proven) proof = Proof::fresh;
  changed(view, std::move(next));
  return true;
}

Outcome DomainLoop::act(View& view, Proof proof) {
  if (!view.claim || view.is_held) return clear(view);
  const DomainObjects::Removed others = objects_.remove_all_but(view.row, view.claim->domain);
  if (const auto why = obstacle(view)) return Outcome::waiting(*why, look_again);
  if (proof == Proof::fresh && !is_wanted(view.claim->state)) begin(view);
  Outcome outcome = is_wanted(view.claim->state) ? serve(view, proof) : wait(view);
  outcome.writes += others.writes;
  if (others.left > 0) outcome.again = std::min(outcome.again.value_or(look_again), look_again);
  return outcome;
}

// Takes an order from the owner's budget if one is left; the claim then starts issuing.
void DomainLoop::begin(View& view) {
  changed(view, parts_.database.write([&](db::Tx& tx) {
    return custom_domains::begin_issuing(tx, view.claim->id, view.claim->generation);
  }));
}

// Makes sure that the Certificate exists, and records its state.
Outcome DomainLoop::serve(View& view, Proof proof) {
  using Kind = CertificateState::Kind;
  const Kind before = objects_.state_of(view.row, view.claim->domain).kind;
  if (before == Kind::leaving)
    return Outcome::waiting("the certificate is being deleted", look_again);
  if (before == Kind::none && proof != Proof::fresh)
    return Outcome::waiting("the DNS", view.until(view.claim->next_check_at));
  const Applier::Result made = objects_.make(view.row, view.claim->domain);
  const CertificateState seen = objects_.state_of(view.row, view.claim->domain);
  Outcome outcome;
  outcome.kind = made.applied > 0 ? Outcome::Kind::applied : Outcome::Kind::unchanged;
  outcome.writes = made.applied;
  take(view, seen);
  if (!is_wanted(view.claim->state)) return wait(view);  // the issuer refused the order
  outcome.again = view.until(view.claim->next_check_at);
  if (view.claim->state == State::issuing) outcome.again = std::min(*outcome.again, while_issuing);
  if (made.again) outcome.again = std::min(*outcome.again, *made.again);
  return outcome;
}

// Records cert-manager's state of the Certificate if it is news.
void DomainLoop::take(View& view, const CertificateState& seen) {
  using Kind = CertificateState::Kind;
  const Claim& claim = *view.claim;
  const bool is_news =
      (seen.kind == Kind::ready &&
       (claim.state == State::issuing || claim.expires_at != seen.certificate->expires_at)) ||
      seen.kind == Kind::failed;
  if (!is_news) return;
  changed(view, parts_.database.write([&](db::Tx& tx) -> std::optional<Claim> {
    const bool done =
        seen.kind == Kind::ready
            ? custom_domains::mark_active(tx, claim.id, claim.generation, *seen.certificate)
            : custom_domains::mark_failed(tx, claim.id, claim.generation, seen.message);
    return done ? custom_domains::find(tx, claim.id) : std::nullopt;
  }));
}

// Withdraws the Certificate, so that nothing is ordered or renewed. A certificate that is being
// served stays until it expires.
Outcome DomainLoop::wait(const View& view) {
  Outcome outcome;
  const Claim& claim = *view.claim;
  outcome.writes = objects_.withdraw(view.row, claim.domain);
  outcome.again = view.until(claim.next_check_at);
  if (claim.reason) outcome.reason = to_string(*claim.reason);
  const bool is_served =
      view.is_served_until_expiry() && objects_.has_ingress(view.row, claim.domain);
  if (is_served) {
    outcome.again = std::min(*outcome.again, view.until(*claim.expires_at));
  } else {
    const auto removed = objects_.remove_all_but(view.row, std::nullopt);
    outcome.writes += removed.writes;
    if (removed.left > 0) outcome.again = std::min(*outcome.again, look_again);
  }
  outcome.kind = outcome.writes > 0 ? Outcome::Kind::applied : Outcome::Kind::waiting;
  return outcome;
}

// Removes all objects of custom domains, because no domain is claimed, or the claim can't be served
// yet.
Outcome DomainLoop::clear(const View& view) {
  const auto removed = objects_.remove_all_but(view.row, std::nullopt);
  if (removed.left > 0)
    return {Outcome::Kind::waiting, removed.writes, look_again, "objects are being deleted", false};
  if (view.leaving.empty())
    return view.claim
               ? Outcome::waiting("the domain's former objects are being deleted", look_again)
               : Outcome();
  if (objects_.is_anything_left(view.row))
    return Outcome::waiting("objects are being deleted", look_again);
  // The loop of deployments may have deleted an Ingress that named its secret.
  std::vector<std::string> domains;
  domains.reserve(view.leaving.size());
  for (const Claim& claim : view.leaving) domains.push_back(claim.domain);
  objects_.remove_secrets(view.row, domains);
  parts_.database.write([&](db::Tx& tx) {
    for (const Claim& claim : view.leaving) custom_domains::mark_removed(tx, claim.id);
  });
  return {Outcome::Kind::removed, 0, view.claim ? std::optional(milliseconds(0)) : std::nullopt, "",
          true};
}

void DomainLoop::changed(View& view, std::optional<Claim> next) {
  if (!next) return;
  const bool is_news = next->state != view.claim->state || next->reason != view.claim->reason ||
                       next->message != view.claim->message;
  view.claim = std::move(next);
  if (!is_news) return;
  view.is_news = true;
  parts_.domain_changed(view.row.id);
}

}  // namespace berth::reconcilers
