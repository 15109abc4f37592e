#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/base/address_range.h"
#include "controller/transport/socket.h"

namespace berth::api {

// What an open connection is doing. If connections have to be closed to make room, those with an
// earlier value are closed first.
enum class Activity {
  waiting,  // waits for its next request
  ending,   // has sent its last answer and waits for the other side to close
  reading,  // receives a request
  sending,  // sends an answer
  // Connections with the following activities are never closed to make room.
  handling,   // a request is complete and waits for a handler, or a handler runs
  streaming,  // sends an answer that goes on
};

struct ConnectionLimits {
  std::size_t total = 1024;
  // The limit for one network (berth::network_of). Networks of which no connection has sent a valid
  // token get half of it. 0 means that only the total is limited.
  std::size_t of_network = 0;
  // Addresses that stand for many callers, such as that of a trusted proxy. Only the total limits
  // their connections, and those on a Unix socket.
  std::vector<AddressRange> shared_addresses = {};
  // A connection of a network that has more connections than the newcomer's is displaced at once.
  // Any other one, such as one of the newcomer's own network, is displaced only if it has been in
  // the same activity for longer than `patience`, or has sent nothing since it was opened for
  // longer than `silent_patience`.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  std::chrono::milliseconds silent_patience = std::chrono::seconds(1);
};

// All open connections, counted by network, and the choice of which one is closed to make room for
// another.
//
// If a network has reached its limit, its new connection displaces another one of that network. If
// the total is reached, it displaces one of any network. Connections that wait for a request are
// displaced first, then those that are ending, those that receive a request, and those that send an
// answer. Among equals, those of the network with the most connections come first, among these
// those that never sent a valid token, and then the oldest. If none can be displaced, the new
// connection is refused, except that a few places are reserved for networks without connections.
// All functions may be called from any thread.
class ConnectionTable {
 private:
  struct Network;

 public:
  // The number of connections above `total` that networks without a connection may get.
  static constexpr std::size_t reserved = 16;
  // A displaced connection leaves when the server notices. While this many haven't left yet, new
  // connections are refused.
  static constexpr std::size_t max_leaving = 64;

  // One open connection. It is in the table as long as this object exists.
  class Entry {
   public:
    Entry(ConnectionTable& table, Descriptor socket, std::string address, Network& network);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    int socket() const { return socket_.get(); }
    // The numeric address, as peer_address() returns it.
    const std::string& address() const { return address_; }
    Activity activity() const { return activity_; }
    void set_activity(Activity activity);
    // Records that the connection has sent a valid token.
    void set_known();
    // Whether the connection was displaced. The answer that it is sending, if any, is its last.
    bool is_leaving() const { return leaving_; }

   private:
    friend class ConnectionTable;
    using Clock = std::chrono::steady_clock;

    ConnectionTable& table_;
    Descriptor socket_;
    const std::string address_;
    Network& network_;
    std::list<Entry*>::iterator place_;  // position in the network's list
    std::atomic<Activity> activity_ = Activity::waiting;
    std::atomic<Clock::rep> since_;  // when the activity began
    std::atomic<bool> spoke_ = false;
    std::atomic<bool> known_ = false;
    std::atomic<bool> leaving_ = false;
  };

  explicit ConnectionTable(ConnectionLimits limits) : limits_(std::move(limits)) {}
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // Adds a connection to the table and takes it over, displacing another one if necessary. Returns
  // nothing, and leaves `connection` as it is, if it has to be refused. Never blocks.
  std::unique_ptr<Entry> admit(Descriptor& connection);

  // Calls `call`, which must not block, for each connection.
  void for_each(const std::function<void(const Entry&)>& call) const;
  std::size_t size() const;
  // Waits until there is no connection. Returns false if there are some at the deadline.
  bool wait_until_empty(Deadline deadline) const;
  // The number of connections that were displaced since the start.
  std::uint64_t displaced() const { return displaced_; }

 private:
  struct Network {
    std::string name;
    std::list<Entry*> entries;
    std::size_t leaving = 0;
    std::size_t known = 0;  // how many have sent a valid token
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
  mutable std::condition_variable emptied_;
  std::map<std::string, Network, std::less<>> networks_;  // only networks that have connections
  std::size_t size_ = 0;                                  // including those that are leaving
  std::size_t leaving_ = 0;
  std::atomic<std::uint64_t> displaced_ = 0;
};

}  // namespace berth::api
