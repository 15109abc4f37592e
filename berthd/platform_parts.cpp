#include "berthd/platform_parts.h"

#include "controller/base/log.h"
#include "controller/base/url.h"

namespace berth {
namespace {

reconcilers::SmtpSettings smtp_settings(const Config& config) {
  reconcilers::SmtpSettings settings;
  settings.url = config.mail_server->url;
  settings.user = config.mail_server->user;
  settings.password = config.mail_server->password;
  settings.ca_file = config.mail_ca_file;
  const bool here = is_loopback(config.mail_server->host);
  const bool required = config.mail_tls == MailTlsRule::required ||
                        (config.mail_tls == MailTlsRule::automatic && !here);
  settings.tls = required ? reconcilers::MailTls::required : reconcilers::MailTls::if_offered;
  return settings;
}

}  // namespace

std::unique_ptr<reconcilers::MailLoop> mail_loop(const Storage& storage,
                                                 std::shared_ptr<prometheus::Registry> registry) {
  const Config& config = storage.config;
  if (!config.mail_server) {
    log::write(config.production ? log::Level::warning : log::Level::info,
               "smtp-url is empty: mail stays in the outbox");
    return nullptr;
  }
  return std::make_unique<reconcilers::MailLoop>(
      reconcilers::MailLoop::Parts{.database = storage.database,
                                   .clock = storage.clock,
                                   .data_key = storage.keys.data,
                                   .server = smtp_settings(config),
                                   .from = *config.mail_from,
                                   .registry = std::move(registry)});
}

std::unique_ptr<reconcilers::WebhookLoop> webhook_loop(
    const Storage& storage, const api::Services& services,
    std::shared_ptr<prometheus::Registry> registry) {
  const Config& config = storage.config;
  return std::make_unique<reconcilers::WebhookLoop>(reconcilers::WebhookLoop::Parts{
      .database = storage.database,
      .clock = storage.clock,
      .data_key = storage.keys.data,
      .reach = config.webhook_allow_private ? reconcilers::Reach::private_too
                                            : reconcilers::Reach::public_only,
      .closed = config.cluster_ranges,
      .url_of = services.cluster.url_of,
      .apps_domain = config.apps_domain,
      .base_url = services.base_url,
      .registry = std::move(registry)});
}

reconcilers::LogoutLoop::Parts logout_parts(const Storage& storage, const std::string& base_url) {
  const Config& config = storage.config;
  return {.issuer = {.url = base_url, .data_key = storage.keys.data},
          .reach = config.webhook_allow_private ? reconcilers::Reach::private_too
                                                : reconcilers::Reach::public_only,
          .closed = config.cluster_ranges};
}

void log_what_to_know(const Config& config) {
  for (const std::string& key : config.without_effect)
    log::warning("this key has no effect in this version of berthd", {{"key", key}});
  const bool has_other_ingress =
      config.kubernetes == Cluster::kubeconfig || config.kubernetes == Cluster::in_cluster;
  if (config.production && has_other_ingress && config.ingress_namespace.empty() &&
      config.ingress_ranges.empty())
    log::warning(
        "ingress-namespace is empty: every namespace that isn't an app's may send requests "
        "to operators' containers");
  if (config.kubernetes == Cluster::simulated)
    log::info("the cluster is simulated, so no container really runs");
}

}  // namespace berth
