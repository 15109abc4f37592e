#include "reconcilers/loops/smtp.h"

#include <algorithm>
#include <string_view>

#include "controller/base/curl.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"

namespace berth::reconcilers {
namespace {

constexpr size_t kept_of_a_line = 200;

// The stage of the SMTP conversation, which decides what a refusal is about.
enum class Stage { greeting, envelope_from, envelope_to, content };

std::string in_brackets(const std::string& address) { return "<" + address + ">"; }

std::string printable(std::string_view line) {
  std::string text = cut(well_formed(line), kept_of_a_line);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// Mail servers often repeat the recipient's address in their replies, which are logged.
std::string without(const std::string& address, std::string line) {
  for (size_t at = line.find(address); at != std::string::npos; at = line.find(address))
    line.replace(at, address.size(), "…");
  return line;
}

// These replies are about our login, not about the mail (RFC 4954, section 6).
bool is_about_login(long reply) {
  return reply == 530 || reply == 534 || reply == 535 || reply == 538;
}

MailVerdict verdict_of(CURLcode code, Stage stage, long reply) {
  constexpr long service_ends = 421;  // RFC 5321, section 3.8
  if (code == CURLE_OK) return MailVerdict::sent;
  const bool about_mail =
      (stage == Stage::envelope_to || stage == Stage::content) &&
      (code == CURLE_SEND_ERROR || code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_RECV_ERROR);
  if (!about_mail || reply == service_ends || is_about_login(reply))
    return MailVerdict::unavailable;
  if (reply / 100 == 5) return MailVerdict::refused;
  return reply / 100 == 4 ? MailVerdict::deferred : MailVerdict::unavailable;
}

// One mail while it is being sent.
class Transfer {
 public:
  Transfer(std::string_view text, const std::string& to, const std::function<bool()>& go_on)
      : left_(text), to_(to), go_on_(go_on) {}

  static size_t on_read(char* to, size_t size, size_t count, void* self) {
    std::string_view& left = static_cast<Transfer*>(self)->left_;
    const size_t taken = left.copy(to, size * count);
    left.remove_prefix(taken);
    return taken;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(self)->go_on_() ? 0 : 1;
  }
  // Only the verb of the client's own commands is read, because the rest may contain credentials.
  static int on_line(CURL*, curl_infotype type, char* data, size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view line(data, size);
    // The last refusal counts: a polite reply to QUIT may follow it.
    if (type == CURLINFO_HEADER_IN && (line.starts_with('4') || line.starts_with('5')))
      transfer.refusal_ = without(transfer.to_, printable(line));
    if (type != CURLINFO_HEADER_OUT) return 0;
    if (line.starts_with("MAIL ")) transfer.stage_ = Stage::envelope_from;
    if (line.starts_with("RCPT ")) transfer.stage_ = Stage::envelope_to;
    if (line.starts_with("DATA")) transfer.stage_ = Stage::content;
    return 0;
  }

  MailAnswer answer(const curl::Easy& easy, CURLcode code) const {
    const long reply = easy.status();
    const MailVerdict verdict = verdict_of(code, stage_, reply);
    return {.verdict = verdict,
            .words = reply >= 400 && !refusal_.empty() ? refusal_ : curl_easy_strerror(code)};
  }

 private:
  std::string_view left_;
  const std::string& to_;
  const std::function<bool()>& go_on_;
  Stage stage_ = Stage::greeting;
  std::string refusal_;
};

}  // namespace

SmtpClient::SmtpClient(SmtpSettings settings) : settings_(std::move(settings)) {
  curl::initialise();
}

MailAnswer SmtpClient::send(const std::string& from, const std::string& to, const std::string& text,
                            const std::function<bool()>& go_on) const {
  curl::Easy easy;
  Transfer transfer(text, to, go_on);
  curl::Lines receivers;
  receivers.add(in_brackets(to));
  const std::string sender = in_brackets(from);

  easy.set(CURLOPT_URL, settings_.url);
  easy.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  easy.set(CURLOPT_PROXY, "");
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_CONNECTTIMEOUT_MS, long(settings_.connect_timeout.count()));
  easy.set(CURLOPT_TIMEOUT_MS, long(settings_.timeout.count()));
  // The limit for a single reply; the one to QUIT has no other limit.
  easy.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, long(settings_.timeout.count() / 1'000));
  easy.set(CURLOPT_USE_SSL,
           long(settings_.tls == MailTls::required ? CURLUSESSL_ALL : CURLUSESSL_TRY));
  easy.set(CURLOPT_SSLVERSION, long(CURL_SSLVERSION_TLSv1_2));
  if (!settings_.ca_file.empty()) easy.set(CURLOPT_CAINFO, settings_.ca_file);
  if (!settings_.user.empty()) {
    easy.set(CURLOPT_USERNAME, settings_.user);
    easy.set(CURLOPT_PASSWORD, settings_.password);
  }
  easy.set(CURLOPT_MAIL_FROM, sender);
  easy.set(CURLOPT_MAIL_RCPT, receivers);
  easy.set(CURLOPT_UPLOAD, 1L);
  easy.set(CURLOPT_INFILESIZE_LARGE, curl_off_t(text.size()));
  easy.set(CURLOPT_READFUNCTION, &Transfer::on_read);
  easy.set(CURLOPT_READDATA, &transfer);
  easy.set(CURLOPT_NOPROGRESS, 0L);
  easy.set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
  easy.set(CURLOPT_XFERINFODATA, &transfer);
  easy.set(CURLOPT_VERBOSE, 1L);  // the output goes to on_line() alone
  easy.set(CURLOPT_DEBUGFUNCTION, &Transfer::on_line);
  easy.set(CURLOPT_DEBUGDATA, &transfer);
  // The connection is closed within curl_easy_perform(), where the callback can still end a QUIT
  // that isn't answered.
  easy.set(CURLOPT_FORBID_REUSE, 1L);
  const CURLcode code = easy.perform();
  return transfer.answer(easy, code);
}

}  // namespace berth::reconcilers
