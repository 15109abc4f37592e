#include "reconcilers/loops/smtp.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace berth::reconcilers {
namespace {

constexpr size_t kept_of_a_line = 200;

// The stage of the SMTP conversation, which decides what a refusal is about.
enum class Stage { greeting, envelope_from, envelope_to, content };

using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

std::string in_brackets(const std::string& address) { return "<" + address + ">"; }

std::string printable(std::string_view line) {
  std::string text(line.substr(0, kept_of_a_line));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// Servers like to repeat the receiver's address, and their words go into the log.
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
  // Of our own commands only the verb is looked at, because they contain credentials.
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

  MailAnswer answer(CURL* easy, CURLcode code) const {
    long reply = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply);
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
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw std::runtime_error("libcurl can't be initialised");
}

MailAnswer SmtpClient::send(const std::string& from, const std::string& to, const std::string& text,
                            const std::function<bool()>& go_on) const {
  const Easy easy(curl_easy_init(), curl_easy_cleanup);
  if (!easy) throw std::runtime_error("libcurl can't be initialised");
  CURL* const curl = easy.get();
  Transfer transfer(text, to, go_on);
  const List receivers(curl_slist_append(nullptr, in_brackets(to).c_str()), curl_slist_free_all);
  const std::string sender = in_brackets(from);

  curl_easy_setopt(curl, CURLOPT_URL, settings_.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, long(settings_.connect_timeout.count()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, long(settings_.timeout.count()));
  // The limit for a single reply; the one to QUIT has no other limit.
  curl_easy_setopt(curl, CURLOPT_SERVER_RESPONSE_TIMEOUT, long(settings_.timeout.count() / 1'000));
  curl_easy_setopt(curl, CURLOPT_USE_SSL,
                   long(settings_.tls == MailTls::required ? CURLUSESSL_ALL : CURLUSESSL_TRY));
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, long(CURL_SSLVERSION_TLSv1_2));
  if (!settings_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, settings_.ca_file.c_str());
  if (!settings_.user.empty()) {
    curl_easy_setopt(curl, CURLOPT_USERNAME, settings_.user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, settings_.password.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_MAIL_FROM, sender.c_str());
  curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, receivers.get());
  curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, curl_off_t(text.size()));
  curl_easy_setopt(curl, CURLOPT_READFUNCTION, &Transfer::on_read);
  curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L);  // the output goes to on_line() alone
  curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, &Transfer::on_line);
  curl_easy_setopt(curl, CURLOPT_DEBUGDATA, &transfer);
  // The connection is closed within curl_easy_perform(), where the callback can still end a QUIT
  // that isn't answered.
  curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
  return transfer.answer(curl, curl_easy_perform(curl));
}

}  // namespace berth::reconcilers
