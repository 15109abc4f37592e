#include "reconcilers/kube/answers.h"

#include <algorithm>

#include "controller/base/json_text.h"

namespace berth::kube {
namespace {

// The deepest objects are custom resource definitions, and their schemas stay far below this.
constexpr int max_depth = 256;
// Long enough to recognise a proxy's error page.
constexpr size_t max_foreign_text = 200;

struct TooDeep {};

std::string text_of(const Object& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Shortens a body that isn't a Status object to one printable line.
std::string foreign_text(std::string_view body) {
  std::string text(body.substr(0, max_foreign_text));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

Object status_in(const std::string& body) {
  Object status = Object::parse(body, nullptr, false);
  if (!status.is_object() || text_of(status, "kind") != "Status") return nullptr;
  return status;
}

}  // namespace

Object parse_object(std::string_view text, const std::string& what) {
  try {
    Object object = Object::parse(objects_as_texts(text, "fieldsV1"),
                                  [](int depth, Object::parse_event_t, Object&) {
                                    if (depth > max_depth) throw TooDeep();
                                    return true;
                                  });
    if (object.is_object()) return object;
  } catch (const Object::parse_error&) {
  } catch (const TooDeep&) {
  }
  // Doesn't say what is wrong with it: a parse_error quotes the text, which may contain a secret.
  throw ApiError(0, "", what + ": the answer isn't a JSON object");
}

ApiError error_of(const HttpAnswer& answer, const std::string& what) {
  if (answer.status == 0)
    return ApiError(0, answer.was_silent ? std::string(reason_of_silence) : "",
                    what + ": " + answer.failure);
  const Object status = status_in(answer.body);
  if (status.is_object())
    return ApiError(answer.status, text_of(status, "reason"), text_of(status, "message"),
                    answer.retry_after);
  return ApiError(
      answer.status, "",
      what + ": HTTP " + std::to_string(answer.status) + " " + foreign_text(answer.body),
      answer.retry_after);
}

ApiError error_of_status(const Object& status, const std::string& what) {
  const auto code = status.find("code");
  const bool numbered = code != status.end() && code->is_number_integer();
  const std::string message = text_of(status, "message");
  return ApiError(numbered ? code->get<int>() : 0, text_of(status, "reason"),
                  message.empty() ? what + ": the server ended it with an error" : message);
}

bool says_not_found(const HttpAnswer& answer) {
  return answer.status == 404 && status_in(answer.body).is_object();
}

}  // namespace berth::kube
