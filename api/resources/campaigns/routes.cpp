#include "api/gate/day_window.h"
#include "api/resources/campaigns/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Access access = oauth_token({Scope::campaigns_manage, Scope::campaign_write});
constexpr Access market = oauth_token({Scope::campaigns_manage});
constexpr Errors owned = {Code::campaign_not_found, Code::forbidden};

constexpr Route rows[] = {
    {.request = "POST /api/external/campaigns",
     .name = "createCampaign",
     .tag = "Ads",
     .summary = "Create a campaign and pay for it with the app's points; it is active at once",
     .text = "Takes total_payment from the app's balance. A tenth is rake for the treasury, the "
             "rest is the budget, from which apps are paid for impressions. Ads are served from "
             "then on, or from starts_at.",
     .guards = {access, ad_writes},
     .stores = Stores::ads,
     .body = {"CreateCampaignRequest"},
     .answer = {201, "CampaignEnvelope"},
     .errors = {Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {"berth campaigns create", "/console/campaigns"},
     .run = WriteHandler{create_campaign}},
    {.request = "GET /api/external/campaigns",
     .name = "listCampaigns",
     .tag = "Ads",
     .summary = "List the app's campaigns",
     .text = "Lists the app's campaigns in any state, newest first.",
     .guards = {access, ad_reads},
     .paged = true,
     .answer = {200, "CampaignList"},
     .served_by = {"berth campaigns list", "/console/campaigns"},
     .run = ReadHandler{list_campaigns}},
    {.request = "GET /api/external/campaigns/{id}",
     .name = "getCampaign",
     .tag = "Ads",
     .summary = "A campaign",
     .text = "Returns a campaign of the app with what it has spent, reserved and left.",
     .guards = {access, ad_reads},
     .in_path = {&campaign_in_path},
     .answer = {200, "CampaignEnvelope"},
     .errors = owned,
     .served_by = {"berth campaigns show", "/console/campaigns"},
     .run = ReadHandler{get_campaign}},
    {.request = "PUT /api/external/campaigns/{id}",
     .name = "changeCampaign",
     .tag = "Ads",
     .summary = "Pause or resume a campaign, or add a payment to it",
     .text = "Pauses or resumes the campaign, or takes additional_payment from the app's balance, "
             "of which a tenth is rake. A campaign that has ended can't be changed.",
     .guards = {access, ad_writes},
     .stores = Stores::ads,
     .in_path = {&campaign_in_path},
     .body = {"ChangeCampaignRequest"},
     .answer = {200, "CampaignEnvelope"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::invalid_state,
                Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,  // each payment moves points
     .with_row_locks = true,
     .served_by = {"berth campaigns pause", "/console/campaigns"},
     .run = WriteHandler{change_campaign}},
    {.request = "DELETE /api/external/campaigns/{id}",
     .name = "cancelCampaign",
     .tag = "Ads",
     .summary =
         "Cancel a campaign; all points that aren't spent are refunded, including reservations",
     .text = "Ends the campaign for good. What is left of the budget returns to the app's balance; "
             "the rake doesn't.",
     .guards = {access, ad_writes},
     .stores = Stores::nothing,
     .in_path = {&campaign_in_path},
     .answer = {200, "CancelledCampaign"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::invalid_state},
     .with_row_locks = true,
     .served_by = {"berth campaigns cancel", "/console/campaigns"},
     .run = WriteHandler{cancel_campaign}},
    {.request = "GET /api/v1/ads/campaigns",
     .name = "listCampaignSummaries",
     .tag = "Ad market",
     .summary = "List the app's campaigns in short form",
     .text = "Lists the app's campaigns in any state, newest first, with fewer fields.",
     .guards = {market, ad_reads},
     .paged = true,
     .answer = {200, "CampaignSummaryList"},
     .served_by = {.neither = shown_by_another},
     .run = ReadHandler{market_campaigns}},
    {.request = "POST /api/v1/ads/campaigns",
     .name = "createMarketCampaign",
     .tag = "Ad market",
     .summary = "Create a campaign and pay for it with the app's points; it is active at once",
     .text = "Does what POST /api/external/campaigns does: takes total_payment from the app's "
             "balance, keeps a tenth as rake, and serves ads from the rest.",
     .guards = {market, ad_writes},
     .stores = Stores::ads,
     .body = {"CreateCampaignRequest"},
     .answer = {201, "CampaignSummaryEnvelope"},
     .errors = {Code::insufficient_balance, Code::bonus_locked},
     .idempotency = Idempotency::kept,
     .served_by = {.neither = shown_by_another},
     .run = WriteHandler{create_market_campaign}},
    {.request = "GET /api/v1/ads/campaigns/{id}/analytics",
     .name = "campaignAnalytics",
     .tag = "Ad market",
     .summary = "Show a campaign's results by UTC day",
     .text =
         "Returns the paid impressions, clicks and costs of a campaign, by UTC day and in total.",
     .guards = {market, ad_reads},
     .in_path = {&campaign_in_path},
     .query = day_window_query,
     .answer = {200, "CampaignAnalytics"},
     .errors = {Code::campaign_not_found, Code::forbidden},
     .readers = db::Readers::heavy,
     .served_by = {"berth campaigns stats", "/console/campaigns"},
     .run = ReadHandler{campaign_analytics}},
};

}  // namespace

std::span<const Route> campaigns_routes() { return rows; }

}  // namespace berth::api
