#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ads/picture.h"
#include "controller/domain/kernel/page.h"

// What an ad shows: title, text, picture and link. A campaign may have several creatives, which are
// shown in turn, or none: then the app that shows the ad has the campaign's name alone. A creative
// never changes; another text is another creative.
namespace berth::creatives {

// Characters.
inline constexpr std::size_t max_title_length = 80;
inline constexpr std::size_t max_text_length = 300;
// Bytes, after letters beyond ASCII were percent-encoded by whoever wrote the link.
inline constexpr std::size_t max_link_length = 2'048;
inline constexpr int max_per_campaign = 10;
// The pictures of all apps of one owner, including those that were removed within the last day.
inline constexpr std::int64_t max_picture_bytes_of_owner = 20'000'000;
// How long the picture of a removed creative can still be loaded, for pages that show it already.
inline constexpr Duration removed_picture_kept_for = std::chrono::hours(24);
// How long a removed creative's link works, and how long those of an ended campaign are kept: as
// long as an impression may refer to them.
inline constexpr Duration kept_for = std::chrono::days(91);

struct Size {
  int width = 0;
  int height = 0;
};
struct Creative {
  std::string id = {};
  std::string campaign_id = {};
  std::string title = {};
  std::optional<std::string> text = {};
  std::string link = {};
  std::optional<Size> picture = {};
  std::int64_t impressions = 0;  // paid ones
  std::int64_t clicks = 0;       // counted ones
  Instant inserted_at = {};
};

// Which links a creative may have: https alone, or http too if the host is this machine, for trying
// things out.
enum class Links { https, http_on_loopback_too };

struct Order {
  std::string title;
  std::optional<std::string> text = {};
  std::string link;
  std::optional<ads::Picture> picture = {};
};
// Throws validation_failed if a text is too long or empty, or the link isn't an absolute URL with a
// scheme that `links` allows, without a user name.
void check(const Order& order, Links links);
// Adds a creative, which is shown from then on. Throws what check() and campaigns::get_owned()
// throw, and invalid_state if the campaign has ended, has max_per_campaign creatives, or the
// owner's pictures would take more than max_picture_bytes_of_owner.
Creative add(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
             const Order& order, Links links);
// The campaign's creatives, newest first, without removed ones. Throws what get_owned() throws.
Page<Creative> list(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
                    const PageRequest& page);
// Takes the creative away: it isn't shown any more. Throws what get_owned() throws, and
// creative_not_found.
void remove(db::Tx& tx, const campaigns::Actor& actor, const std::string& campaign_id,
            const std::string& id);
// The same by an admin, for any campaign; the picture is gone at once.
void take_down(db::Tx& tx, const std::string& id);
// Called when a campaign has ended: from now on its creatives have an end.
void campaign_ended(db::Tx& tx, const std::string& campaign_id);

// All that are shown, oldest first.
std::vector<Creative> shown_of(db::Tx& tx, const std::string& campaign_id);

struct File {
  std::string content_type;
  std::string content;
};
// Returns the picture of a creative, shown or removed, as long as it is kept.
std::optional<File> find_picture(db::Tx& tx, const std::string& id);

// Where a click on a served ad leads.
struct Target {
  std::string impression_id;
  std::string campaign_id;
  std::string link;
};
// Returns the token of the click on an impression. Nobody can make one without the data key.
std::string click_token(const std::string& impression_id, const std::string& data_key);
// Returns nothing if the token isn't genuine, or if the impression or its creative is gone.
std::optional<Target> find_target(db::Tx& tx, const std::string& token,
                                  const std::string& data_key);

// Delete at most `limit` rows that belong to a campaign of a deleted app; for
// campaigns::erase_words().
int erase_pictures(db::Tx& tx, const std::string& campaign_id, int limit);
int erase(db::Tx& tx, const std::string& campaign_id, int limit);

// Whether remove_old() would find a row. Removes up to `limit` pictures and creatives whose time is
// over; returns their number.
bool is_anything_old(db::Tx& tx);
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::creatives
