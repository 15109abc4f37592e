#pragma once

#include <chrono>
#include <functional>
#include <string>

// One mail server, spoken to over SMTP (RFC 5321) by libcurl.
namespace berth::reconcilers {

enum class MailTls {
  required,    // implicit with smtps://, STARTTLS with smtp://; never without (RFC 8314)
  if_offered,  // STARTTLS where the server has it
};

struct SmtpSettings {
  std::string url;       // smtp://host:587 or smtps://host:465, without user and password
  std::string user;      // empty: no authentication
  std::string password;  // never logged, never part of an answer
  MailTls tls = MailTls::required;
  std::string ca_file;  // what the server's certificate is checked against; empty: the system's
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
  // For one mail from the first byte to the last answer.
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

enum class MailVerdict {
  sent,
  refused,      // 5xx for this receiver or this text: asking again changes nothing
  deferred,     // 4xx for this mail: later
  unavailable,  // the server can't be reached, fails TLS or the log-in, or takes nobody's mail
};
struct MailAnswer {
  MailVerdict verdict = MailVerdict::unavailable;
  std::string words;  // the server's last refusal, without the receiver; or libcurl's
};

// A connection for each mail: there are few of them, and none of them waits for the end of another.
// Thread-safe.
class SmtpClient {
 public:
  explicit SmtpClient(SmtpSettings settings);

  // `text` as compose() makes it; addresses without control characters. `go_on` is asked about once
  // a second; where it says no, the mail is given up: unavailable.
  MailAnswer send(const std::string& from, const std::string& to, const std::string& text,
                  const std::function<bool()>& go_on) const;

 private:
  const SmtpSettings settings_;
};

}  // namespace berth::reconcilers
