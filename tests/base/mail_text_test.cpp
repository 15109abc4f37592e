#include "controller/base/mail_text.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"

namespace {

using namespace berth;

MailText mail() {
  return {.id = "01a",
          .from = {.name = "berth", .address = "no-reply@berth.example"},
          .to = "ada@example.org",
          .subject = "Hello",
          .body = "Line one\nLine two\n",
          .date = *parse_iso8601("2026-01-31T12:34:56Z")};
}

// Returns the fields of the head, unfolded (RFC 5322, section 2.2.3).
std::vector<std::string> fields(const std::string& text) {
  std::vector<std::string> result;
  size_t at = 0;
  for (;;) {
    const size_t end = text.find("\r\n", at);
    if (end == at || end == std::string::npos) return result;
    const std::string line = text.substr(at, end - at);
    if (line.starts_with(' '))
      result.back() += line;
    else
      result.push_back(line);
    at = end + 2;
  }
}

std::string field(const std::string& text, const std::string& name) {
  for (const std::string& line : fields(text))
    if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
  return "";
}

// Decodes encoded words (RFC 2047, section 6.2); blanks between two of them are dropped.
std::string decoded(const std::string& text) {
  constexpr std::string_view start = "=?UTF-8?B?";
  if (!text.starts_with(start)) return text;
  std::string result;
  for (size_t at = 0; (at = text.find(start, at)) != std::string::npos;) {
    at += start.size();
    const size_t end = text.find("?=", at);
    result += parse_base64(text.substr(at, end - at)).value();
  }
  return result;
}

std::string body_of(const std::string& text) { return text.substr(text.find("\r\n\r\n") + 4); }

std::string unquoted(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') {
      result += text[i];
    } else {
      const std::string next = text.substr(i + 1, 2);
      if (next != "\r\n") result += char(std::stoi(next, nullptr, 16));
      i += 2;
    }
  }
  return result;
}

TEST_CASE("a mail has the fields that it needs, each of them once") {
  const std::string text = compose(mail());
  CHECK(fields(text) == std::vector<std::string>{
                            "Date: Sat, 31 Jan 2026 12:34:56 +0000",
                            "From: \"berth\" <no-reply@berth.example>", "To: <ada@example.org>",
                            "Subject: Hello", "Message-ID: <01a@berth.example>",
                            "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
                            "Content-Type: text/plain; charset=utf-8",
                            "Content-Transfer-Encoding: quoted-printable"});
  CHECK(body_of(text) == "Line one\r\nLine two\r\n");
}

TEST_CASE("subjects and names with any letters are preserved, on short lines") {
  rc::check([] {
    const auto part = rc::gen::elementOf(std::vector<std::string>{
        "a", " ", "ü", "€", "😀", "=?", "?=", "Wort", "_", "\"", "\\", "(", "漢字"});
    std::string subject;
    for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(part))
      subject += piece;
    MailText sent = mail();
    sent.subject = subject;
    const std::string text = compose(sent);
    RC_ASSERT(decoded(field(text, "Subject")) == subject);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find("\r\n", at);
      RC_ASSERT(end - at <= 78u);
      at = end + 2;
    }
  });
}

TEST_CASE("a word is never cut within a letter") {
  MailText sent = mail();
  for (int lead = 0; lead < 4; ++lead) {
    sent.subject = std::string(size_t(lead), 'x');
    for (int i = 0; i < 60; ++i) sent.subject += "😀";
    const std::string subject = field(compose(sent), "Subject");
    for (size_t at = 0; (at = subject.find("?B?", at)) != std::string::npos;) {
      at += 3;
      const auto word = parse_base64(subject.substr(at, subject.find("?=", at) - at)).value();
      CHECK((static_cast<unsigned char>(word[0]) & 0xc0) != 0x80);
    }
  }
}

