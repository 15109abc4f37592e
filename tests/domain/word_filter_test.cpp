#include "controller/domain/social/word_filter.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

using berth::WordFilter;

namespace {

const WordFilter filter({"shit", "ass", "cunt", "bum", "tall", "bad word", "1488", "здесь", "傻瓜",
                         "naïve", "ﬁsh", "penis", "hi", "ill", "mark"});

std::string filtered(std::string_view text) { return filter.filter(text); }

bool only_asterisks(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c == '*'; });
}

const std::vector<std::string> ways_to_write_s = {"s", "S", "5", "ѕ", "ş", "ｓ",
                                                  "𝐬", "ⓢ", "🆂", "ſ", "ꜱ"};
const std::vector<std::string> ways_to_write_h = {"h", "H", "һ", "ĥ", "ｈ", "н", "ℋ", "ʜ"};
const std::vector<std::string> ways_to_write_i = {"i", "I", "1", "!",  "l", "|",
                                                  "ı", "í", "і", "ｉ", "ɪ"};
const std::vector<std::string> ways_to_write_t = {"t", "T", "7", "т", "ţ", "ｔ", "𝓽", "ᴛ"};
const std::vector<std::string> between = {
    "", "", "", ".", "-", "_", "*", "\u200b", "\u00ad", "\u0301", "\u2060", "...", "\u200d"};

std::string disguised_shit() {
  std::string word;
  for (const auto* ways :
       {&ways_to_write_s, &ways_to_write_h, &ways_to_write_i, &ways_to_write_t}) {
    const int times = *rc::gen::inRange(1, 4);
    for (int i = 0; i < times; ++i) word += *rc::gen::elementOf(*ways);
    if (ways != &ways_to_write_t) word += *rc::gen::elementOf(between);
  }
  return word;
}

}  // namespace

TEST_CASE("word filter: a listed word becomes asterisks, and the rest stays") {
  CHECK(filtered("oh shit, rain") == "oh ****, rain");
  CHECK(filtered("shit") == "****");
  CHECK(filtered("(shit)!") == "(****)!");
  CHECK(filtered("shit shit") == "**** ****");
  CHECK(filtered("") == "");
  CHECK(filtered("nothing to see") == "nothing to see");
}

TEST_CASE("word filter: disguises") {
  CHECK(filtered("SHIT Shit sHiT") == "**** **** ****");
  CHECK(filtered("ѕһіт") == "****");                // Cyrillic
  CHECK(filtered("ｓｈｉｔ") == "****");            // full width
  CHECK(filtered("𝓼𝓱𝓲𝓽") == "****");                // mathematical
  CHECK(filtered("ⓢⓗⓘⓣ") == "****");                // in circles
  CHECK(filtered("🅂🄷🄸🅃 🆂🅷🅸🆃") == "**** ****");      // in squares
  CHECK(filtered("🇸🇭🇮🇹 shit🇩🇪") == "**** ****🇩🇪");  // of flags
  CHECK(filtered("ꜱʜɪᴛ sʜɪᴛ") == "**** ****");      // small capitals
  CHECK(filtered("şĥíţ") == "****");
  CHECK(filtered("s\u0336h\u0336i\u0336t\u0336") == "****");  // struck through
  CHECK(filtered("5h1t $h!t sh|t 5h17") == "**** **** **** ****");
  CHECK(filtered("a55 @ss @$$ 4$s") == "*** *** *** ***");
  CHECK(filtered("s\u200bh\u200bi\u200bt") == "****");
  CHECK(filtered("s.h.i.t s-h-i-t s_h_i_t") == "******* ******* *******");
  CHECK(filtered("s h i t") == "*******");
  CHECK(filtered("s  h\ti\nt") == "********");
  CHECK(filtered("shiiiit ssshhit s.s.h.i.i.t") == "******* ******* ***********");
  CHECK(filtered("asssss") == "******");
  CHECK(filtered("aß") == "**");
  CHECK(filtered("ЗДЕСЬ здecь 3дeсь") == "***** ***** *****");
  CHECK(filtered("naive NAÏVE nai\u0308ve") == "***** ***** *****");
  CHECK(filtered("fish fi5h") == "**** ****");
}

