// Chat, over HTTP and server-sent events.
#include <catch2/catch.hpp>

#include "tests/process/event_stream.h"
#include "tests/process/raw.h"

using namespace berth::process;

namespace {

constexpr const char* channels = "/api/social/chat/channels";

// Opens a lobby and lets these users join it.
std::string lobby(std::vector<Person*> people) {
  const json body = {{"type", "lobby"}, {"ref_id", "lobby-1"}};
  const std::string id =
      expect(201, people.front()->api.post(channels, body)).body.at("channel").at("id");
  for (Person* one : people)
    expect(200, one->api.post(std::string(channels) + "/" + id + "/members/me"));
  return std::string(channels) + "/" + id;
}

json say(Person& sender, const std::string& channel, const std::string& body) {
  return expect(201, sender.api.post(channel + "/messages", {{"body", body}})).body.at("message");
}

// Returns, for example, "hello; hi".
std::string texts(const json& messages) {
  std::string all;
  for (const json& message : messages)
    all += (all.empty() ? "" : "; ") + message.at("filtered_body").get<std::string>();
  return all;
}
std::string texts(const std::vector<Event>& events) {
  json messages = json::array();
  for (const Event& event : events)
    if (event.name == "message") messages.push_back(json::parse(event.data));
  return texts(messages);
}
std::string history(Person& reader, const std::string& channel) {
  return texts(expect(200, reader.api.get(channel + "/messages")).body.at("messages"));
}

Answer set_words(const Berthd& berthd, const json& words) {
  Headers headers = admin(berthd);
  return Client(berthd).ask({.method = "PUT",
                             .path = "/api/internal/chat/words",
                             .body = json{{"words", words}}.dump(),
                             .headers = headers});
}

}  // namespace

TEST_CASE("people join a channel, write, and read what was written") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const json body = {{"type", "table"}, {"ref_id", "table-1"}};
  const json made = expect(201, ada.api.post(channels, body)).body.at("channel");
  CHECK(made.at("type") == "table");
  CHECK(made.at("ref_id") == "table-1");
  CHECK(made.at("joined") == true);
  const json found = expect(201, bob.api.post(channels, body)).body.at("channel");
  CHECK(found.at("id") == made.at("id"));
  CHECK(found.at("joined") == false);
  const std::string channel = std::string(channels) + "/" + made.at("id").get<std::string>();

  CHECK(bob.api.post(channel + "/messages", {{"body", "hello"}}).code() == "forbidden");
  CHECK(bob.api.get(channel + "/messages").code() == "forbidden");
  CHECK(bob.api.get(channel + "/events").code() == "forbidden");
  expect(200, bob.api.post(channel + "/members/me"));
  expect(200, bob.api.post(channel + "/members/me"));
  const json sent = say(bob, channel, "hello");
  CHECK(sent.at("sender_id") == bob.user.id);
  CHECK(sent.at("sender_username") == "bob");
  CHECK(sent.at("filtered_body") == "hello");
  CHECK(sent.at("sent_at").is_string());
  CHECK_FALSE(sent.contains("body"));
  CHECK(ada.api.get(channel + "/messages").body["messages"] == json::array({sent}));

  CHECK(bob.api.get(std::string(channels) + "?member=me").body["total"] == 1);
  CHECK(bob.api.get(std::string(channels) + "?type=lobby").body["total"] == 0);
  CHECK(bob.api.get(std::string(channels) + "?type=x").code() == "validation_failed");
  CHECK(bob.api.get(std::string(channels) + "?member=x").code() == "validation_failed");
  expect(200, bob.api.remove(channel + "/members/me"));
  expect(200, bob.api.remove(channel + "/members/me"));
  CHECK(bob.api.get(std::string(channels) + "?member=me").body["total"] == 0);
  CHECK(bob.api.post(channel + "/messages", {{"body", "hello"}}).code() == "forbidden");

  for (const std::string& bad : {nobody, std::string("x"), std::string("%00")}) {
    const std::string unknown = std::string(channels) + "/" + bad;
    CHECK(ada.api.post(unknown + "/members/me").code() == "channel_not_found");
    CHECK(ada.api.remove(unknown + "/members/me").code() == "channel_not_found");
    CHECK(ada.api.get(unknown + "/messages").code() == "channel_not_found");
    CHECK(ada.api.get(unknown + "/events").code() == "channel_not_found");
    CHECK(ada.api.post(unknown + "/messages", {{"body", "hello"}}).code() == "channel_not_found");
  }
  CHECK(ada.api.post(channels, {{"type", "table"}}).code() == "validation_failed");
  CHECK(ada.api.post(channels, {{"type", "room"}}).code() == "validation_failed");
}

