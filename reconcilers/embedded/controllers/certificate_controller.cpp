#include "reconcilers/embedded/controllers/certificate_controller.h"

#include "controller/base/crypto.h"
#include "reconcilers/embedded/apiserver/object_life.h"
#include "reconcilers/embedded/apiserver/refusal.h"
#include "reconcilers/embedded/controllers/self_signed.h"

namespace berth::embedded {
namespace {

constexpr const char* cert_manager = "cert-manager-certificates-issuing";
// cert-manager waits an hour after the first failure, and twice as long after each further one.
constexpr int seconds_until_retry = 3600;
// How soon the ingress controller is asked again about a certificate that is being ordered, and
// about one that is served.
constexpr std::chrono::milliseconds ask_again{250};
constexpr std::chrono::minutes look_again{10};

std::string in_seconds(Instant time) { return to_iso8601(time).substr(0, 19) + "Z"; }

std::string hosts_of(const Json& certificate) {
  std::string hosts;
  for (const Json& host : at_path(certificate, "/spec/dnsNames"))
    hosts += (hosts.empty() ? "" : ",") + host.get<std::string>();
  return hosts;
}

std::string secret_of(const Json& certificate) {
  return text_at(at_path(certificate, "/spec"), "secretName");
}

bool fits(const ObjectPtr& secret, const Json& certificate) {
  if (!secret || terminating(*secret)) return false;
  const Json& notes = at_path(*secret, "/metadata/annotations");
  return text_at(notes, "cert-manager.io/alt-names") == hosts_of(certificate) &&
         text_at(notes, "cert-manager.io/issuer-name") ==
             text_at(at_path(certificate, "/spec/issuerRef"), "name");
}

struct Told {
  std::string type;
  bool holds;
  std::string reason;
  std::string message;
};

void tell(Json& certificate, const Told& told) {
  Json& conditions = certificate["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  Json next{{"type", told.type},
            {"status", told.holds ? "True" : "False"},
            {"reason", told.reason},
            {"message", told.message},
            {"observedGeneration", number_at(certificate, "/metadata/generation", 1)},
            {"lastTransitionTime", timestamp()}};
  for (Json& one : conditions) {
    if (text_at(one, "type") != told.type) continue;
    if (one["status"] == next["status"]) next["lastTransitionTime"] = one["lastTransitionTime"];
    one = std::move(next);
    return;
  }
  conditions.push_back(std::move(next));
}

void tell_issuing(Json& certificate, const std::string& why) {
  tell(certificate, {"Issuing", true, "DoesNotExist", why});
  tell(certificate, {"Ready", false, "DoesNotExist", why});
}

// Whether the failure of this order was told already.
bool is_failed(const Json& certificate) {
  for (const Json& one : at_path(certificate, "/status/conditions"))
    if (text_at(one, "type") == "Issuing")
      return text_at(one, "status") == "False" &&
             number_at(one, "/observedGeneration", 0) ==
                 number_at(certificate, "/metadata/generation", 1);
  return false;
}

void untell(Json& certificate, const std::string& type) {
  Json& conditions = certificate["status"]["conditions"];
  for (auto at = conditions.begin(); at != conditions.end();)
    at = text_at(*at, "type") == type ? conditions.erase(at) : std::next(at);
}

// A third of the time before it expires, Caddy renews a certificate; so does cert-manager.
constexpr int renewed_in_the_last = 3;

Json ready(const Json& live, Instant from, Instant until) {
  Json certificate = live;
  tell(certificate, {"Ready", true, "Ready", "Certificate is up to date and has not expired"});
  untell(certificate, "Issuing");
  Json& status = certificate["status"];
  status["notBefore"] = in_seconds(from);
  status["notAfter"] = in_seconds(until);
  status["renewalTime"] = in_seconds(until - (until - from) / renewed_in_the_last);
  if (!status.contains("revision")) status["revision"] = 1;
  status.erase("failedIssuanceAttempts");
  status.erase("lastFailureTime");
  return certificate;
}

}  // namespace

std::optional<Moment> CertificateController::reconcile(const Key& key, Moment now) {
  const ObjectPtr certificate = store_.find(key);
  if (!certificate || terminating(*certificate)) return std::nullopt;
  // cert-manager's webhook refuses a Certificate without host names.
  if (at_path(*certificate, "/spec/dnsNames").empty()) return std::nullopt;
  if (served_) return report(key, *certificate, now);
  const ObjectPtr secret = store_.find({Kind::secrets, key.name_space, secret_of(*certificate)});
  if (!fits(secret, *certificate)) return issue(key, *certificate, now);
  forget(uid_of(*certificate));
  const Json& notes = at_path(*secret, "/metadata/annotations");
  const auto time = [&](const char* note) {
    return parse_iso8601(text_at(notes, note)).value_or(Instant());
  };
  registry_.write_status(key, ready(*certificate, time("simulated/from"), time("simulated/until")),
                         cert_manager);
  return std::nullopt;
}

std::optional<Moment> CertificateController::report(const Key& key, const Json& certificate,
                                                    Moment now) {
  using Stage = ServedCertificate::Stage;
  std::optional<ServedCertificate> worst;  // of several hosts, the one that is furthest from ready
  for (const Json& host : at_path(certificate, "/spec/dnsNames")) {
    const ServedCertificate one = served_(host.get<std::string>(), uid_of(certificate));
    if (!worst || one.stage == Stage::failed ||
        (one.stage == Stage::pending && worst->stage == Stage::served) ||
        (one.stage == worst->stage && one.until < worst->until))
      worst = one;
  }
  if (worst->stage == Stage::served) {
    Json next = ready(certificate, worst->from, worst->until);
    if (next != certificate) registry_.write_status(key, std::move(next), cert_manager);
    return now + look_again;
  }
  if (worst->stage == Stage::failed) {
    if (!is_failed(certificate)) fail(key, certificate, worst->reason);
    return now + look_again;
  }
  Json next = certificate;
  tell_issuing(next, "Issuing certificate, because none is served yet");
  if (next != certificate) registry_.write_status(key, std::move(next), cert_manager);
  return now + ask_again;
}

void CertificateController::forget(const std::string& uid) {
  done_at_.erase(uid);
  retry_at_.erase(uid);
}

std::optional<Moment> CertificateController::issue(const Key& key, const Json& certificate,
                                                   Moment now) {
  const std::string uid = uid_of(certificate);
  if (const auto failed = retry_at_.find(uid); failed != retry_at_.end()) {
    if (now < failed->second) return failed->second;
    retry_at_.erase(failed);
  }
  const auto [order, is_new] = done_at_.try_emplace(uid, now + timing_.issue);
  if (is_new) {
    if (remembers_orders_) orders_.push_back(hosts_of(certificate));
    Json next = certificate;
    tell_issuing(next, "Issuing certificate as Secret does not exist");
    registry_.write_status(key, std::move(next), cert_manager);
  }
  if (now < order->second) return order->second;
  done_at_.erase(order);
  if (refusal_.empty()) {
    write_secret(certificate);
    return reconcile(key, now);
  }
  fail(key, certificate, refusal_);
  retry_at_[uid] = now + seconds_until_retry * timing_.second;
  return retry_at_[uid];
}

void CertificateController::fail(const Key& key, Json certificate, const std::string& why) {
  tell(certificate, {"Issuing", false, "Failed",
                     "The certificate request has failed to complete and will be retried: " + why});
  Json& status = certificate["status"];
  status["failedIssuanceAttempts"] = number_at(status, "/failedIssuanceAttempts", 0) + 1;
  status["lastFailureTime"] = timestamp();
  registry_.write_status(key, std::move(certificate), cert_manager);
}

void CertificateController::write_secret(const Json& certificate) {
  const Json& spec = certificate["spec"];
  const SelfSigned made = self_signed(spec["dnsNames"].get<std::vector<std::string>>());
  Json secret{{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", "kubernetes.io/tls"}};
  secret["metadata"] = {{"name", secret_of(certificate)},
                        {"namespace", namespace_of(certificate)},
                        {"labels", at_path(spec, "/secretTemplate/labels")},
                        {"annotations", at_path(spec, "/secretTemplate/annotations")}};
  std::erase_if(secret["metadata"].get_ref<Json::object_t&>(),
                [](const auto& entry) { return entry.second.is_null(); });
  Json& notes = secret["metadata"]["annotations"];
  notes["cert-manager.io/alt-names"] = hosts_of(certificate);
  notes["cert-manager.io/certificate-name"] = name_of(certificate);
  notes["cert-manager.io/issuer-name"] = text_at(at_path(spec, "/issuerRef"), "name");
  notes["cert-manager.io/issuer-kind"] = text_at(at_path(spec, "/issuerRef"), "kind");
  notes["simulated/from"] = in_seconds(made.from);
  notes["simulated/until"] = in_seconds(made.until);
  secret["data"] = {{"tls.crt", base64(made.certificate)}, {"tls.key", base64(made.key)}};
  registry_.apply(type_of(Kind::secrets), namespace_of(certificate), secret_of(certificate), secret,
                  {{cert_manager}}, Force::yes);
}

}  // namespace berth::embedded