TEST_CASE("word filter: innocent texts stay") {
  for (const std::string text : {"Scunthorpe",
                                 "assume the class passes",
                                 "as",
                                 "as soon as possible",
                                 "the burn",
                                 "the pen is mightier",
                                 "this hit",
                                 "as s",
                                 "455",
                                 "I paid $55",
                                 "s",
                                 "sh it",
                                 "stall",
                                 "wow!!!",
                                 "|||",
                                 "$$$",
                                 "shirt",
                                 "1,488,000",
                                 "21488",
                                 "14880",
                                 "ass\u200bume",
                                 "bad sword",
                                 "s h i r t",
                                 "shi",
                                 "hit",
                                 "is hi\u00adt"})
    CHECK(filtered(text) == text);
}

TEST_CASE("word filter: where a word ends") {
  CHECK(filtered("ass-hat ass's") == "***-hat ***'s");
  CHECK(filtered("shit1 2shit shit_") == "****1 2**** ****_");
  CHECK(filtered("hi! @mark #mark") == "**! @**** #****");
  CHECK(filtered("shit\u200b!") == "****!");
  // L and i count as the same letter, because 1 looks like both.
  CHECK(filtered("tall tail") == "**** ****");
}

TEST_CASE("word filter: two-word entries, numbers, scripts without spaces") {
  CHECK(filtered("a bad word, a badword, a bad  w0rd") == "a ********, a *******, a *********");
  CHECK(filtered("1488 in 1488.") == "**** in ****.");
  CHECK(filtered("iabb") == "iabb");
  CHECK(filtered("你是傻瓜吗") == "你是**吗");
}

TEST_CASE("word filter: what isn't UTF-8 stays as it is") {
  const std::string broken = "\xff\xfe shit \xc3(\xe2\x82 \xf0\x9f";
  CHECK(filtered(broken) == "\xff\xfe **** \xc3(\xe2\x82 \xf0\x9f");
}

TEST_CASE("word filter: what can be listed") {
  CHECK(WordFilter::can_match("word"));
  CHECK(WordFilter::can_match("two words"));
  CHECK(WordFilter::can_match("1488"));
  CHECK_FALSE(WordFilter::can_match(""));
  CHECK_FALSE(WordFilter::can_match(" *.- "));
  CHECK_FALSE(WordFilter::can_match("$!@"));
  CHECK_FALSE(WordFilter::can_match(std::string(WordFilter::max_letters + 1, 'a')));
  CHECK(WordFilter({"", "...", "$$"}).filter("... $$ ok") == "... $$ ok");
  CHECK(WordFilter({}).filter("anything") == "anything");
}

TEST_CASE("word filter: property: no disguise works") {
  CHECK(rc::check([] {
    const std::string word = disguised_shit();
    const std::string text = filtered("well " + word + " then");
    RC_LOG() << word << " became " << text;
    RC_ASSERT(text.starts_with("well *"));
    RC_ASSERT(text.ends_with(" then"));
    RC_ASSERT(only_asterisks(text.substr(5, text.size() - 10)));
  }));
}

TEST_CASE("word filter: property: inside a longer word it stays") {
  CHECK(rc::check([] {
    const auto letters = [] {
      return *rc::gen::nonEmpty(
          rc::gen::container<std::string>(rc::gen::elementOf(std::string("oueknz"))));
    };
    const std::string text = letters() + "cunt" + letters();
    RC_ASSERT(filtered(text) == text);
  }));
}

TEST_CASE("word filter: property: any bytes are preserved, except for whole listed words") {
  CHECK(rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::oneOf(
        rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("shit as$!1.*- \n"))));
    const std::string result = filtered(text);
    RC_ASSERT(result.size() <= text.size());
    // Apart from asterisks, the result is a subsequence of the input.
    size_t at = 0;
    for (const char byte : result) {
      if (byte == '*') continue;
      while (at < text.size() && text[at] != byte) ++at;
      RC_ASSERT(at < text.size());
      ++at;
    }
    RC_ASSERT(filtered(text) == result);
  }));
}
