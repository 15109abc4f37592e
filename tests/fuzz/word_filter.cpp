// The chat's word filter: the first line is a listed word, the rest the text to filter.
#include "controller/domain/social/word_filter.h"

#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

// Whether `filtered` consists of asterisks and bytes of `text`, in their order. An asterisk may
// also be one of the text's own.
bool is_masked(std::string_view text, std::string_view filtered) {
  std::size_t at = 0;
  for (const char c : filtered) {
    if (c == '*') continue;
    const std::size_t found = text.find(c, at);
    if (found == text.npos) return false;
    at = found + 1;
  }
  return true;
}

}  // namespace

void run(std::string_view input) {
  const std::string word(take_line(input));
  const WordFilter filter({word, "scrap", "fo o", "1488"});
  const std::string filtered = filter.filter(input);
  hold(filtered.size() <= input.size(), "a filtered text is no longer than the text");
  hold(is_masked(input, filtered), "a filter only ever puts asterisks for characters");
  hold(filter.filter("a scrap of it").substr(2, 5) == "*****",
       "a listed word is found whatever else is listed");
}

}  // namespace berth::fuzz
