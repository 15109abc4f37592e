#pragma once

#include <string>

// A certificate with its key, made for a test. Both are PEM.
struct Identity {
  std::string certificate, key;
};

// A certificate authority that signs whatever it is asked to.
class Authority {
 public:
  explicit Authority(const std::string& name);
  const Identity& identity() const { return self_; }
  // `names` are subject alternative names in OpenSSL's notation ("DNS:a,IP:127.0.0.1"); may be
  // empty.
  Identity sign(const std::string& common_name, const std::string& names) const;

 private:
  Identity self_;
};
