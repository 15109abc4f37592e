#include "controller/domain/ads/creatives.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "controller/base/visible_text.h"
#include "controller/domain/ads/events.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::creatives {
namespace {

// How much of an HMAC a token of a click has: 128 bits, in hex.
constexpr std::size_t mac_length = 32;
constexpr std::string_view click_prefix = "clk_";
constexpr std::size_t uuid_length = 36;
static_assert(kept_for > std::chrono::days(ads::events_kept_days));

const std::string select_creatives = R"(
    SELECT c.id, c.campaign_id, c.title, c.text, c.link, p.width, p.height, c.impressions,
           c.clicks, c.inserted_at
    FROM ad_creatives c
    LEFT JOIN ad_pictures p ON p.creative_id = c.id )";

Creative creative_of(const db::Query& row) {
  Creative creative = {.id = row.text("id"),
                       .campaign_id = row.text("campaign_id"),
                       .title = row.text("title"),
                       .text = row.text_or_null("text"),
                       .link = row.text("link")};
  if (const auto width = row.integer_or_null("width"))
    creative.picture = {.width = int(*width), .height = int(row.integer("height"))};
  creative.impressions = row.integer("impressions");
  creative.clicks = row.integer("clicks");
  creative.inserted_at = row.instant("inserted_at");
  return creative;
}

void check_text(const char* field, const std::string& text, std::size_t most) {
  if (text.empty()) throw invalid_field(field, "must not be empty");
  if (const auto refusal = refusal_of_text(text, Lines::one))
    throw invalid_field(field, std::string(*refusal));
  if (characters(text) > most)
    throw invalid_field(field, "must have at most " + std::to_string(most) + " characters");
}

// The link is a header of the answer to a click, so it has no character that could end it.
std::optional<std::string> refusal_of_link(const std::string& link, Links links) {
  if (link.size() > max_link_length)
    return "must have at most " + std::to_string(max_link_length) + " characters";
  const bool printable = std::ranges::all_of(
      link, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '\\' && c != '"'; });
  if (!printable) return "must be ASCII without blanks; other characters are percent-encoded";
  const auto url = parse_url(link);
  const bool may_be_http = links == Links::http_on_loopback_too && url && is_loopback(url->host);
  if (!link.starts_with("https://") && !(may_be_http && link.starts_with("http://")))
    return "must begin with https://";
  if (!url) return "must be a complete address with a host, such as https://game.example.org/";
  if (url->has_user()) return "must not contain a user name";
  return std::nullopt;
}

Error not_found() { return Error(Code::creative_not_found, "there is no such creative"); }

Error has_ended() { return Error(Code::invalid_state, "the campaign has ended"); }

// Counts one creative more, if the campaign may have it. The condition keeps two requests that come
// at the same time from exceeding the limit.
void count_one_more(db::Tx& tx, const std::string& campaign_id) {
  const int rows = tx.execute(R"(
      UPDATE campaigns
      SET creatives = creatives + 1, updated_at = $2
      WHERE id = $1 AND status IN ('active', 'paused') AND creatives < $3)",
                              campaign_id, tx.now(), max_per_campaign);
  if (rows > 0) return;
  if (!campaigns::find(tx, campaign_id)->is_live()) throw has_ended();
  throw Error(Code::invalid_state, "a campaign may have at most " +
                                       std::to_string(max_per_campaign) +
                                       " creatives; remove one first");
}

void store(db::Tx& tx, const std::string& id, const std::string& owner_id,
           const ads::Picture& picture) {
  const auto bytes = std::int64_t(picture.content.size());
  if (tx.number(R"(SELECT sum(bytes) FROM ad_pictures WHERE owner_id = $1)", owner_id) + bytes >
      max_picture_bytes_of_owner)
    throw Error(Code::invalid_state,
                "the pictures of your ads take " +
                    std::to_string(max_picture_bytes_of_owner / 1'000'000) +
                    " MB, which is the most that is kept; remove creatives, whose pictures are "
                    "deleted a day later");
  tx.execute(R"(
      INSERT INTO ad_pictures (creative_id, owner_id, content_type, width, height, bytes, content)
      VALUES ($1, $2, $3, $4, $5, $6, $7))",
             id, owner_id, to_string(picture.type), picture.width, picture.height, bytes,
             base64(picture.content));
}

