// The creatives of campaigns: what an ad shows, and the pictures themselves.
#include "api/resources/creatives.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/campaigns.h"
#include "api/resources/shared.h"
#include "controller/base/crypto.h"

namespace berth::api {

json shown_creative(const creatives::Creative& creative, const std::string& base_url) {
  const auto& picture = creative.picture;
  return {{"id", creative.id},
          {"title", creative.title},
          {"text", or_null(creative.text)},
          {"image_url", picture ? json(base_url + "/ads/pictures/" + creative.id) : json()},
          {"image_width", picture ? json(picture->width) : json()},
          {"image_height", picture ? json(picture->height) : json()}};
}

namespace {

json encode(const creatives::Creative& creative, const Services& services) {
  json encoded = shown_creative(creative, services.base_url);
  encoded.update({{"campaign_id", creative.campaign_id},
                  {"link", creative.link},
                  {"impressions", creative.impressions},
                  {"clicks", creative.clicks},
                  {"inserted_at", to_iso8601(creative.inserted_at)}});
  return encoded;
}

creatives::Links links_of(const Services& services) {
  return services.environment == Environment::production ? creatives::Links::https
                                                         : creatives::Links::http_on_loopback_too;
}

// The picture is encoded outside of a transaction, because that takes a while; what is cheaper to
// check is checked before.
Reply add_creative(const Call& call, const Services& services) {
  const campaigns::Actor actor = campaign_actor(call);
  creatives::Order order = {.title = call.body.at("title"),
                            .text = text_or_nothing(call.body, "text"),
                            .link = call.body.at("link")};
  creatives::check(order, links_of(services));
  if (const auto image = text_or_nothing(call.body, "image")) {
    const auto file = parse_base64(*image);
    if (!file) throw invalid_field("image", "must be in base64, with its padding");
    services.db.read([&](db::Tx& tx) { campaigns::get_owned(tx, actor, call.id()); });
    order.picture = services.memory.pictures->encode(*file);
  }
  const auto creative = services.db.write(
      [&](db::Tx& tx) { return creatives::add(tx, actor, call.id(), order, links_of(services)); });
  return {.status = 201, .body = {{"creative", encode(creative, services)}}};
}

Reply list_creatives(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_page(
              "creatives", creatives::list(tx, campaign_actor(call), call.id(), call.page()),
              [&](const creatives::Creative& one) { return encode(one, services); })};
}

Reply remove_creative(db::Tx& tx, const Call& call, const Services&) {
  creatives::remove(tx, campaign_actor(call), call.id(), call.id("creative_id"));
  return message_reply("The creative was removed; it is no longer shown.");
}

Reply take_creative_down(db::Tx& tx, const Call& call, const Services&) {
  creatives::take_down(tx, call.id("creative_id"));
  return message_reply("The creative and its picture were removed.");
}

// Any page may show the picture, draw it and keep it: what is behind an address never changes. It
// can't do anything in berth's own origin, even if it is opened as a page.
Reply ad_picture(db::Tx& tx, const Call& call, const Services&) {
  auto file = creatives::find_picture(tx, call.id("creative_id"));
  if (!file) throw Error(Code::creative_not_found, "there is no such picture");
  return {.text = std::move(file->content),
          .content_type = std::move(file->content_type),
          .headers = {{"Cache-Control", "public, max-age=31536000, immutable"},
                      {"Content-Security-Policy", "default-src 'none'; sandbox"},
                      {"Cross-Origin-Resource-Policy", "cross-origin"}}};
}

constexpr Access access = oauth_token({Scope::campaigns_manage, Scope::campaign_write});
constexpr Placeholder creative_in_path = {"CreativeId", "The id of the creative.",
                                          "01936f5e-7c1a-7000-8000-0000000000c1"};
// Counted for each network, in which many players may see ads.
constexpr Rate picture_reads = per_minute(600);

constexpr Route rows[] = {
    {.request = "POST /api/external/campaigns/{id}/creatives",
     .name = "createCreative",
     .tag = "Ads",
     .summary = "Add a creative to a campaign: title, text, picture and link",
     .text = "Adds what the campaign's ad shows; several creatives of a campaign take turns. The "
             "picture is encoded anew, without its metadata, and served by berth. A creative can't "
             "be changed: add another one, and remove the first.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::ads,
     .in_path = {&campaign_in_path},
     .body = {"CreateCreativeRequest"},
     .answer = {201, "CreativeEnvelope"},
     .errors = {Code::campaign_not_found, Code::forbidden, Code::invalid_state},
     .served_by = {"berth campaigns add-creative", "/console/campaigns"},
     .run = FreeHandler{add_creative}},
    {.request = "GET /api/external/campaigns/{id}/creatives",
     .name = "listCreatives",
     .tag = "Ads",
     .summary = "List a campaign's creatives, and how often each was shown and clicked",
     .text = "Lists the creatives that aren't removed, newest first. Those of a campaign that has "
             "ended are kept for 91 days.",
     .guards = {to_viewers(access), ad_reads},
     .in_path = {&campaign_in_path},
     .paged = true,
     .answer = {200, "CreativeList"},
     .errors = {Code::campaign_not_found, Code::forbidden},
     .served_by = {"berth campaigns creatives", "/console/campaigns"},
     .run = ReadHandler{list_creatives}},
    {.request = "DELETE /api/external/campaigns/{id}/creatives/{creative_id}",
     .name = "removeCreative",
     .tag = "Ads",
     .summary = "Remove a creative from a campaign",
     .text = "The creative is no longer shown. Its picture can be loaded for another day, and its "
             "link works for ads that were served before.",
     .guards = {to_billing(access), ad_writes},
     .stores = Stores::nothing,
     .in_path = {&campaign_in_path, &creative_in_path},
     .answer = {200, "Message"},
     .errors = {Code::campaign_not_found, Code::creative_not_found, Code::forbidden},
     .served_by = {"berth campaigns remove-creative", "/console/campaigns"},
     .run = WriteHandler{remove_creative}},
    {.request = "GET /ads/pictures/{creative_id}",
     .name = "adPicture",
     .tag = "Ads",
     .summary = "The picture of a creative",
     .text = "Returns the picture, a PNG or a JPEG, for any page to show. It never changes.",
     .guards = {with_any_page(open_to_all()), picture_reads},
     .in_path = {&creative_in_path},
     .answer = {.status = 200,
                .schema = "AdPicture",
                .content_type = "image/png",
                .by_accept = "image/jpeg"},
     .errors = {Code::creative_not_found},
     .read_committed = true,
     .served_by = {.neither = called_by_apps},
     .run = ReadHandler{ad_picture}},
    {.request = "DELETE /api/internal/ads/creatives/{creative_id}",
     .name = "takeCreativeDown",
     .tag = "Internal",
     .summary = "Remove a creative of any campaign, with its picture",
     .text = "For ads that break the platform's rules. The id is at the end of the picture's "
             "address. The picture is gone at once, though browsers may have kept it.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&creative_in_path},
     .answer = {200, "Message"},
     .errors = {Code::creative_not_found},
     .served_by = {"berth admin take-down"},
     .run = WriteHandler{take_creative_down}},
};

}  // namespace

std::span<const Route> creatives_routes() { return rows; }

}  // namespace berth::api
