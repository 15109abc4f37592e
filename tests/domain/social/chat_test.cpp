#include "controller/domain/social/chat.h"

#include <catch2/catch.hpp>

#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/social/blocks.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  chat::Filter filter;
  accounts::User ada = world.new_user("ada");
  accounts::User bob = world.new_user("bob");
  accounts::User eve = world.new_user("eve");
  chat::Channel lobby = open(ada, chat::ChannelType::lobby, "lobby-1");

  chat::Channel open(const accounts::User& user, chat::ChannelType type,
                     const std::optional<std::string>& ref_id) {
    return world.write([&](db::Tx& tx) { return chat::open(tx, user.id, type, ref_id); });
  }
  void join(const accounts::User& user) {
    world.write([&](db::Tx& tx) { chat::join(tx, user.id, lobby.id); });
  }
  chat::Message send(const accounts::User& user, const std::string& body) {
    return world.write([&](db::Tx& tx) {
      const auto words = filter.at(tx);
      return chat::send(tx, user.id, lobby.id, body,
                        {.data_key = world.keys.data, .words = *words});
    });
  }
  std::string sending(const accounts::User& user, const std::string& body) {
    return refusal([&] { send(user, body); });
  }
  chat::History history(const accounts::User& user, const chat::HistoryRequest& request = {}) {
    return world.read([&](db::Tx& tx) {
      const auto words = filter.at(tx);
      return chat::history(tx, user.id, lobby.id, request,
                           {.data_key = world.keys.data, .words = *words});
    });
  }
  // Returns, for example, "ada: hello; bob: hi".
  std::string read(const accounts::User& user, const chat::HistoryRequest& request = {}) {
    std::string text;
    for (const auto& message : history(user, request).messages)
      text += (text.empty() ? "" : "; ") + message.sender_username + ": " + message.filtered_body;
    return text;
  }
  std::vector<chat::Entry> entries(std::int64_t after = 0, int limit = 100) {
    return world.read([&](db::Tx& tx) {
      const auto words = filter.at(tx);
      return chat::entries_after(tx, lobby.id, after, limit,
                                 {.data_key = world.keys.data, .words = *words});
    });
  }
  void set_words(const std::vector<std::string>& words) {
    world.write([&](db::Tx& tx) { chat::set_words(tx, words, "root"); });
  }
  template <typename Work>
  std::string write(Work&& work) {
    return refusal([&] { world.write(work); });
  }
};

TEST_CASE("one channel for each type and ref_id, whoever opens it") {
  Fixture f;
  CHECK(f.lobby.joined);
  const auto again = f.open(f.bob, chat::ChannelType::lobby, "lobby-1");
  CHECK(again.id == f.lobby.id);
  CHECK_FALSE(again.joined);
  CHECK(f.open(f.bob, chat::ChannelType::table, "lobby-1").id != f.lobby.id);
  const auto of_all = f.open(f.bob, chat::ChannelType::lobby, {});
  CHECK(of_all.id == f.open(f.eve, chat::ChannelType::lobby, {}).id);
  CHECK_FALSE(of_all.ref_id);
  const auto opening = [&](chat::ChannelType type, const std::optional<std::string>& ref_id) {
    return refusal([&] { f.open(f.ada, type, ref_id); });
  };
  CHECK(opening(chat::ChannelType::table, {}) == "422 validation_failed");
  CHECK(opening(chat::ChannelType::lobby, "") == "422 validation_failed");
  CHECK(opening(chat::ChannelType::lobby, std::string(129, 'x')) == "422 validation_failed");

  const auto list = [&](const accounts::User& user, const chat::ChannelQuery& query) {
    return f.world.read([&](db::Tx& tx) { return chat::list(tx, user.id, query, {}).total; });
  };
  CHECK(list(f.ada, {}) == 3);
  CHECK(list(f.ada, {.type = chat::ChannelType::table}) == 1);
  CHECK(list(f.ada, {.type = {}, .only_joined = true}) == 1);
  CHECK(list(f.bob, {.type = chat::ChannelType::lobby, .only_joined = true}) == 1);
}

