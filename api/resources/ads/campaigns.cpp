// The campaigns of the token's app, under /api/external/campaigns.
#include "api/resources/ads/encode_campaign.h"
#include "api/resources/handlers.h"

namespace berth::api {

Reply create_campaign(db::Tx& tx, const Call& call, const Services&) {
  const auto campaign =
      campaigns::create(tx, call.caller->app_id, decode_campaign_order(call.body));
  return {.status = 201, .body = {{"campaign", encode(campaign)}}};
}

Reply list_campaigns(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("campaigns", campaigns::list(tx, campaign_actor(call), call.page()),
                              [](const campaigns::Campaign& one) { return encode(one); })};
}

Reply get_campaign(db::Tx& tx, const Call& call, const Services&) {
  return {
      .body = {{"campaign", encode(campaigns::get_owned(tx, campaign_actor(call), call.id()))}}};
}

Reply change_campaign(db::Tx& tx, const Call& call, const Services&) {
  const bool status = call.body.contains("status");
  const bool payment = call.body.contains("additional_payment");
  if (status == payment)
    throw invalid_field("status",
                        status ? "and additional_payment can't be changed in the same request"
                               : "is required, or additional_payment");
  const auto campaign =
      status ? campaigns::set_status(tx, campaign_actor(call), call.id(), call.body.at("status"))
             : campaigns::top_up(tx, campaign_actor(call), call.id(),
                                 call.body.at("additional_payment"));
  return {.body = {{"campaign", encode(campaign)}}};
}

Reply cancel_campaign(db::Tx& tx, const Call& call, const Services&) {
  const auto cancelled = campaigns::cancel(tx, campaign_actor(call), call.id());
  return {.body = {{"campaign", encode(cancelled.campaign)}, {"refunded", cancelled.refunded}}};
}

}  // namespace berth::api
