#include "berthd/pushed_image.h"

#include "reconcilers/registry/image_size.h"

namespace berth {

pushes::Answer pushed_image(const pushes::Question& question, const std::stop_token& stop) {
  try {
    std::optional<registry::Credentials> credentials;
    if (question.credentials)
      credentials = {question.credentials->username, question.credentials->password};
    return {.digest =
                registry::tag_digest(registry::parse_image_name(question.image), credentials, stop),
            .error = {}};
  } catch (const std::exception& failure) {
    return {.digest = {}, .error = failure.what()};
  }
}

}  // namespace berth
