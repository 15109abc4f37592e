#pragma once

#include <string>
#include <string_view>

// Changes JSON texts without parsing all of them. Both functions take JSON without white space, as
// programs write it (RFC 8259), and change nothing in a text that has another form.
namespace berth {

// Replaces the value of each member `name`, if it is an object, by a JSON string that contains the
// object's text: {"a":{"b":1}} becomes {"a":"{\"b\":1}"} for the name "a". Parsing the result then
// makes no tree of the object.
std::string objects_as_texts(std::string_view json, std::string_view name);

// Does the reverse: replaces the value of each member `name`, if it is a string that begins like an
// object, by the object.
std::string texts_as_objects(std::string_view json, std::string_view name);

}  // namespace berth
