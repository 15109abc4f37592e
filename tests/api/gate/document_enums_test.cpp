#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/gate/openapi.h"
#include "api/gate/services.h"
#include "controller/domain/accounts/admin_roles.h"
#include "controller/domain/ads/events.h"
#include "controller/domain/ads/packages.h"
#include "controller/domain/ads/placing.h"
#include "controller/domain/apps/roles.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/dry_run.h"
#include "controller/domain/deployments/metering/budgets.h"
#include "controller/domain/deployments/runs/crons.h"
#include "controller/domain/deployments/runs/runs.h"
#include "controller/domain/deployments/variables.h"
#include "controller/domain/items/cosmetics.h"
#include "controller/domain/items/learning.h"
#include "controller/domain/money/anomalies.h"
#include "controller/domain/oauth/issuers.h"
#include "controller/domain/oauth/oauth.h"
#include "controller/domain/points/proposals.h"
#include "controller/domain/points/refund_requests.h"
#include "controller/domain/points/refunds.h"
#include "controller/domain/social/chat.h"
#include "controller/domain/social/friends.h"
#include "controller/domain/webhooks/alerts.h"
#include "controller/domain/webhooks/webhooks.h"

namespace {

using namespace berth;
using Texts = std::set<std::string>;

template <EnumWithTexts E>
Texts only(std::initializer_list<E> values) {
  Texts texts;
  for (const E value : values) texts.emplace(to_string(value));
  return texts;
}

template <EnumWithTexts E>
Texts all() {
  constexpr auto texts = texts_of(E());
  return {texts.begin(), texts.end()};
}

// The enums of the document that are enums of berth's own code, by their places below
// /components/schemas.
std::map<std::string, Texts> enums_of_code() {
  const Texts switchable = only({campaigns::Status::active, campaigns::Status::paused});
  const Texts unpaid = only({rewards::Refusal::email_not_verified, rewards::Refusal::user_cap,
                             rewards::Refusal::owner_cap, rewards::Refusal::total_cap,
                             rewards::Refusal::treasury_empty});
  return {
      {"/AdEventRequest/properties/event_type", all<ads::EventType>()},
      {"/AdEventResult/properties/event/properties/event_type", all<ads::EventType>()},
      {"/AdEventResult/properties/unpaid_reason", all<ads::UnpaidReason>()},
      {"/AdPackagePurchase/properties/status", all<ads::PurchaseStatus>()},
      {"/AppRole", all<apps::Role>()},
      {"/AudienceAttribute", all<ads::Attribute>()},
      {"/Campaign/properties/end_reason", all<campaigns::EndReason>()},
      {"/CampaignEvent/properties/end_reason", all<campaigns::EndReason>()},
      {"/CampaignPlacement/properties/status", all<ads::PlacementStatus>()},
      {"/CampaignState", all<campaigns::Status>()},
      {"/ChangeCampaignPlacementRequest/properties/status", switchable},
      {"/ChangeCampaignRequest/properties/status", switchable},
      {"/ChatChannel/properties/type", all<chat::ChannelType>()},
      {"/ClientTokenIntrospection/properties/token_use", all<oauth::TokenKind>()},
      {"/MeResponse/properties/user/properties/language", all<Language>()},
      {"/MeResponse/properties/user/properties/admin_role", all<accounts::AdminRole>()},
      {"/AuthResponse/properties/user/properties/admin_role", all<accounts::AdminRole>()},
      {"/AdminList/properties/admins/items/properties/role", all<accounts::AdminRole>()},
      {"/InternalSecret/properties/role", all<accounts::AdminRole>()},
      {"/InternalUser/properties/admin_role", all<accounts::AdminRole>()},
      {"/MakeInternalSecretRequest/properties/role", all<accounts::AdminRole>()},
      {"/PromoteUserRequest/properties/admin_role", all<accounts::AdminRole>()},
      {"/UpdateMeRequest/properties/language", all<Language>()},
      {"/ConnectedApp/properties/session_access", all<play::SessionAccess>()},
      {"/ConnectedAppChanges/properties/session_access", all<play::SessionAccess>()},
      {"/CosmeticCategory", all<cosmetics::Category>()},
      {"/CosmeticRarity", all<cosmetics::Rarity>()},
      {"/CreateTierRequest/properties/payment_method", all<tiers::PaymentMethod>()},
      {"/Budget/properties/at_limit", all<metering::AtLimit>()},
      {"/Budget/properties/period", all<metering::BudgetPeriod>()},
      {"/BudgetRequest/properties/at_limit", all<metering::AtLimit>()},
      {"/BudgetRequest/properties/period", all<metering::BudgetPeriod>()},
      {"/Build/properties/reason", all<builds::Reason>()},
      {"/Build/properties/status", all<builds::Status>()},
      {"/CronRun/properties/status", all<runs::Status>()},
      {"/CronState/properties/skipped", all<crons::Skipped>()},
      {"/Run/properties/kind", all<runs::Kind>()},
      {"/Run/properties/reason", all<runs::Reason>()},
      {"/Run/properties/status", all<runs::Status>()},
      {"/RunFailedEvent/properties/kind", all<runs::Kind>()},
      {"/CustomDomain/properties/reason", all<custom_domains::Reason>()},
      {"/CustomDomain/properties/state", all<custom_domains::State>()},
      {"/CustomDomain/properties/txt_reason", all<custom_domains::TxtReason>()},
      {"/DeployLog/properties/action", all<deployments::LogAction>()},
      {"/DeployLog/properties/status", all<deployments::LogStatus>()},
      {"/DeployTier/properties/payment_method", all<tiers::PaymentMethod>()},
      {"/Deployment/properties/billing_status", all<billing::Status>()},
      {"/Deployment/properties/health_status", all<deployments::HealthStatus>()},
      {"/Deployment/properties/resized", all<deployments::Resize>()},
      {"/DeploymentBilling/properties/billing_status", all<billing::Status>()},
      {"/DeploymentBilling/properties/history/items/properties/kind", all<billing::EntryKind>()},
      {"/DeploymentState", all<deployments::Status>()},
      {"/DryRunResponse/properties/operations/items/properties/action", all<deployments::Effect>()},
      {"/DeploymentStatus/properties/health_status", all<deployments::HealthStatus>()},
      {"/DomainEvent/properties/state", all<custom_domains::State>()},
      {"/Fleet/properties/cluster/properties/state", all<api::KubernetesState>()},
      {"/FriendshipResponse/properties/status", all<friends::Status>()},
      {"/HealthResponse/properties/kubernetes", all<api::KubernetesState>()},
      {"/InstanceList/properties/instances/items/properties/state", all<instances::State>()},
      {"/IsolationMode", all<isolation::Mode>()},
      {"/IsolationReport/allOf/1/properties/paths/items/properties/result",
       all<isolation::Result>()},
      {"/IsolationReport/allOf/1/properties/paths/items/properties/wanted",
       all<isolation::Wanted>()},
      {"/IsolationState", all<isolation::State>()},
      {"/Issuer/properties/kind", all<oauth::IssuerKind>()},
      {"/AddIssuerRequest/properties/kind", all<oauth::IssuerKind>()},
      {"/LearningPathResponse/properties/status", all<learning::PathStatus>()},
      {"/AlertChannel", all<alerts::Channel>()},
      {"/AlertEventType", {alerts::types.begin(), alerts::types.end()}},
      {"/MatchMode", all<ads::MatchMode>()},
      {"/ModuleProgress/allOf/1/properties/unpaid_reason", unpaid},
      {"/ModuleStatus/properties/status", all<learning::Status>()},
      {"/OpenChannelRequest/properties/type", all<chat::ChannelType>()},
      {"/PlatformMoney/properties/anomalies/items/properties/rule", all<money::Rule>()},
      {"/PointProposal/properties/kind", all<proposals::Kind>()},
      {"/PointProposal/properties/status", all<proposals::Status>()},
      {"/PointsRefundedEvent/properties/initiated_by", all<points::Initiator>()},
      {"/PublicUser/properties/friendship_status", all<friends::Status>()},
      {"/PointsRefundRequest/properties/answered_by", all<points::Initiator>()},
      {"/PointsRefundRequest/properties/status", all<refund_requests::Status>()},
      {"/RefundRequestEvent/properties/status",
       only({refund_requests::Status::open, refund_requests::Status::approved,
             refund_requests::Status::rejected, refund_requests::Status::expired})},
      {"/AppSettings/properties/id_token_signed_response_alg", all<apps::IdTokenAlg>()},
      {"/CreateAppRequest/properties/id_token_signed_response_alg", all<apps::IdTokenAlg>()},
      {"/OperatorAppChanges/properties/id_token_signed_response_alg", all<apps::IdTokenAlg>()},
      {"/ScopeRequest/properties/status", all<apps::RequestStatus>()},
      {"/ScopeRequestEvent/properties/status",
       only({apps::RequestStatus::approved, apps::RequestStatus::rejected})},
      {"/SurfaceType", all<ads::SurfaceType>()},
      {"/TokenIntrospection/properties/reason", all<oauth::Inactive>()},
      {"/UserCosmetic/properties/acquired_via", all<cosmetics::AcquiredVia>()},
      {"/VariableList/properties/variables/items/properties/from",
       all<deployments::VariableOrigin>()},
      {"/WebhookDelivery/properties/status", all<webhooks::DeliveryState>()},
      {"/WebhookEventType", {webhooks::types.begin(), webhooks::types.end()}},
  };
}

// The enums of the document that aren't.
const std::set<std::string> others = {
    "/AppSettings/properties/token_endpoint_auth_method",
    "/BudgetReachedEvent/properties/at_limit",
    "/BudgetReachedEvent/properties/period",
    "/ClientTokenIntrospection/properties/token_type",
    "/CreateAppRequest/properties/token_endpoint_auth_method",
    "/CustomDomain/properties/records/items/properties/type",
    "/ErrorCode",  // compared with the codes in openapi_test.cpp
    "/HealthResponse/properties/status",
    "/InstanceList/properties/instances/items/properties/phase",
    "/MintRequest/properties/account/properties/kind",
    "/OAuthTokenResponse/properties/token_type",
    "/PayoutEvent/properties/kind",
    "/PresenceEntry/properties/status",
    "/PresenceUpdate/properties/status",
    "/TablePresenceEntry/properties/status",
    "/TablePresenceUpdate/properties/status",
};

// Adds the texts of each enum within `part`, without null, by its place.
void collect(const nlohmann::json& part, const std::string& place,
             std::map<std::string, Texts>& found) {
  if (!part.is_structured()) return;
  for (const auto& [key, value] : part.items()) {
    if (key != "enum" || !part.is_object())
      collect(value, place + "/" + key, found);
    else
      for (const auto& text : value)
        if (text.is_string()) found[place].insert(text);
  }
}

TEST_CASE("the document's enums have the texts of berth's own enums") {
  const auto document = api::openapi(api::routes(), api::Environment::development, "https://x");
  std::map<std::string, Texts> found;
  collect(document["components"]["schemas"], "", found);
  for (const std::string& place : others) {
    INFO(place);
    CHECK(found.erase(place) == 1);
  }
  const auto expected = enums_of_code();
  for (const auto& [place, texts] : found) {
    INFO(place);
    REQUIRE(expected.contains(place));
    CHECK(texts == expected.at(place));
  }
  for (const auto& [place, texts] : expected) {
    INFO(place);
    CHECK(found.contains(place));
  }
}

}  // namespace
