#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "controller/base/shares.h"
#include "controller/transport/connection_table.h"
#include "controller/transport/http.h"
#include "controller/transport/poller.h"
#include "controller/transport/request_head.h"
#include "controller/transport/request_reader.h"

namespace berth::api {

// The pools that all requests to a server share.
struct Pools {
  Shares requests;
  Shares handlers;
  Shares large_bodies;
  Shares uploads;
};

// The places that one client occupies in these pools.
struct Claims {
  Claims(Pools& pools, const Claimant& claimant)
      : request(pools.requests, claimant),
        handler(pools.handlers, claimant),
        large_body(pools.large_bodies, claimant),
        upload(pools.uploads, claimant) {}

  Shares::Claim request;
  Shares::Claim handler;
  Shares::Claim large_body;
  Shares::Claim upload;
};

// What a connection does next, or waits for. One thread at a time has the connection: one of the
// pools' threads, or the Poller while it waits.
enum class State {
  waiting,         // for the first byte of a request
  reading_head,    //
  reading_body,    //
  for_large_body,  // waits for a place in the pool of large bodies
  for_upload,      // waits for a place in the pool of uploads
  for_handler,     // the request is complete and waits for a place in the pool of handlers
  sending,         // an answer, or a piece of a stream
  streaming,       // the next step of the stream comes
  upgraded,        // speaks another protocol
  stream_over,     // the stream or the takeover has to be destroyed
  ending,          // has sent everything and waits for the other side to close
  over,            // has to be destroyed
};

// An open connection, and the request that it is about.
struct Connection : Poller::Watched {
  Connection(std::unique_ptr<ConnectionTable::Entry> listed, const RequestLimits& limits)
      : Watched(listed->socket()),
        entry(std::move(listed)),
        socket(entry->socket()),
        reader(socket, limits) {
    request.remote_address = entry->address();
  }

  // Forgets the request and frees its memory, except for input that came after it.
  void forget_request() {
    free_memory(request);
    request.remote_address = entry->address();
    reader.free_all();
  }

  const std::unique_ptr<ConnectionTable::Entry> entry;
  const int socket;
  State state = State::waiting;
  Deadline until{};      // how long it waits for a request, for a place, or for the other side
  bool is_lost = false;  // it ends with the stream

  RequestReader reader;
  Request request;
  RequestHead head;
  std::optional<Upload> upload = {};
  std::optional<Refusal> refusal = {};  // why the request can't be read
  // The client of the latest request, whose claims are kept for its next one: all requests of a
  // connection have the same client, unless a proxy mixes them.
  std::string client = {};
  Claimant claimant = {};
  std::optional<Claims> claims = {};

  Response response = {};
  Persistence persistence = Persistence::keep_alive;
  std::string out = {};  // what is sent: the answer's head, or pieces of a stream
  std::size_t sent = 0;  // of `out` and the body after it
  Deadline send_until{};
  Next next = Next::more;  // what the stream's latest step said
  std::string path = {};   // what the stream's request asked for

  std::size_t ignored = 0;  // how much input came after the last answer
};

}  // namespace berth::api