// Marks the creative as removed. Returns its campaign; nothing if there is no such creative.
std::optional<std::string> mark_removed(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(R"(
      UPDATE ad_creatives
      SET removed_at = $2, expires_at = $3
      WHERE id = $1 AND removed_at IS NULL
      RETURNING campaign_id)",
                       id, tx.now(), tx.now() + kept_for);
  return rows.next() ? std::optional(rows.text("campaign_id")) : std::nullopt;
}

void count_one_less(db::Tx& tx, const std::string& campaign_id) {
  tx.execute(R"(
      UPDATE campaigns
      SET creatives = creatives - 1
      WHERE id = $1)",
             campaign_id);
  tx.notify(db::Topic::campaign, campaign_id);
}

std::string mac_of(std::string_view impression_id, const std::string& data_key) {
  return hex(hmac_sha256(data_key, "ad click " + std::string(impression_id))).substr(0, mac_length);
}

}  // namespace

void check(const Order& order, Links links) {
  check_text("title", order.title, max_title_length);
  if (order.text) check_text("text", *order.text, max_text_length);
  if (const auto refusal = refusal_of_link(order.link, links))
    throw invalid_field("link", *refusal);
}

Creative add(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
             const Order& order, Links links) {
  tx.require_serializable();
  check(order, links);
  const auto campaign = campaigns::get_owned(tx, actor, campaign_id);
  if (campaign.is_over(tx.now())) throw has_ended();
  count_one_more(tx, campaign_id);
  const std::string id = new_uuid(tx.now());
  tx.execute(R"(
      INSERT INTO ad_creatives (id, campaign_id, title, text, link, inserted_at)
      VALUES ($1, $2, $3, $4, $5, $6))",
             id, campaign_id, order.title, order.text, order.link, tx.now());
  if (order.picture) store(tx, id, campaign.owner_id, *order.picture);
  tx.notify(db::Topic::campaign, campaign_id);
  static const std::string sql = select_creatives + R"(WHERE c.id = $1)";
  auto rows = tx.query(sql, id);
  rows.next();
  return creative_of(rows);
}

Page<Creative> list(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
                    const PageRequest& page) {
  campaigns::get_owned(tx, actor, campaign_id);
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM ad_creatives
            WHERE campaign_id = $1 AND removed_at IS NULL
            LIMIT $2) counted)",
                              .rows = select_creatives + R"(
      WHERE c.campaign_id = $1 AND c.removed_at IS NULL AND c.id < $2
      ORDER BY c.id DESC
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::text, "id"}}};
  return read_page(tx, sql, page, creative_of, campaign_id);
}

void remove(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
            const std::string& id) {
  campaigns::get_owned(tx, actor, campaign_id);
  if (tx.number(R"(SELECT count(*) FROM ad_creatives WHERE id = $1 AND campaign_id = $2)", id,
                campaign_id) == 0 ||
      !mark_removed(tx, id))
    throw not_found();
  tx.execute(R"(
      UPDATE ad_pictures
      SET expires_at = $2
      WHERE creative_id = $1)",
             id, tx.now() + removed_picture_kept_for);
  count_one_less(tx, campaign_id);
}

void take_down(db::Tx& tx, const std::string& id) {
  const int pictures = tx.execute(R"(DELETE FROM ad_pictures WHERE creative_id = $1)", id);
  const auto campaign_id = mark_removed(tx, id);
  if (campaign_id) count_one_less(tx, *campaign_id);
  if (!campaign_id && pictures == 0) throw not_found();
}

