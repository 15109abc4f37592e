#pragma once

#include <string>
#include <string_view>

// Changes JSON texts without parsing all of them. Both functions take JSON without white space, as
// programs write it (RFC 8259), and change nothing in a text that has another form.
namespace berth {

// Returns the JSON text in which each member `name` whose value is an object has the text of that
// object, as a JSON string, for its value. Parsing it then costs no tree for the object.
std::string objects_as_texts(std::string_view json, std::string_view name);

// The reverse: each member `name` whose value is a string that begins like an object gets the
// object that is written in that string as its value.
std::string texts_as_objects(std::string_view json, std::string_view name);

}  // namespace berth