TEST_CASE("history is paged, and messages and senders are limited") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  const std::string channel = lobby({&ada});
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(say(ada, channel, std::to_string(i)).at("id"));
  const json page = expect(200, ada.api.get(channel + "/messages?limit=2")).body;
  CHECK(texts(page.at("messages")) == "3; 4");
  CHECK(page.at("has_more") == true);
  const json older = expect(200, ada.api.get(channel + "/messages?limit=10&before=" + ids[3])).body;
  CHECK(texts(older.at("messages")) == "0; 1; 2");
  CHECK(older.at("has_more") == false);
  for (const char* bad : {"?limit=0", "?limit=101", "?limit=x", "?before=x"})
    CHECK(ada.api.get(channel + "/messages" + bad).code() == "validation_failed");
  for (const std::string& bad :
       {std::string(), std::string("  "), std::string(1'001, 'x'), std::string("a\x01")})
    CHECK(ada.api.post(channel + "/messages", {{"body", bad}}).code() == "validation_failed");
  Answer answer;
  for (int i = 0; i < 30; ++i) {
    answer = ada.api.post(channel + "/messages", {{"body", "again"}});
    if (answer.status != 201) break;
  }
  CHECK(answer.status == 429);
  CHECK(answer.code() == "rate_limited");
  CHECK(answer.has_header("Retry-After"));
}

TEST_CASE("a stream that breaks before its first event is resumed without a gap") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  const std::string channel = lobby({&ada});
  // The channel has had no message yet, so the position is the one before the first.
  const Raw raw(berthd.port());
  raw.send("GET " + channel + "/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer " +
           ada.user.jwt + "\r\n\r\n");
  std::string text;
  while (text.find("id: ") == std::string::npos || !text.ends_with("\n\n\r\n")) {
    const std::string more = raw.receive();
    REQUIRE(!more.empty());
    text += more;
  }
  const std::size_t begin = text.find("id: ") + 4;
  const std::string position = text.substr(begin, text.find('\n', begin) - begin);
  CHECK(position == "0");
  say(ada, channel, "meanwhile");
  const EventStream stream(berthd, channel + "/events", ada.user.jwt, position);
  CHECK(stream.status() == 200);
  CHECK(texts(stream.events(1)) == "meanwhile");
}

TEST_CASE("followers of a channel get each message once and in order") {
  Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string channel = lobby({&ada, &bob});
  say(ada, channel, "before");
  std::string last;
  {
    const EventStream stream(berthd, channel + "/events", bob.user.jwt);
    REQUIRE(stream.status() == 200);
    CHECK(stream.content_type().starts_with("text/event-stream"));
    for (int i = 0; i < 5; ++i) say(ada, channel, std::to_string(i));
    const auto events = stream.events(5);
    CHECK(texts(events) == "0; 1; 2; 3; 4");
    REQUIRE(events.size() == 5);
    CHECK(events[0].name == "message");
    CHECK(json::parse(events[0].data).at("sender_id") == ada.user.id);
    last = events[2].id;
  }
  // The stream is resumed, also after a restart.
  say(ada, channel, "meanwhile");
  CHECK(berthd.terminate() == 0);
  berthd.start();
  const EventStream again(berthd, channel + "/events", bob.user.jwt, last);
  CHECK(texts(again.events(3)) == "3; 4; meanwhile");
  say(bob, channel, "after");
  CHECK(texts(again.events(4)) == "3; 4; meanwhile; after");
  for (const char* bad : {"x", "-1", "99999999999999999999"})
    CHECK(EventStream(berthd, channel + "/events", bob.user.jwt, bad).status() == 400);
  // A number that doesn't exist yet counts as the newest.
  const EventStream ahead(berthd, channel + "/events", bob.user.jwt, "999999");
  say(ada, channel, "news");
  CHECK(texts(ahead.events(1)) == "news");
}

TEST_CASE("a stream ends with the membership and with the token") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string channel = lobby({&ada, &bob});
  const EventStream adas(berthd, channel + "/events", ada.user.jwt);
  const EventStream bobs(berthd, channel + "/events", bob.user.jwt);
  expect(200, bob.api.remove(channel + "/members/me"));
  CHECK(bobs.ends());
  expect(200, ada.api.post("/api/auth/logout"));
  CHECK(adas.ends());
}

