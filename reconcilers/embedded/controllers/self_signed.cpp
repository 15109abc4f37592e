#include "reconcilers/embedded/controllers/self_signed.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>

namespace berth::embedded {
namespace {

constexpr std::chrono::days lifetime{90};

template <auto free_it>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    free_it(pointer);
  }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free_all>>;

void need(bool went_well) {
  if (!went_well) throw std::runtime_error("OpenSSL can't make a certificate");
}

std::string text_of(BIO* memory) {
  char* start = nullptr;
  const auto size = BIO_get_mem_data(memory, &start);
  return {start, size_t(size)};
}

void name_hosts(X509* certificate, const std::vector<std::string>& hosts) {
  std::string list;
  for (const std::string& host : hosts) list += (list.empty() ? "DNS:" : ",DNS:") + host;
  const Extension names(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, list.c_str()));
  need(names && X509_add_ext(certificate, names.get(), -1) == 1);
}

}  // namespace

SelfSigned self_signed(const std::vector<std::string>& hosts) {
  const PrivateKey key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  need(key && certificate);
  SelfSigned made{
      .certificate = {},
      .key = {},
      .from = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
      .until = {}};
  made.until = made.from + lifetime;
  X509* raw = certificate.get();
  X509_set_version(raw, X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), std::uint64_t(to_millis(made.from)));
  ASN1_TIME_set(X509_getm_notBefore(raw), to_millis(made.from) / 1000);
  ASN1_TIME_set(X509_getm_notAfter(raw), to_millis(made.until) / 1000);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("simulated"), -1, -1, 0);
  X509_set_issuer_name(raw, X509_get_subject_name(raw));
  name_hosts(raw, hosts);
  need(X509_set_pubkey(raw, key.get()) == 1 && X509_sign(raw, key.get(), EVP_sha256()) > 0);
  const Memory certificate_text(BIO_new(BIO_s_mem()));
  const Memory key_text(BIO_new(BIO_s_mem()));
  need(PEM_write_bio_X509(certificate_text.get(), raw) == 1);
  need(PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
       1);
  made.certificate = text_of(certificate_text.get());
  made.key = text_of(key_text.get());
  return made;
}

}  // namespace berth::embedded
