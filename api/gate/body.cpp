#include "api/gate/body.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/text.h"
#include "controller/transport/http.h"

namespace berth::api {
namespace {

using nlohmann::json;

// Builds the value while nlohmann's parser reads the text (its SAX interface), so that a text that
// is refused costs no more than the part that was read.
class BodyReader {
 public:
  json take() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  // A number without a fraction is an integer, however it is written: 1.0, 1e2 (JSON Schema
  // 2020-12, core, section 4.2.3). Beyond 2^53 a double may stand for another integer than the
  // text.
  bool number_float(json::number_float_t value, const std::string&) {
    constexpr double largest_exact = 9'007'199'254'740'991;
    if (std::abs(value) <= largest_exact && std::trunc(value) == value)
      return add(std::int64_t(value));
    return add(value);
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // JSON texts have none

  bool start_object(size_t) { return open(json::object()); }
  bool start_array(size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  // A name that occurs twice is refused, because programs differ in which of its values they take
  // (RFC 8259, section 4): a proxy may have checked another value than the one that is read here.
  bool key(std::string& name) {
    auto& fields = open_.back()->get_ref<json::object_t&>();
    const auto [place, is_new] = fields.emplace(std::move(name), nullptr);
    if (!is_new) throw Error(Code::invalid_json, shown(place->first) + " occurs more than once");
    field_ = &place->second;
    return true;
  }

  bool parse_error(size_t, const std::string&, const json::exception&) { return false; }

 private:
  bool add(json value) {
    if (++values_ > max_json_values)
      throw Error(Code::invalid_json,
                  "the body has more than " + std::to_string(max_json_values) + " values");
    newest_ = &root_;
    if (!open_.empty() && open_.back()->is_array())
      newest_ = &open_.back()->get_ref<json::array_t&>().emplace_back();
    else if (!open_.empty())
      newest_ = field_;
    *newest_ = std::move(value);
    return true;
  }
  bool open(json container) {
    if (open_.size() == max_json_depth)
      throw Error(Code::invalid_json,
                  "the body is nested deeper than " + std::to_string(max_json_depth) + " levels");
    add(std::move(container));
    open_.push_back(newest_);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  json root_;
  std::vector<json*> open_;  // the containers that aren't complete yet, each in the one before it
  json* field_ = nullptr;    // the place of the value whose name was read last
  json* newest_ = nullptr;   // the value that was added last
  size_t values_ = 0;
};

}  // namespace

json parse_body(std::string_view text) {
  BodyReader reader;
  // The parser would stop at a NUL and ignore what follows it.
  if (text.find('\0') != std::string_view::npos || !json::sax_parse(text, &reader))
    throw Error(Code::invalid_json, "the body isn't valid JSON");
  return reader.take();
}

json parse_form_body(std::string_view text) {
  auto form = parse_form(text);
  if (!form)
    throw Error(Code::invalid_request, "the form can't be decoded or has more than " +
                                           std::to_string(max_form_fields) + " fields");
  if (!is_utf8(*form)) throw Error(Code::invalid_request, "the form isn't valid UTF-8");
  json body = json::object();
  for (auto& [name, value] : *form) {
    // Parameters must not occur more than once (RFC 6749, section 3.2).
    if (body.contains(name))
      throw Error(Code::invalid_request, shown(name) + " occurs more than once");
    body[name] = std::move(value);
  }
  return body;
}

}  // namespace berth::api