TEST_CASE("members of a channel read and write, others can't") {
  Fixture f;
  CHECK(f.sending(f.bob, "hello") == "403 forbidden");
  CHECK(refusal([&] { f.history(f.bob); }) == "403 forbidden");
  f.join(f.bob);
  f.join(f.bob);
  const auto sent = f.send(f.bob, "hello");
  CHECK(sent.sender_username == "bob");
  CHECK(sent.sent_at == f.world.clock.now());
  CHECK(f.read(f.ada) == "bob: hello");
  const auto leave = [&] {
    return f.write([&](db::Tx& tx) { chat::leave(tx, f.bob.id, f.lobby.id); });
  };
  CHECK(leave() == "");
  CHECK(leave() == "");
  CHECK(f.sending(f.bob, "hello") == "403 forbidden");
  CHECK(refusal([&] { f.history(f.bob); }) == "403 forbidden");
  CHECK(f.read(f.ada) == "bob: hello");
  for (const auto change : {chat::join, chat::leave, chat::get})
    CHECK(f.write([&](db::Tx& tx) { change(tx, f.bob.id, "unknown"); }) == "404 channel_not_found");
  CHECK(f.write([&](db::Tx& tx) { chat::require_member(tx, f.bob.id, "unknown"); }) ==
        "404 channel_not_found");
}

