#include "tests/kube_client/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

void check(bool ok) {
  if (!ok) throw std::runtime_error("OpenSSL failed");
}

std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, size_t(size)};
}

Key new_key() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  check(extension && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

Certificate blank(const std::string& common_name, EVP_PKEY* key) {
  Certificate certificate(X509_new(), X509_free);
  long serial = 0;
  check(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial - 1) == 1);
  check(X509_set_version(certificate.get(), 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  check(X509_set_pubkey(certificate.get(), key) == 1);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  return certificate;
}

Identity pem_of(X509* certificate, EVP_PKEY* key) {
  const Bio first(BIO_new(BIO_s_mem()), BIO_free), second(BIO_new(BIO_s_mem()), BIO_free);
  check(PEM_write_bio_X509(first.get(), certificate) == 1);
  check(PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {text_of(first), text_of(second)};
}

}  // namespace

Authority::Authority(const std::string& name) {
  const Key key = new_key();
  const Certificate certificate = blank(name, key.get());
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  extend(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  extend(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign");
  check(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  self_ = pem_of(certificate.get(), key.get());
}

Identity Authority::sign(const std::string& common_name, const std::string& names) const {
  const Bio ca_text(BIO_new_mem_buf(self_.certificate.data(), int(self_.certificate.size())),
                    BIO_free);
  const Bio key_text(BIO_new_mem_buf(self_.key.data(), int(self_.key.size())), BIO_free);
  const Certificate ca(PEM_read_bio_X509(ca_text.get(), nullptr, nullptr, nullptr), X509_free);
  const Key ca_key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr),
                   EVP_PKEY_free);
  const Key key = new_key();
  const Certificate certificate = blank(common_name, key.get());
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(ca.get()));
  if (!names.empty()) extend(certificate.get(), ca.get(), NID_subject_alt_name, names);
  check(X509_sign(certificate.get(), ca_key.get(), EVP_sha256()) > 0);
  return pem_of(certificate.get(), key.get());
}
