#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/page.h"

// Builds: images that berthd makes from source on its own machine, for an app and a name of a
// deployment, which needn't exist yet. Who may build what, and what became of it, is here; how an
// image is made, and where sources and logs are, isn't (reconcilers/builds).
//
// The API creates a build, which waits. The loop of builds starts one of an app at a time and ends
// it. Its price is taken in the transaction in which it ends, and build_charges rules out that it
// is taken twice. A build that this machine cut off, by a restart or a fault of its own, costs
// nothing.
//
// An image is named localhost/APP/NAME@sha256:…, and that app alone may run it. It stays while a
// deployment runs it, and for rollbacks while it is one of the newest kept_images of its
// deployment.
namespace berth::builds {

enum class Status { queued, building, succeeded, failed, cancelled };
constexpr auto texts_of(Status) {
  return EnumTexts<Status::cancelled>{"queued", "building", "succeeded", "failed", "cancelled"};
}
inline bool is_over(Status status) {
  return status != Status::queued && status != Status::building;
}

// Why a build failed, or was cancelled by the platform.
enum class Reason {
  build_failed,         // a step of the Containerfile failed
  containerfile_wrong,  // it can't be read, or has something that builds here may not do
  image_pull_failed,    // of a base image
  timed_out,
  out_of_memory,
  out_of_room,  // the image, or what the build writes, is too large
  interrupted,  // berthd or its builder was restarted; nothing is charged
  unavailable,  // the builder has a fault; nothing is charged
};
constexpr auto texts_of(Reason) {
  return EnumTexts<Reason::unavailable>{"build_failed", "containerfile_wrong", "image_pull_failed",
                                        "timed_out",    "out_of_memory",       "out_of_room",
                                        "interrupted",  "unavailable"};
}
// Whether the platform is to blame, so that nothing is charged.
inline bool is_own_fault(Reason reason) {
  return reason == Reason::interrupted || reason == Reason::unavailable;
}

struct Build {
  std::string id;
  std::string app_id;
  std::string owner_id;
  std::string name;  // of the deployment
  std::string initiated_by;
  Status status = Status::queued;
  std::optional<Reason> reason;
  std::optional<std::string> message;
  std::int64_t source_bytes = 0;
  std::int64_t log_bytes = 0;
  std::optional<std::string> image;  // once it has succeeded
  std::int64_t image_bytes = 0;
  std::optional<Instant> image_removed_at;
  std::int64_t price = 0;   // points for a minute
  std::int64_t points = 0;  // what it cost
  std::optional<Instant> cancel_asked_at;
  Instant inserted_at;
  std::optional<Instant> started_at;
  std::optional<Instant> ended_at;
};

// What the configuration says about builds.
struct Limits {
  std::chrono::seconds time{0};    // the longest time that a build may take
  std::int64_t storage_bytes = 0;  // what the images of an account may have together
};

// Builds of an account that may wait or run, over all of its apps.
inline constexpr int max_open_of_account = 5;
// How many images of a deployment stay, besides the one that it runs.
inline constexpr int kept_images = 3;
// How long an image stays that no deployment runs yet.
inline constexpr Duration unused_for = std::chrono::hours(1);
// How long the row of a build stays, and how many of a deployment do; longer while its image does.
inline constexpr Duration kept_for = std::chrono::hours(24) * 30;
inline constexpr int kept_builds = 50;
inline constexpr std::size_t max_message_length = 1000;

inline constexpr std::string_view image_host = "localhost";
// Returns the name, without tag and digest, of the images of that app's deployment.
std::string repository(const std::string& app_id, const std::string& name);

// ---- For the API --------------------------------------------------------------------------------

struct Order {
  std::string id;    // a new one, because the source is stored under it first
  std::string name;  // of the deployment
  std::string tier;  // a slug; that of the deployment counts, if there is one
  std::int64_t source_bytes = 0;
};
// Creates a build that waits. Throws validation_failed for the name, unknown_tier,
// payment_method_unsupported, tier_not_allowed; subdomain_taken if another app's deployment has the
// name; build_limit_reached if the account has too many builds or too large images; and
// insufficient_balance unless the app has the points for the longest time that it may take.
Build create(db::Tx& tx, const deployments::Actor& actor, const Order& order, const Limits& limits);

std::optional<Build> find(db::Tx& tx, const std::string& id);
// Returns the app's build. Throws build_not_found, or forbidden if another app owns it.
Build get_owned(db::Tx& tx, const std::string& app_id, const std::string& id);
// Returns the app's builds for this name, newest first; for all names if it is empty.
Page<Build> list(db::Tx& tx, const std::string& app_id, const std::string& name,
                 const PageRequest& page);
// Cancels a build that waits, and asks the loop to end one that runs. Does nothing if it is over.
// Returns the build as it is afterwards.
Build cancel(db::Tx& tx, const deployments::Actor& actor, const std::string& id);

// Throws unsupported_registry if the image is one of image_host and isn't an image of this app's
// builds that is still there. Other images are none of its business.
void check_image(db::Tx& tx, const std::string& app_id, const std::string& image);
// Whether the image has the form of those that builds make.
bool is_built(std::string_view image);

// ---- For a move to another cluster --------------------------------------------------------------

// An image that builds made, and the names of the deployments that want it, also while they are
// stopped.
struct ImageInUse {
  std::string image;
  std::string app_id;
  std::string name;  // of its builds
  std::vector<std::string> deployments;
};
// All of them, in the order of their builds. Reads every build whose image is still there.
std::vector<ImageInUse> images_in_use(db::Tx& tx);
// Has all deployments of the app that want the image `from`, and rollbacks to it, want `to`, which
// is the same image at a place that the app's cluster can pull it from. It is a rollout like that
// of a change, and free of charge. Returns the number of deployments.
int replace_image(db::Tx& tx, const std::string& app_id, const std::string& from,
                  const std::string& to);

// ---- For the loop of builds ---------------------------------------------------------------------

// Returns the builds to start next, oldest first, of each app the first, unless one of its builds
// is running.
std::vector<Build> next(db::Tx& tx, int most);
// Marks a build that waits as running. Returns false if it doesn't wait any more.
bool start(db::Tx& tx, const std::string& id);
// The ids of builds that are running and are to be cancelled.
std::vector<std::string> to_cancel(db::Tx& tx);
// The ids of the builds that are marked as running; after a start of berthd none really is.
std::vector<std::string> running(db::Tx& tx);

struct Outcome {
  Status status = Status::failed;  // succeeded, failed or cancelled
  std::optional<Reason> reason = {};
  std::string message = {};  // at most max_message_length bytes are kept
  std::string image = {};    // of a success
  std::int64_t image_bytes = 0;
  std::int64_t log_bytes = 0;
};
// Ends a running build and charges it: each minute that began, at most those of the longest time,
// and no more than the app has. Does nothing and returns false if it isn't running, so that nothing
// is charged twice.
bool finish(db::Tx& tx, const std::string& id, const Outcome& outcome, const Limits& limits);

// Images that nothing needs any more, `most` at most.
std::vector<Build> unneeded_images(db::Tx& tx, int most);
// Marks an image as removed, if it is still unneeded. Returns whether it was; only then may the
// image be removed.
bool give_up_image(db::Tx& tx, const std::string& id);
// Whether an image with this name may stay on the machine.
bool is_kept(db::Tx& tx, const std::string& image);

// Whether remove_old() would remove a build. Removes rows of builds that are over, about `limit`.
bool is_any_old(db::Tx& tx);
int remove_old(db::Tx& tx, int limit);
// Whether one of the app's builds isn't over.
bool has_open(db::Tx& tx, const std::string& app_id);
// Removes the rows of a deleted app, at most `limit`, and thereby gives up their images. Returns
// how many.
int erase(db::Tx& tx, const std::string& app_id, int limit);

}  // namespace berth::builds