TEST_CASE("a message's size is limited") {
  Fixture f;
  for (const std::string& body :
       {std::string(), std::string(" \n\t"), std::string(1'001, 'x'), std::string("a\0b", 3),
        std::string("a\x1b[2J"), std::string("a\x7f"), std::string("a\u0085b"),
        // Invisible texts, and texts that are displayed in another order than they are filtered in.
        std::string("\u00a0\u200b\u3000"), std::string("\u202etihs")}) {
    INFO(body.size());
    CHECK(f.sending(f.ada, body) == "422 validation_failed");
  }
  std::string wide;
  for (int i = 0; i < 1'000; ++i) wide += "é";
  CHECK(f.sending(f.ada, wide) == "");
  CHECK(f.sending(f.ada, "two\nlines\tand a tab") == "");
  CHECK(f.sending(f.ada, "שלום\u200f 👩\u200d💻") == "");
}

TEST_CASE("a sender has a limit over all channels, by time") {
  Fixture f;
  f.join(f.bob);
  for (int i = 0; i < chat::max_messages_in_window; ++i) f.send(f.ada, std::to_string(i));
  try {
    f.send(f.ada, "one too many");
    FAIL("it was taken");
  } catch (const Error& refused) {
    CHECK(refused.code == Code::rate_limited);
    CHECK(refused.retry_after);
  }
  CHECK(f.sending(f.bob, "hello") == "");
  f.world.clock.advance(chat::sender_window);
  CHECK(f.sending(f.ada, "later") == "");
}

TEST_CASE("history goes back page by page") {
  Fixture f;
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(f.send(f.ada, std::to_string(i)).id);
  const auto newest = f.history(f.ada, {.before = {}, .limit = 3});
  CHECK(newest.has_more);
  CHECK(f.read(f.ada, {.before = {}, .limit = 3}) == "ada: 4; ada: 5; ada: 6");
  CHECK(f.read(f.ada, {.before = ids[4], .limit = 3}) == "ada: 1; ada: 2; ada: 3");
  CHECK(f.read(f.ada, {.before = ids[1], .limit = 3}) == "ada: 0");
  CHECK_FALSE(f.history(f.ada, {.before = ids[3], .limit = 3}).has_more);
  CHECK(f.history(f.ada, {.before = ids[0], .limit = 3}).messages.empty());
  const auto other = f.open(f.ada, chat::ChannelType::table, "other");
  const auto elsewhere = [&](const std::string& before) {
    return f.write([&](db::Tx& tx) {
      const auto words = f.filter.at(tx);
      chat::history(tx, f.ada.id, other.id, {.before = before, .limit = 3},
                    {.data_key = f.world.keys.data, .words = *words});
    });
  };
  CHECK(elsewhere(ids[3]) == "422 validation_failed");
  CHECK(elsewhere("unknown") == "422 validation_failed");
}

TEST_CASE("people who block each other don't read each other") {
  Fixture f;
  f.join(f.bob);
  f.join(f.eve);
  f.send(f.ada, "from ada");
  f.send(f.bob, "from bob");
  f.send(f.eve, "from eve");
  f.world.write([&](db::Tx& tx) { blocks::add(tx, f.ada.id, f.bob.id); });
  CHECK(f.read(f.ada) == "ada: from ada; eve: from eve");
  CHECK(f.read(f.bob) == "bob: from bob; eve: from eve");
  CHECK(f.read(f.eve) == "ada: from ada; bob: from bob; eve: from eve");
  // A page is filled with messages that the user may read.
  CHECK(f.read(f.ada, {.before = {}, .limit = 2}) == "ada: from ada; eve: from eve");
  f.world.write([&](db::Tx& tx) { blocks::remove(tx, f.ada.id, f.bob.id); });
  CHECK(f.read(f.ada) == "ada: from ada; bob: from bob; eve: from eve");
}

TEST_CASE("outgoing messages are filtered by the present list, old ones too") {
  Fixture f;
  f.set_words({"darn"});
  CHECK(f.send(f.ada, "darn it").filtered_body == "**** it");
  CHECK(f.send(f.ada, "heck no").filtered_body == "heck no");
  CHECK(f.read(f.ada) == "ada: **** it; ada: heck no");
  f.set_words({"heck", "heck"});
  CHECK(f.read(f.ada) == "ada: darn it; ada: **** no");
  CHECK(f.entries().at(1).message->filtered_body == "**** no");
  f.world.read([](db::Tx& tx) { CHECK(chat::words(tx) == std::vector<std::string>{"heck"}); });
  f.set_words({});
  CHECK(f.read(f.ada) == "ada: darn it; ada: heck no");
}

TEST_CASE("the word list contains words, and is limited") {
  Fixture f;
  const auto setting = [&](const std::vector<std::string>& words) {
    return refusal([&] { f.set_words(words); });
  };
  CHECK(setting({"darn", ""}) == "422 validation_failed");
  CHECK(setting({"..."}) == "422 validation_failed");
  CHECK(setting({std::string(129, 'x')}) == "422 validation_failed");
  std::vector<std::string> many;
  for (size_t i = 0; i <= chat::max_words; ++i) many.push_back("word" + std::to_string(i));
  CHECK(setting(many) == "422 validation_failed");
  many.pop_back();
  CHECK(setting(many) == "");
}

TEST_CASE("the original text is stored encrypted") {
  Fixture f;
  f.set_words({"darn"});
  f.send(f.ada, "darn those plums");
  f.world.read([&](db::Tx& tx) {
    auto rows = tx.query("SELECT sealed_body, filtered_body, message_id FROM chat_entries");
    REQUIRE(rows.next());
    CHECK(rows.text("sealed_body").find("plums") == std::string::npos);
    CHECK(rows.text("filtered_body") == "**** those plums");
    CHECK(open_sealed(f.world.keys.data, *parse_base64(rows.text("sealed_body")),
                      rows.text("message_id")) == "darn those plums");
  });
}

TEST_CASE("an admin's deletion removes the text, and followers are told") {
  Fixture f;
  const auto first = f.send(f.ada, "first");
  const auto second = f.send(f.ada, "second");
  const std::int64_t seen = f.entries().back().seq;
  const auto remove = [&](const std::string& id) {
    return f.write([&](db::Tx& tx) { chat::delete_message(tx, id, "root"); });
  };
  CHECK(remove(first.id) == "");
  CHECK(remove(first.id) == "404 message_not_found");
  CHECK(remove("unknown") == "404 message_not_found");
  CHECK(f.read(f.ada) == "ada: second");
  CHECK(f.read(f.ada, {.before = first.id}).empty());
  const auto news = f.entries(seen);
  REQUIRE(news.size() == 1);
  CHECK(news[0].message_id == first.id);
  CHECK_FALSE(news[0].message);
  // A client that comes later learns only of the deletion.
  CHECK(f.entries().size() == 2);
  CHECK(f.entries().at(0).message_id == second.id);
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM chat_entries WHERE message_id = $1 AND "
                    "(sealed_body IS NOT NULL OR filtered_body IS NOT NULL)",
                    first.id) == 0);
    CHECK(tx.number("SELECT count(*) FROM audit_log WHERE action = 'chat.delete_message' "
                    "AND target = $1",
                    first.id) == 1);
  });
}