void campaign_ended(db::Tx& tx, const std::string& campaign_id) {
  const Instant end = tx.now() + kept_for;
  tx.execute(R"(
      UPDATE ad_creatives
      SET expires_at = $2
      WHERE campaign_id = $1 AND expires_at IS NULL)",
             campaign_id, end);
  tx.execute(R"(
      UPDATE ad_pictures
      SET expires_at = $2
      WHERE creative_id IN (SELECT id FROM ad_creatives WHERE campaign_id = $1)
        AND expires_at IS NULL)",
             campaign_id, end);
}

std::vector<Creative> shown_of(db::Tx& tx, const std::string& campaign_id) {
  static const std::string sql =
      select_creatives + R"(WHERE c.campaign_id = $1 AND c.removed_at IS NULL ORDER BY c.id)";
  std::vector<Creative> all;
  auto rows = tx.query(sql, campaign_id);
  while (rows.next()) all.push_back(creative_of(rows));
  return all;
}

std::optional<File> find_picture(db::Tx& tx, const std::string& id) {
  auto rows =
      tx.query(R"(SELECT content_type, content FROM ad_pictures WHERE creative_id = $1)", id);
  if (!rows.next()) return std::nullopt;
  return File{.content_type = rows.text("content_type"),
              .content = *parse_base64(rows.text("content"))};
}

std::string click_token(const std::string& impression_id, const std::string& data_key) {
  return std::string(click_prefix) + impression_id + mac_of(impression_id, data_key);
}

std::optional<Target> find_target(db::Tx& tx, const std::string& token,
                                  const std::string& data_key) {
  if (token.size() != click_prefix.size() + uuid_length + mac_length ||
      !token.starts_with(click_prefix))
    return std::nullopt;
  const std::string impression_id = token.substr(click_prefix.size(), uuid_length);
  if (!equal_in_constant_time(token, click_token(impression_id, data_key))) return std::nullopt;
  auto rows = tx.query(R"(
      SELECT i.campaign_id, c.link
      FROM ad_impressions i
      JOIN ad_creatives c ON c.id = i.creative_id
      WHERE i.id = $1)",
                       impression_id);
  if (!rows.next()) return std::nullopt;
  return Target{.impression_id = impression_id,
                .campaign_id = rows.text("campaign_id"),
                .link = rows.text("link")};
}

int erase_pictures(db::Tx& tx, const std::string& campaign_id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM ad_pictures
      WHERE creative_id IN (SELECT p.creative_id
                            FROM ad_creatives c
                            JOIN ad_pictures p ON p.creative_id = c.id
                            WHERE c.campaign_id = $1
                            LIMIT $2))",
      campaign_id, limit);
}

int erase(db::Tx& tx, const std::string& campaign_id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM ad_creatives
      WHERE id IN (SELECT id FROM ad_creatives WHERE campaign_id = $1 LIMIT $2))",
      campaign_id, limit);
}

bool is_anything_old(db::Tx& tx) {
  return tx.number(R"(
      SELECT CASE WHEN EXISTS (SELECT 1 FROM ad_pictures WHERE expires_at <= $1)
                    OR EXISTS (SELECT 1 FROM ad_creatives WHERE expires_at <= $1)
                  THEN 1 ELSE 0 END AS is_old)",
                   tx.now()) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  const int pictures = tx.execute(R"(
      DELETE FROM ad_pictures
      WHERE creative_id IN (SELECT creative_id FROM ad_pictures WHERE expires_at <= $1 LIMIT $2))",
                                  tx.now(), limit);
  if (pictures == limit) return pictures;  // pictures may be left that refer to creatives
  return pictures + tx.execute(R"(
      DELETE FROM ad_creatives
      WHERE id IN (SELECT id FROM ad_creatives WHERE expires_at <= $1 LIMIT $2))",
                               tx.now(), limit);
}

}  // namespace berth::creatives