TEST_CASE("a body with any text is preserved, in lines of at most 76 characters") {
  rc::check([] {
    std::string body;
    const auto part = rc::gen::elementOf(
        std::vector<std::string>{"word ", "\n", "=", "é", ".", "\n.\n", " \n", "\t\n", "From ",
                                 "\x01", std::string(90, 'x'), "😀"});
    for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(part))
      body += piece;
    if (!body.empty() && !body.ends_with('\n')) body += '\n';
    MailText sent = mail();
    sent.body = body;
    const std::string text = body_of(compose(sent));
    std::string expected;
    for (const char c : body) expected += c == '\n' ? std::string("\r\n") : std::string(1, c);
    RC_ASSERT(unquoted(text) == expected);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find("\r\n", at);
      RC_ASSERT(end - at <= 76u);
      at = end + 2;
    }
  });
}

TEST_CASE("the contents of a field can't begin another field") {
  const auto refused = [](const std::function<void(MailText&)>& change) {
    MailText sent = mail();
    change(sent);
    try {
      compose(sent);
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  };
  for (const std::string& bad : {std::string("x\r\nBcc: eve@example.org"), std::string("x\ny"),
                                 std::string("x\ry"), std::string("x\0y", 3)}) {
    CHECK(refused([&](MailText& m) { m.subject = bad; }));
    CHECK(refused([&](MailText& m) { m.from.name = bad; }));
    CHECK(refused([&](MailText& m) { m.id = bad; }));
    CHECK(refused([&](MailText& m) { m.to = "ada@example.org" + bad; }));
    CHECK(refused([&](MailText& m) { m.from.address = bad + "@example.org"; }));
  }
  for (const char* bad : {"", "nobody", "@example.org", "ada@", "a@b>,<c@d", "a b@c"})
    CHECK(refused([&](MailText& m) { m.to = bad; }));
}

TEST_CASE("mailboxes are parsed as people write them") {
  const auto read = [](const char* text) {
    const auto found = parse_mailbox(text);
    return found ? found->name + "|" + found->address : "none";
  };
  CHECK(read("ada@example.org") == "|ada@example.org");
  CHECK(read("<ada@example.org>") == "|ada@example.org");
  CHECK(read(" Ada Lovelace <ada@example.org> ") == "Ada Lovelace|ada@example.org");
  CHECK(read("\"Ada, of berth\" <ada@example.org>") == "Ada, of berth|ada@example.org");
  for (const char* bad : {"", "ada", "Ada <ada>", "Ada <ada@example.org", "a@b, c@d",
                          "Ada\r\nBcc: x <ada@example.org>", "\"A\" \"B\" <a@b>"})
    CHECK(read(bad) == "none");
}

TEST_CASE("names are quoted where that is needed") {
  MailText sent = mail();
  sent.from.name = "Ada, \"Countess\" \\";
  CHECK(field(compose(sent), "From") == "\"Ada, \\\"Countess\\\" \\\\\" <no-reply@berth.example>");
  sent.from.name = "Bérth";
  CHECK(field(compose(sent), "From") == "=?UTF-8?B?QsOpcnRo?= <no-reply@berth.example>");
  sent.from.name = "";
  CHECK(field(compose(sent), "From") == "<no-reply@berth.example>");
}

TEST_CASE("a domain is sent in the DNS's form") {
  CHECK(with_ascii_domain("ann@bücher.example") == "ann@xn--bcher-kva.example");
  CHECK(with_ascii_domain("zoë@BÜCHER.example") == "zoë@xn--bcher-kva.example");
  CHECK(with_ascii_domain("zoë@example.org") == "zoë@example.org");
  CHECK(with_ascii_domain("Ada@Example.org") == "Ada@Example.org");
  // Addresses without such a form stay unchanged.
  for (const std::string& odd :
       {std::string("ann@bü cher.example"), "ann@" + std::string(250, 'a') + "ü",
        std::string("ann"), std::string()})
    CHECK(with_ascii_domain(odd) == odd);
}

}  // namespace
