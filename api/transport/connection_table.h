#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/transport/socket.h"
#include "controller/base/address_range.h"

namespace berth::api {

// What an open connection is at, in the order in which those of one kind are closed for others.
enum class Activity {
  waiting,  // for its next request
  ending,   // answered for the last time, waits for the other side to close
  reading,  // a request arrives
  sending,  // an answer leaves
  // These are never closed for others.
  handling,   // a request is complete: it waits for a handler, or one runs
  streaming,  // an answer goes on
};

struct ConnectionLimits {
  std::size_t total = 1024;
  // Of one network (berth::network_of), and half of it as long as none of its connections has sent
  // a valid token. 0: no limit but the total.
  std::size_t of_network = 0;
  // Addresses that stand for many callers, such as a trusted proxy's: only the total limits them.
  std::vector<AddressRange> shared_addresses = {};
  // A newcomer takes the place of a connection of its own network only if that one has been at the
  // same for this long, or waits since it was opened for longer than `silent_patience`. Connections
  // of networks that have more are closed at once.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  std::chrono::milliseconds silent_patience = std::chrono::seconds(1);
};

// All open connections, counted by network, and who has to leave for whom when there are too many.
//
// Over its network's limit, a newcomer takes the place of one of that network. Over the total, it
// takes the place of one of the network that has most. Connections that wait for a request are
// closed first, then those that are ending, then those whose request or answer is under way; of the
// same kind those that never sent a valid token first, and the oldest of them. Where nothing can be
// closed, the newcomer is refused, but for a few places that are kept for networks that have none.
// All functions may be called from any thread.
class ConnectionTable {
 private:
  struct Network;

 public:
  // Connections above `total` that networks which have none may get.
  static constexpr std::size_t reserved = 16;
  // Closed connections leave when their threads notice; while so many haven't, newcomers are
  // refused.
  static constexpr std::size_t max_leaving = 64;

  // One open connection, in the table for as long as it exists.
  class Entry {
   public:
    Entry(ConnectionTable& table, Descriptor socket, std::string address, Network& network);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    int socket() const { return socket_.get(); }
    // Numeric, see peer_address().
    const std::string& address() const { return address_; }
    Activity activity() const { return activity_; }
    void set_activity(Activity activity);
    // It sent a valid token.
    void set_known();
    // It has to make room: the answer that is under way is its last.
    bool is_leaving() const { return leaving_; }

   private:
    friend class ConnectionTable;
    using Clock = std::chrono::steady_clock;

    ConnectionTable& table_;
    Descriptor socket_;
    const std::string address_;
    Network& network_;
    std::list<Entry*>::iterator place_;  // in the network's list
    std::atomic<Activity> activity_ = Activity::waiting;
    std::atomic<Clock::rep> since_;  // the activity's begin
    std::atomic<bool> spoke_ = false;
    std::atomic<bool> known_ = false;
    std::atomic<bool> leaving_ = false;
  };

  explicit ConnectionTable(ConnectionLimits limits) : limits_(std::move(limits)) {}
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // Never blocks. Takes the connection over, closing another one where that is needed; nothing, and
  // `connection` untouched, where it is to be refused.
  std::unique_ptr<Entry> admit(Descriptor& connection);

  // The connection of an entry that can't be served; the entry ends.
  Descriptor take_back(std::unique_ptr<Entry> entry);

  // Calls it for each connection. It must not block.
  void for_each(const std::function<void(const Entry&)>& call) const;
  std::size_t size() const;
  // Connections that were closed for others, since the start.
  std::uint64_t displaced() const { return displaced_; }

 private:
  struct Network {
    std::string name;
    std::list<Entry*> entries;
    std::size_t leaving = 0;
    std::size_t known = 0;  // that sent a valid token
    std::size_t staying() const { return entries.size() - leaving; }
  };

  std::size_t limit_of(const Network& network, const std::string& address) const;
  bool make_room(Network& network, const std::string& address);
  Entry* victim(const Network& newcomers) const;
  Entry* victim_in(const Network& network, const Network& newcomers, Entry* best) const;
  bool may_displace(const Entry& entry, const Network& newcomers,
                    std::chrono::steady_clock::time_point now) const;
  bool displace(Entry* entry);

  const ConnectionLimits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Network, std::less<>> networks_;  // those that have connections
  std::size_t size_ = 0;                                  // leaving ones included
  std::size_t leaving_ = 0;
  std::atomic<std::uint64_t> displaced_ = 0;
};

}  // namespace berth::api
