#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "controller/base/enum_text.h"

// The texts of pages and mails in the languages that people read them in. The sources have the
// English ones; messages/LANGUAGE.yaml has those of every other language, with the English text as
// the key. scripts/check_messages.py finds texts that a language lacks or nobody uses any more.
namespace berth {

// A new language is a value here, its texts (codes of ISO 639-1), its name and a file.
enum class Language { en, de };
constexpr auto texts_of(Language) { return EnumTexts<Language::de>{"en", "de"}; }
inline constexpr std::array all_languages = {Language::en, Language::de};

namespace messages {

// Returns what the language is called by those who speak it.
std::string_view own_name(Language language);

// What takes the place of {NAME} in a text.
using Insert = std::pair<std::string_view, std::string>;
// Returns the text in the language, with the values in it. `english` has to be a literal, so that
// the check finds it. Without a translation, which the check doesn't let through, the result is
// English. Thread-safe.
std::string say(Language language, std::string_view english,
                std::initializer_list<Insert> values = {});

// Returns the reason of a refusal in the language: the words of an Error or of one of its details.
// They have no full stop at the end. Returns nothing if the language has no text for it, and the
// text itself in English.
std::optional<std::string> reason(Language language, std::string_view english);
// Returns what a field of a form, named as in errors, is called in the language. Returns nothing if
// it has no name, and always in English, where the reasons of errors name their fields themselves.
std::optional<std::string> field(Language language, std::string_view name);

}  // namespace messages
}  // namespace berth