TEST_CASE("entries are read in order, a limited number at a time") {
  Fixture f;
  for (int i = 0; i < 5; ++i) f.send(f.ada, std::to_string(i));
  const auto first = f.entries(0, 2);
  REQUIRE(first.size() == 2);
  CHECK(first[0].message->filtered_body == "0");
  const auto rest = f.entries(first[1].seq);
  REQUIRE(rest.size() == 3);
  CHECK(rest[0].message->filtered_body == "2");
  CHECK(rest[2].seq == f.world.read([&](db::Tx& tx) { return chat::newest_seq(tx, f.lobby.id); }));
}

TEST_CASE("a deleted account's messages are removed, and so are old ones") {
  Fixture f;
  f.join(f.bob);
  f.send(f.bob, "from bob");
  f.send(f.ada, "from ada");
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, f.bob, f.world.keys); });
  CHECK(f.read(f.ada) == "ada: from ada");
  const std::int64_t last = f.entries().at(0).seq;
  f.world.clock.advance(chat::kept_for);
  CHECK(f.world.read([](db::Tx& tx) { return expiry::is_anything_due(tx); }));
  f.world.write([](db::Tx& tx) { expiry::remove_some(tx, 100); });
  CHECK(f.read(f.ada).empty());
  // Numbers aren't reused, because clients remember the last one that they saw.
  f.send(f.ada, "later");
  CHECK(f.entries().at(0).seq > last);
}

TEST_CASE("a channel is deleted long after its last member left") {
  Fixture f;
  const auto channels = [&] {
    return f.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM chat_channels"); });
  };
  const auto expire = [&] {
    return f.world.write([](db::Tx& tx) { return chat::remove_abandoned(tx, 100); });
  };
  const auto leave = [&](const accounts::User& user) {
    f.world.write([&](db::Tx& tx) { chat::leave(tx, user.id, f.lobby.id); });
  };
  f.join(f.bob);
  leave(f.ada);
  f.world.clock.advance(chat::kept_for);
  CHECK(expire() == 0);  // since bob is still there
  leave(f.bob);
  f.world.clock.advance(chat::kept_for - 1ms);
  CHECK(expire() == 0);
  f.join(f.ada);
  f.world.clock.advance(1ms);
  CHECK(expire() == 0);
  f.send(f.ada, "goodbye");
  f.world.clock.advance(1s);
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, f.ada, f.world.keys); });
  f.world.clock.advance(chat::kept_for - 1ms);
  f.world.write([](db::Tx& tx) { chat::remove_old(tx, 100); });
  CHECK_FALSE(f.world.read(chat::is_any_abandoned));
  f.world.clock.advance(1ms);
  CHECK(f.world.read(chat::is_any_abandoned));
  f.world.write([](db::Tx& tx) { expiry::remove_some(tx, 100); });
  CHECK(channels() == 0);
  CHECK(f.open(f.bob, chat::ChannelType::lobby, "lobby-1").id != f.lobby.id);
}

TEST_CASE("a channel with messages outlasts its members until the messages go") {
  Fixture f;
  f.send(f.ada, "hello");
  f.world.write([&](db::Tx& tx) { chat::leave(tx, f.ada.id, f.lobby.id); });
  f.world.clock.advance(chat::kept_for);
  CHECK(f.world.write([](db::Tx& tx) { return chat::remove_abandoned(tx, 100); }) == 0);
  CHECK(f.world.write([](db::Tx& tx) { return chat::remove_old(tx, 100); }) == 1);
  CHECK(f.world.write([](db::Tx& tx) { return chat::remove_abandoned(tx, 100); }) == 1);
}

TEST_CASE("a user may join a limited number of channels") {
  Fixture f;
  for (int i = 1; i < chat::max_channels_of_user; ++i)
    f.open(f.ada, chat::ChannelType::table, std::to_string(i));
  const auto one_more = [&] {
    return refusal([&] { f.open(f.ada, chat::ChannelType::table, "one more"); });
  };
  CHECK(one_more() == "409 invalid_state");
  f.world.write([&](db::Tx& tx) { chat::leave(tx, f.ada.id, f.lobby.id); });
  CHECK(one_more() == "");
}

}  // namespace
