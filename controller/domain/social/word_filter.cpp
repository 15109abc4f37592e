#include "controller/domain/social/word_filter.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <optional>

#include "controller/base/look_alikes.h"

namespace berth {
namespace {

using Kind = Looks::Kind;

// How many characters may be skipped between two letters of a word.
constexpr size_t max_gap = 8;
// The most pieces that a word may consist of, which bounds the time for each position of a text.
constexpr size_t max_pieces = 4 * WordFilter::max_letters;
// Repetitions of a letter are counted up to this number. No word repeats a letter so often.
constexpr size_t max_repeats = 8;
// How many readings of a text are followed at once. There are several, because each sign may be a
// letter or be skipped.
constexpr size_t max_states = 32;
constexpr size_t fewest_spaced_letters = 3;

struct Character {
  size_t begin = 0;  // in bytes
  size_t end = 0;
  Looks looks;
};

// U8_NEXT mixes integers of different widths.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
Character next_character(std::string_view text, size_t at) {
  auto end = static_cast<int32_t>(at);
  UChar32 character = 0;
  U8_NEXT(text.data(), end, static_cast<int32_t>(text.size()), character);
  const bool valid = character >= 0;
  return {.begin = at,
          .end = static_cast<size_t>(end),
          .looks = valid ? looks_of(static_cast<char32_t>(character)) : Looks{}};
}
#pragma GCC diagnostic pop

bool spells(Kind kind) { return kind == Kind::letter || kind == Kind::digit || kind == Kind::sign; }

}  // namespace

// One letter, occurring once or several times in a row, or one separator; with the zero-width
// characters after it.
struct WordFilter::Piece {
  Kind kind = Kind::separator;
  char32_t letter = 0;  // 0 for a separator, or a digit that resembles no letter
  bool stands_alone = false;
  size_t count = 1;
  size_t begin = 0;  // in bytes
  size_t end = 0;

  // Whether a word may end between `before` and `after`.
  static bool apart(const Piece& before, const Piece& after) {
    if (before.end > after.begin) return false;  // both come from the same character
    if (before.kind == Kind::digit && after.kind == Kind::digit) return false;
    return before.kind != Kind::letter || after.kind != Kind::letter || before.stands_alone ||
           after.stands_alone;
  }
};

std::vector<WordFilter::Piece> WordFilter::split(std::string_view text) {
  std::vector<Piece> pieces;
  for (size_t at = 0; at < text.size();) {
    const Character character = next_character(text, at);
    at = character.end;
    const Looks& looks = character.looks;
    if (looks.kind == Kind::nothing) {
      if (!pieces.empty()) pieces.back().end = at;
      continue;
    }
    const std::u32string letters = looks.letters.empty() ? std::u32string(1, 0) : looks.letters;
    for (const char32_t letter : letters) {
      const bool repeated = !pieces.empty() && spells(looks.kind) && letter != 0 &&
                            pieces.back().kind == looks.kind && pieces.back().letter == letter;
      if (repeated) {
        ++pieces.back().count;
        pieces.back().end = at;
      } else {
        pieces.push_back({.kind = looks.kind,
                          .letter = letter,
                          .stands_alone = looks.stands_alone,
                          .count = 1,
                          .begin = character.begin,
                          .end = at});
      }
    }
  }
  return pieces;
}

bool WordFilter::can_match(std::string_view word) {
  size_t letters = 0;
  bool real = false;
  for (size_t at = 0; at < word.size();) {
    const Character character = next_character(word, at);
    at = character.end;
    if (!spells(character.looks.kind)) continue;
    letters += character.looks.letters.size();
    real = real || (character.looks.kind != Kind::sign && !character.looks.letters.empty());
  }
  return real && letters <= max_letters;
}

WordFilter::WordFilter(const std::vector<std::string>& words) : nodes_(1) {
  for (const std::string& word : words)
    if (can_match(word)) add(word);
}

void WordFilter::add(std::string_view word) {
  std::uint32_t node = 0;
  Ending ending = Ending::number;
  for (size_t at = 0; at < word.size();) {
    const Character character = next_character(word, at);
    at = character.end;
    if (character.looks.kind == Kind::space && node != 0) nodes_[node].space = true;
    if (!spells(character.looks.kind)) continue;
    if (character.looks.kind == Kind::letter) ending = Ending::word;
    for (const char32_t letter : character.looks.letters) {
      const auto [next, added] =
          nodes_[node].next.try_emplace(letter, static_cast<std::uint32_t>(nodes_.size()));
      const std::uint32_t child = next->second;
      if (added) {
        const bool repeats = node != 0 && nodes_[node].letter == letter;
        const auto runs = static_cast<std::uint8_t>(nodes_[node].runs + (repeats ? 0 : 1));
        nodes_.push_back({.letter = letter, .next = {}, .space = false, .runs = runs});
      }
      node = child;
    }
  }
  // "1488" and "iabb" normalise to the same letters; the word with letters matches more texts, so
  // it takes precedence.
  if (nodes_[node].ending == Ending::none || ending == Ending::word) nodes_[node].ending = ending;
}

// Reads pieces from one position on, and follows all possible readings at once.
struct WordFilter::Walk {
  struct State {
    std::uint32_t node = 0;
    bool broken = false;  // a space was skipped that the listed word doesn't have
    bool operator==(const State&) const = default;
  };

