#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"

// Deploy on push: a deployment with `auto_deploy` follows the tag of its image. The loop asks the
// registry for the tag's digest once a minute. If it is another one than at the last look, the
// image is rolled out as by a restart. A registry's hook only has the registry asked sooner: what
// it says isn't believed.
//
// A new image is on trial for trial_time. If its rollout fails or its containers crash until then,
// or it doesn't run by the end of that time, which doesn't end while its release command goes on,
// the deployment goes back to what ran before, and the digest is rejected: it is never rolled out
// again by itself. So a tag that changes between two digests can't cause rollouts for ever.
namespace berth::pushes {

using deployments::Deployment;
using deployments::RegistryCredentials;
using deployments::Rules;

inline constexpr Duration asked_every = std::chrono::minutes(1);
// After a hint the registry is asked so often, so many times, because some send their hook before
// they serve the image.
inline constexpr Duration hurried_every = std::chrono::seconds(3);
inline constexpr int hurried_times = 10;
// A registry that doesn't answer is asked again after a minute, twice that, and so on up to this.
inline constexpr Duration longest_pause = std::chrono::hours(1);
inline constexpr Duration trial_time = std::chrono::minutes(10);
// A registry may refuse for a moment, or send its hook before it serves the image. Until the pull
// has been tried for this long, that isn't the image's fault.
inline constexpr Duration pull_tried_for = std::chrono::minutes(2);
inline constexpr std::size_t max_rejected = 20;
// Of several rollbacks within this time, the owner gets a mail for the first one: who pushes broken
// images all day isn't told each minute. The deployment's log has all of them.
inline constexpr Duration mailed_every = std::chrono::hours(6);

// ---- For the API --------------------------------------------------------------------------------

// Whether the image has a tag that can be followed: it is in a registry, and isn't named by its
// digest alone.
bool has_tag(const std::string& image);
// Whether `text` is what the field deploy_hours may be.
bool is_hours(const std::string& text);
// Whether a new image may be rolled out at this time; at any time without hours.
bool is_in_hours(const std::string& hours, Instant at);

// To be called when a deployment was created, changed, rolled back or deleted: begins, goes on or
// ends to follow its image's tag. Another image begins anew.
void follow(db::Tx& tx, const Deployment& deployment);

struct View {
  std::string image;                  // whose tag is followed
  std::optional<std::string> digest;  // at the last look
  std::optional<Instant> asked_at;
  std::optional<Instant> next_at;  // empty while nothing is followed
  std::optional<std::string> error;
  std::vector<std::string> rejected;
  std::optional<Instant> trial_until;
  bool has_hook = false;
};
// Returns nothing if the deployment has never followed a tag.
std::optional<View> view(db::Tx& tx, const std::string& deployment_id);

// Makes the secret of the address to which a registry sends its hook, in place of an earlier one,
// and returns it. Throws invalid_state if the deployment doesn't follow a tag.
std::string make_hook(db::Tx& tx, const Deployment& deployment);
void remove_hook(db::Tx& tx, const std::string& deployment_id);
// Has the registry asked at once. Returns false if the secret isn't the deployment's. However often
// it is called, the registry isn't asked more often than every hurried_every.
bool hint(db::Tx& tx, const std::string& deployment_id, const std::string& secret);

// ---- For the loop -------------------------------------------------------------------------------

// What a registry is to be asked.
struct Question {
  std::string deployment_id;
  std::string image;
  std::optional<RegistryCredentials> credentials;
};
// Returns what is due, the longest waiting first.
std::vector<Question> due(db::Tx& tx, int most, const std::string& data_key);

// What the registry has answered: the tag's digest, or why there is none.
struct Answer {
  std::optional<std::string> digest;
  std::string error;
};
// Stores the answer, and rolls the image out if it is another one. Returns whether it does. Changes
// nothing if the deployment follows another image by now.
bool record(db::Tx& tx, const Question& question, const Answer& answer, const Rules& rules);

// Returns the ids of deployments whose new image is on trial and may have passed or failed by now;
// at most `most`.
std::vector<std::string> to_judge(db::Tx& tx, int most);
enum class Verdict { waits, passed, rolled_back };
// Ends the trial if that can be said. Rolls back, with a log entry and a mail to the owner (unless
// they got one within mailed_every), if the new image failed.
Verdict judge(db::Tx& tx, const std::string& deployment_id, const Rules& rules,
              const std::string& data_key);

}  // namespace berth::pushes
