// Mail that is sent through a real SMTP server, which is sometimes slow, absent or unwilling.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/process/client.h"
#include "tests/process/mail_server.h"

using namespace berth::process;
using Catch::Contains;

namespace {

// Returns the outbox's row of a mail to this address.
json row_of(const Berthd& berthd, const std::string& address) {
  const Answer answer = expect(200, Client(berthd).get("/api/internal/outbox", admin(berthd)));
  for (const json& mail : answer.body.at("messages"))
    if (mail.at("to") == address) return mail;
  return nullptr;
}

double metric(const Berthd& berthd, const std::string& name) {
  std::istringstream in(ask_metrics(berthd, "/metrics").text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
  return -1;
}

bool is_sent(const Berthd& berthd, const User& user) {
  return eventually([&] { return !row_of(berthd, user.email).at("sent_at").is_null(); });
}

// Waits for this many attempts to send the mail, moving the clock ahead.
bool attempted(const Berthd& berthd, const User& user, int times) {
  return eventually([&] {
    if (row_of(berthd, user.email).at("attempts") >= times) return true;
    advance(berthd, 60);
    return false;
  });
}

}  // namespace

TEST_CASE("a mail arrives unchanged in every mail reader") {
  const MailServer server;
  Berthd berthd(server.berthd());
  const User ada = register_user(berthd, "ada");
  REQUIRE(is_sent(berthd, ada));
  const auto messages = server.messages();
  REQUIRE(messages.size() == 1);
  const json& mail = messages[0];
  INFO(mail.dump(2));
  CHECK(mail.at("from") == "no-reply@berth.example");
  CHECK(mail.at("to") == json::array({"ada@example.org"}));
  CHECK(mail.at("headers").at("From") == "Bérth <no-reply@berth.example>");
  CHECK(mail.at("headers").at("To") == "ada@example.org");
  CHECK(mail.at("headers").at("Subject") == row_of(berthd, ada.email).at("subject"));
  CHECK(mail.at("headers").at("Auto-Submitted") == "auto-generated");
  CHECK_THAT(mail.at("headers").at("Message-ID"), Contains("@berth.example>"));
  CHECK_THAT(mail.at("headers").at("Date"), Contains(" +0000"));
  CHECK(mail.at("defects").empty());
  CHECK(mail.at("bare") == 0);
  CHECK(mail.at("longest_line") <= 78);
  CHECK(mail.at("text") == row_of(berthd, ada.email).at("body"));
  CHECK(metric(berthd, "berth_mail_sent_total") == 1);
  CHECK(metric(berthd, "berth_mail_waiting") == 0);
  CHECK_THAT(berthd.log_text(), !Contains("ada@example.org"));
}

TEST_CASE("an internationalized domain is sent in the DNS's form") {
  const MailServer server;
  const Berthd berthd(server.berthd());
  expect(201, Client(berthd).post("/api/auth/register", {{"email", "ann@bücher.example"},
                                                         {"username", "ann"},
                                                         {"password", "five random words"}}));
  REQUIRE(eventually([&] { return server.messages().size() == 1; }));
  CHECK(server.messages()[0].at("to") == json::array({"ann@xn--bcher-kva.example"}));
  CHECK(row_of(berthd, "ann@bücher.example").at("failed_at").is_null());
}

TEST_CASE("an app's owner gets a mail about the decision on its scopes") {
  const MailServer server;
  Berthd berthd(server.berthd());
  operator_with_token(berthd, "ada");
  CHECK(eventually([&] { return server.messages().size() == 2; }));
  const json mail = server.messages().at(1);
  CHECK(mail.at("headers").at("Subject") == "Your app's request was approved");
  CHECK_THAT(mail.at("text"), Contains("deploy:manage"));
}

TEST_CASE("mail waits for a server that is away, and each arrives once") {
  MailServer server;
  server.stop();
  Berthd berthd(server.berthd());
  std::vector<User> users;
  for (const char* name : {"ada", "ben", "cleo"}) users.push_back(register_user(berthd, name));
  CHECK(eventually([&] { return metric(berthd, "berth_mail_retries_total") >= 1; }));
  CHECK(metric(berthd, "berth_mail_waiting") == 3);
  CHECK(server.messages().empty());
  server.start();
  for (const User& user : users) {
    advance(berthd, 60);
    CHECK(is_sent(berthd, user));
    CHECK(server.messages_to(user.email).size() == 1);
  }
  // The API has answered all the time.
  CHECK(expect(200, Client(berthd).get("/health")).body.at("status") == "ok");
}

TEST_CASE("4xx is tried again, 5xx isn't, and neither delays other mail") {
  const MailServer server;
  Berthd berthd(server.berthd());
  const User later = register_user(berthd, "later-2-ada");
  const User refused = register_user(berthd, "refused-ben");
  const User unwanted = register_user(berthd, "unwanted-cleo");
  const User well = register_user(berthd, "dora");
  CHECK(is_sent(berthd, well));
  for (const User& user : {refused, unwanted}) {
    CHECK(eventually([&] { return !row_of(berthd, user.email).at("failed_at").is_null(); }));
    CHECK(row_of(berthd, user.email).at("attempts") == 1);
    CHECK(row_of(berthd, user.email).at("sent_at").is_null());
  }
  CHECK(row_of(berthd, refused.email).at("error") == "550 5.1.1 <…>: nobody has this name");
  CHECK(row_of(berthd, unwanted.email).at("error") == "554 5.7.1 the content isn't wanted");
  CHECK(attempted(berthd, later, 3));
  CHECK(is_sent(berthd, later));
  CHECK(server.messages_to(later.email).size() == 1);
  CHECK(row_of(berthd, refused.email).at("attempts") == 1);
  CHECK(metric(berthd, "berth_mail_failed_total") == 2);
  CHECK(metric(berthd, "berth_mail_retries_total") == 2);
}

TEST_CASE("after a lost answer, a mail is sent at most once more, with the same Message-ID") {
  const MailServer server;
  Berthd berthd(server.berthd());
  const User ada = register_user(berthd, "lost-1-ada");
  CHECK(attempted(berthd, ada, 2));
  CHECK(is_sent(berthd, ada));
  const auto copies = server.messages_to(ada.email);
  REQUIRE(copies.size() == 2);
  CHECK(copies[0].at("headers") == copies[1].at("headers"));
}

TEST_CASE("if berthd is killed while it sends, it sends once more, with the same Message-ID") {
  const MailServer server;
  Berthd berthd(server.berthd());
  const User slow = register_user(berthd, "slow-ada");
  CHECK(eventually([&] { return row_of(berthd, slow.email).at("attempts") == 1; }));
  berthd.kill();
  berthd.start();
  CHECK(row_of(berthd, slow.email).at("sent_at").is_null());
  CHECK(attempted(berthd, slow, 2));
  // SIGTERM doesn't wait for a server that doesn't answer.
  CHECK(berthd.terminate() == 0);
}

TEST_CASE("STARTTLS, implicit TLS and a log-in") {
  const Flags login = {"--user", "berth", "--password", "p@ss:w/rd"};
  const std::string in_url = "berth:p%40ss%3Aw%2Frd@";
  const auto with = [&](Flags flags) {
    flags.insert(flags.end(), login.begin(), login.end());
    return flags;
  };
  for (const bool implicit : {false, true}) {
    const MailServer server(
        with(implicit ? Flags{"--tls", "implicit"} : Flags{"--tls", "starttls", "--require-tls"}));
    Flags flags = server.berthd(implicit ? "smtps" : "smtp", in_url);
    flags.insert(flags.end(), {"--smtp-tls", "required", "--log-level", "debug"});
    Berthd berthd(flags);
    const User ada = register_user(berthd, "ada");
    INFO(berthd.end_of_log());
    CHECK(is_sent(berthd, ada));
    REQUIRE(server.messages().size() == 1);
    CHECK(server.messages()[0].at("tls") == true);
    CHECK(server.messages()[0].at("user") == "berth");
    CHECK_THAT(berthd.log_text(), !Contains("p@ss") && !Contains("p%40ss"));
  }
}

TEST_CASE("without the required TLS, certificate or password, nothing is sent") {
  struct Case {
    Flags server;
    Flags berthd;
    const char* login;
    const char* words;
  };
  const std::vector<Case> cases = {
      {{}, {"--smtp-tls", "required"}, "", "SSL"},
      {{"--tls", "starttls"}, {"--smtp-ca-file", ""}, "", "certificate"},
      {{"--tls", "starttls", "--user", "berth", "--password", "right"},
       {},
       "berth:wrong-one@",
       "535"},
      {{"--tls", "starttls", "--user", "berth", "--password", "right"}, {}, "", "530"}};
  for (const Case& wrong : cases) {
    const MailServer server(wrong.server);
    Flags flags = server.berthd("smtp", wrong.login);
    for (size_t i = 0; i < wrong.berthd.size(); i += 2) {
      const auto known = std::find(flags.begin(), flags.end(), wrong.berthd[i]);
      if (known != flags.end()) flags.erase(known, known + 2);
      flags.insert(flags.end(), {wrong.berthd[i], wrong.berthd[i + 1]});
    }
    Berthd berthd(flags);
    const User ada = register_user(berthd, "ada");
    INFO(wrong.words << berthd.end_of_log());
    CHECK(eventually([&] { return !row_of(berthd, ada.email).at("error").is_null(); }));
    CHECK_THAT(row_of(berthd, ada.email).at("error"), Contains(wrong.words));
    CHECK(row_of(berthd, ada.email).at("sent_at").is_null());
    CHECK(row_of(berthd, ada.email).at("failed_at").is_null());
    CHECK(server.messages().empty());
    CHECK_THAT(berthd.log_text(), !Contains("wrong-one"));
  }
}

TEST_CASE("what was sent leaves the outbox a day later") {
  const MailServer server;
  Berthd berthd(server.berthd());
  const User ada = register_user(berthd, "ada");
  REQUIRE(is_sent(berthd, ada));
  advance(berthd, 23 * 3600);
  CHECK_FALSE(row_of(berthd, ada.email).is_null());
  advance(berthd, 2 * 3600);
  CHECK(eventually([&] { return row_of(berthd, ada.email).is_null(); }));
}

TEST_CASE(
    "an invalid mail server or sender keeps berthd from starting, without showing the password") {
  for (const char* url : {"http://u:hunter22@mail", "smtp://", "smtp://u:hunter22@mail/path",
                          "mail.example.org", "smtp://u:hunter22@mail:port"}) {
    const Ended ended = run_to_end({"--smtp-url", url, "--mail-from", "a@b.example"});
    INFO(ended.output);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.output, Contains("smtp-url") && !Contains("hunter22"));
  }
  CHECK_THAT(run_to_end({"--smtp-url", "smtp://mail"}).output, Contains("mail-from"));
  for (const char* from : {"nobody", "a@b\r\nBcc: c@d", "x <a@b> y", "<@b>"})
    CHECK_THAT(run_to_end({"--mail-from", from}).output, Contains("mail-from"));
  CHECK_THAT(run_to_end({"--smtp-tls", "never"}).output, Contains("smtp-tls"));
}
