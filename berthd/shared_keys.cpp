#include "berthd/shared_keys.h"

#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/domain/kernel/meta.h"

namespace berth {
namespace {

constexpr std::string_view place = "session_keys";

}  // namespace

std::optional<SessionKeys::List> stored_session_keys(db::Tx& tx, const std::string& data_key) {
  const auto row = meta::find(tx, place);
  if (!row) return std::nullopt;
  const auto sealed = parse_base64(*row);
  const auto text = sealed ? open_sealed(data_key, *sealed, place) : std::nullopt;
  if (!text) throw std::runtime_error("the session keys in the database can't be decrypted");
  return *parse_keys(*text).session.all();
}

std::string SharedKeys::rotate(Instant now, Duration session_lifetime) {
  const std::lock_guard lock(one_at_a_time_);
  const auto next = database_.write([&](db::Tx& tx) {
    const auto before = stored_session_keys(tx, keys_.data);
    SessionKeys::List list =
        rotated(before ? *before : *keys_.session.all(), now, session_lifetime);
    const std::string text = text_of({.data = keys_.data, .session = SessionKeys(list)});
    meta::put(tx, place, base64(seal(keys_.data, text, place)));
    return list;
  });
  take(next);
  return next.front().id;
}

void SharedKeys::reread() {
  const std::lock_guard lock(one_at_a_time_);
  const auto now = database_.read([&](db::Tx& tx) { return stored_session_keys(tx, keys_.data); });
  if (now && now->front().id != keys_.session[0].id) take(*now);
}

void SharedKeys::take(SessionKeys::List session) {
  keys_.session.replace(std::move(session));
  data_.write(keys_name, text_of(keys_));
}

}  // namespace berth