TEST_CASE("users who block each other don't get each other's messages in any way") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  Person eve = person(berthd, "eve");
  const std::string channel = lobby({&ada, &bob, &eve});
  const EventStream adas(berthd, channel + "/events", ada.user.jwt);
  const EventStream bobs(berthd, channel + "/events", bob.user.jwt);
  say(bob, channel, "one");
  CHECK(texts(adas.events(1)) == "one");
  expect(201, ada.api.post("/api/social/blocks", {{"user_id", bob.user.id}}));
  say(bob, channel, "two");
  say(ada, channel, "three");
  say(eve, channel, "four");
  CHECK(texts(adas.events(3)) == "one; three; four");
  CHECK(texts(bobs.events(3)) == "one; two; four");
  CHECK(history(ada, channel) == "three; four");
  CHECK(history(bob, channel) == "one; two; four");
  CHECK(history(eve, channel) == "one; two; three; four");
}

TEST_CASE("words that admins list are filtered everywhere, and the original text is never sent") {
  const Berthd berthd({"--rate-limits", "off", "--log-level", "debug"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string channel = lobby({&ada, &bob});
  CHECK(expect(200, set_words(berthd, {"zounds", "darn"})).body.at("words") ==
        json::array({"darn", "zounds"}));
  CHECK(expect(200, Client(berthd).get("/api/internal/chat/words", admin(berthd)))
            .body.at("words")
            .size() == 2);
  const EventStream stream(berthd, channel + "/events", bob.user.jwt);
  const json sent = say(ada, channel, "Zóünds it is");
  CHECK(sent.at("filtered_body") == "****** it is");
  CHECK(history(bob, channel) == "****** it is");
  const auto events = stream.events(1);
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.find("nds") == std::string::npos);
  CHECK(berthd.log_text().find("nds it") == std::string::npos);
  // A word that is listed later is also filtered from older messages.
  say(ada, channel, "a crumb");
  expect(200, set_words(berthd, {"zounds", "crumb"}));
  CHECK(history(bob, channel) == "****** it is; a *****");

  CHECK(set_words(berthd, {"..."}).code() == "validation_failed");
  CHECK(set_words(berthd, "darn").code() == "validation_failed");
  CHECK(Client(berthd, ada.user.jwt).get("/api/internal/chat/words").status == 403);
}

TEST_CASE("a message that an admin deletes is gone, and followers are told") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string channel = lobby({&ada, &bob});
  const EventStream stream(berthd, channel + "/events", bob.user.jwt);
  const std::string id = say(ada, channel, "first").at("id");
  say(ada, channel, "second");
  REQUIRE(stream.events(2).size() == 2);  // a follower who is late doesn't get the deleted text
  const std::string path = "/api/internal/chat/messages/" + id;
  const Ask ask = {.method = "DELETE", .path = path, .headers = admin(berthd)};
  expect(200, Client(berthd).ask(ask));
  CHECK(Client(berthd).ask(ask).code() == "message_not_found");
  CHECK(ada.api.remove(path).status == 403);
  CHECK(history(bob, channel) == "second");
  const auto events = stream.events(3);
  REQUIRE(events.size() == 3);
  CHECK(events[2].name == "deleted");
  CHECK(json::parse(events[2].data) == json{{"id", id}});
  // A client that resumes doesn't get the deleted text.
  const std::string before = std::to_string(std::stoll(events[0].id) - 1);
  if (before != "0") {
    const EventStream again(berthd, channel + "/events", bob.user.jwt, before);
    CHECK(texts(again.events(2)) == "second");
  }
}

TEST_CASE("a deleted account's messages are gone") {
  const Berthd berthd({"--rate-limits", "off"});
  Person ada = person(berthd, "ada");
  Person bob = person(berthd, "bob");
  const std::string channel = lobby({&ada, &bob});
  say(bob, channel, "from bob");
  expect(200, bob.api.ask({.method = "DELETE",
                           .path = "/api/auth/me",
                           .body = json{{"password", bob.user.password}}.dump()}));
  CHECK(history(ada, channel).empty());
}

TEST_CASE("an app uses the chat for its user") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator op = operator_with_token(berthd, "ada", {"profile:read"});
  Person player = {op.user, Client(berthd, op.tokens.session_token)};
  const std::string channel = lobby({&player});
  const EventStream stream(berthd, channel + "/events", op.tokens.session_token);
  CHECK(say(player, channel, "hello").at("sender_id") == op.user.id);
  CHECK(texts(stream.events(1)) == "hello");
  expect(200, player.api.post("/api/sessions/end"));
  CHECK(stream.ends());
}
