#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Of `names`, the one that somebody who wrote `text` probably meant: at most two slips away, or one
// where `text` has fewer than five characters. A slip is a character that is missing, too many or
// wrong, or two neighbours that are swapped. Nothing if no name is as near as that, or if `text` is
// longer than 64 bytes. The first one wins where two are equally near.
std::optional<std::string> nearest_spelling(std::string_view text,
                                            const std::vector<std::string>& names);

}  // namespace berth
