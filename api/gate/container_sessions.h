#pragma once

#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "controller/base/shares.h"
#include "controller/domain/deployments/exec_sessions.h"

namespace berth::api {

// The sessions in containers that this process has open: how many there may be, and their metrics.
// Thread-safe, and has to outlive its permits.
class ContainerSessions {
 public:
  struct Limits {
    // Each session costs two threads and a connection to the cluster.
    std::size_t sessions = 256;
    std::size_t of_account = 32;
    // How many may be opened at once. The cluster may take exec::open_time for each, and a thread
    // that handles requests waits for it.
    std::size_t opening = 16;
    std::size_t opening_of_account = 8;  // browsers open six connections at once
  };
  // Without a registry there are no metrics.
  explicit ContainerSessions(prometheus::Registry* registry = nullptr)
      : ContainerSessions(registry, Limits()) {}
  ContainerSessions(prometheus::Registry* registry, Limits limits);
  ContainerSessions(const ContainerSessions&) = delete;
  ContainerSessions& operator=(const ContainerSessions&) = delete;

  // The permission to have a session open, for the lifetime of this object.
  class Permit {
   public:
    // Throws what admit() throws.
    Permit(ContainerSessions& sessions, exec::SessionKind kind, std::string account);
    ~Permit();
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    // Calls `open`, unless too many sessions are being opened: then throws rate_limited if they are
    // the account's, and unavailable if they are everybody's.
    template <typename Work>
    auto opening(Work&& open) {
      const Opening one(sessions_, account_);
      return open();
    }
    // Counts the session as opened.
    void opened();

   private:
    ContainerSessions& sessions_;
    const exec::SessionKind kind_;
    const std::string account_;
    Shares::Claim claim_;
    bool is_open_ = false;
  };
  // Throws rate_limited if the account has too many sessions, or the claimant of the calling thread
  // its share of them (base/shares.h); and unavailable if there are too many of all.
  std::unique_ptr<Permit> admit(exec::SessionKind kind, const std::string& account) {
    return std::make_unique<Permit>(*this, kind, account);
  }
  // Counts a session that was refused, for whatever reason.
  void refused(exec::SessionKind kind);

  std::size_t open() const { return shares_.used(); }

 private:
  struct Opening {
    Opening(ContainerSessions& all, const std::string& of_account);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
    ContainerSessions& sessions;
    const std::string& account;
  };
  struct OfAccount {
    std::size_t sessions = 0;
    std::size_t opening = 0;  // of these
  };
  // Null without a registry.
  struct Series {
    prometheus::Gauge* open = nullptr;
    prometheus::Counter* opened = nullptr;
    prometheus::Counter* refused = nullptr;
  };
  Series& of(exec::SessionKind kind) { return series_.at(std::size_t(kind)); }

  const Limits limits_;
  std::array<Series, 2> series_;
  Shares shares_;
  std::mutex mutex_;
  std::map<std::string, OfAccount> accounts_;  // those that have any
  std::size_t opening_ = 0;
};

}  // namespace berth::api