  const std::vector<Node>& nodes;
  std::vector<State> states = {State{}};
  size_t letters = 0;
  size_t digits = 0;
  size_t gap = 0;
  bool parted = false;          // a separator was skipped
  bool spaced = false;          // a space was skipped
  size_t letters_in_group = 0;  // since the last space
  size_t largest_group = 0;

  void put(std::vector<State>& to, State state) const {
    if (to.size() < max_states && std::ranges::find(to, state) == to.end()) to.push_back(state);
  }

  void pass_separator(Kind kind) {
    ++gap;
    parted = true;
    if (kind != Kind::space) return;
    spaced = true;
    letters_in_group = 0;
    std::vector<State> after;
    for (State state : states) {
      state.broken = state.broken || !nodes[state.node].space;
      put(after, state);
    }
    states = std::move(after);
  }

  // The states after reading `letter` once; it may also repeat the previous letter.
  std::vector<State> read(const std::vector<State>& from, char32_t letter) const {
    std::vector<State> after;
    for (const State& state : from) {
      const Node& node = nodes[state.node];
      if (const auto next = node.next.find(letter); next != node.next.end())
        put(after, {next->second, state.broken});
      if (node.letter == letter) put(after, state);
    }
    return after;
  }

  // Reads a piece. Returns whether a word may end after it.
  bool pass(const Piece& piece) {
    std::vector<State> after = states;
    for (size_t count = std::min(piece.count, max_repeats); count > 0; --count)
      after = read(after, piece.letter);
    const bool is_sign = piece.kind == Kind::sign;
    const bool behind_gap = gap > 0;
    gap = is_sign && after.empty() ? gap + 1 : 0;
    if (!is_sign) {
      letters += piece.kind == Kind::letter ? 1 : 0;
      digits += piece.kind == Kind::digit ? 1 : 0;
      largest_group = std::max(largest_group, ++letters_in_group);
    }
    bool ended = false;
    for (const State& state : after) {
      // The sign after "hi!" ends a sentence, and the s in "boss's" belongs to another word.
      const bool only_repeats =
          (is_sign || behind_gap) && std::ranges::find(states, state) != states.end();
      ended = ended || (!only_repeats && ends(state));
    }
    if (is_sign)  // or the sign is skipped
      for (const State& state : states)
        if (state.node != 0) put(after, state);
    states = std::move(after);
    return ended;
  }

  bool ends(const State& state) const {
    const Node& node = nodes[state.node];
    if (node.ending == Ending::none) return false;
    const bool alone = largest_group == 1 && node.runs >= fewest_spaced_letters;
    if (state.broken && !alone) return false;
    if (node.ending == Ending::number) return letters == 0 && digits > 0 && !parted;
    // "$$$" and "!!!" aren't words, but "@$$" is.
    return letters > 0 || (digits == 0 && node.runs > 1);
  }
};

// The number of pieces from `start` on that form a listed word, for the longest such word; 0 if
// there is none.
size_t WordFilter::longest_match(const std::vector<Piece>& pieces, size_t start) const {
  Walk walk = {.nodes = nodes_};
  size_t longest = 0;
  const size_t end = std::min(pieces.size(), start + max_pieces);
  for (size_t at = start; at < end && !walk.states.empty() && walk.gap <= max_gap; ++at) {
    const Piece& piece = pieces[at];
    if (!spells(piece.kind)) {
      walk.pass_separator(piece.kind);
      continue;
    }
    const bool ends_word = walk.pass(piece);
    const bool may_end = at + 1 == pieces.size() || Piece::apart(piece, pieces[at + 1]);
    if (may_end && ends_word) longest = at + 1 - start;
  }
  return longest;
}

bool WordFilter::may_begin_at(const std::vector<Piece>& pieces, size_t at) {
  const Piece& piece = pieces[at];
  if (!spells(piece.kind) || piece.letter == 0) return false;
  if (at > 0 && !Piece::apart(pieces[at - 1], piece)) return false;
  // In "@art", the sign isn't the word's first letter.
  const bool repeated = at + 1 < pieces.size() && pieces[at + 1].letter == piece.letter;
  return piece.kind != Kind::sign || !repeated;
}

std::string WordFilter::filter(std::string_view text) const {
  const std::vector<Piece> pieces = split(text);
  std::string filtered;
  filtered.reserve(text.size());
  size_t kept_until = 0;  // in bytes
  for (size_t at = 0; at < pieces.size();) {
    const bool may_begin = may_begin_at(pieces, at);
    const size_t length = may_begin ? longest_match(pieces, at) : 0;
    if (length == 0) {
      ++at;
      continue;
    }
    const size_t begin = pieces[at].begin;
    const size_t end = pieces[at + length - 1].end;
    filtered += text.substr(kept_until, begin - kept_until);
    for (size_t byte = begin; byte < end;) {
      const Character character = next_character(text, byte);
      byte = character.end;
      if (character.looks.kind != Kind::nothing) filtered += '*';
    }
    kept_until = end;
    at += length;
  }
  return filtered += text.substr(kept_until);
}

}  // namespace berth
