#pragma once

#include <chrono>
#include <functional>
#include <string>

// Speaks SMTP (RFC 5321) to one mail server, by means of libcurl.
namespace berth::reconcilers {

enum class MailTls {
  required,    // implicit TLS with smtps://, STARTTLS with smtp://, never without (RFC 8314)
  if_offered,  // STARTTLS if the server offers it
};

struct SmtpSettings {
  std::string url;       // smtp://host:587 or smtps://host:465, without user and password
  std::string user;      // empty: no authentication
  std::string password;  // never logged, never part of an answer
  MailTls tls = MailTls::required;
  std::string ca_file;  // to check the server's certificate with; empty: the system's certificates
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
  // The limit for one mail, from the first byte to the last reply.
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

enum class MailVerdict {
  sent,
  refused,      // 5xx for this receiver or this text: trying again changes nothing
  deferred,     // 4xx for this mail: try later
  unavailable,  // the server can't be reached, fails TLS or the login, or accepts mail from nobody
};
struct MailAnswer {
  MailVerdict verdict = MailVerdict::unavailable;
  std::string words;  // the server's last refusal, with the receiver removed; or libcurl's error
};

// Opens a connection for each mail: there are few mails, and none waits for another to finish.
// Thread-safe.
class SmtpClient {
 public:
  explicit SmtpClient(SmtpSettings settings);

  // Sends one mail and returns the server's verdict; never throws because of the server. `text` is
  // what compose() returns; the addresses must not contain control characters. `go_on` is called
  // about once a second; if it returns false, the mail is abandoned with the verdict `unavailable`.
  MailAnswer send(const std::string& from, const std::string& to, const std::string& text,
                  const std::function<bool()>& go_on) const;

 private:
  const SmtpSettings settings_;
};

}  // namespace berth::reconcilers
