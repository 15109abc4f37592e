#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Returns the one of `names` that somebody who wrote `text` probably meant: at most two slips away,
// or one if `text` has fewer than five characters. A slip is a character that is missing, too many
// or wrong, or two neighbours that are swapped. Returns nothing if no name is as near as that, or
// if `text` is longer than 64 bytes. If two are equally near, the first one wins.
std::optional<std::string> nearest_spelling(std::string_view text,
                                            const std::vector<std::string>& names);

}  // namespace berth
