#pragma once

#include <string>

// Who has asked for what a thread does, for the audit log (controller/domain/kernel/audit.h). An
// entry that is written for a request says so, whoever writes it.
namespace berth {

// A request that may change something. The gate and the hosted pages make one for each.
struct Requester {
  std::string actor;            // who acts, as the audit log calls them
  std::string user_id = {};     // the person, if one acts or an app acts for them
  std::string app_id = {};      // the app that it is about; empty: none
  std::string token_kind = {};  // what was shown to prove who acts; empty: nothing
  // Its id, if it has one; never the token itself. Of a login, that of the session that it opens.
  std::string token_id = {};
  std::string network = {};     // the network of the client's address
  std::string request_id = {};  // as in the log
  std::string operation = {};   // the operation's name, or the form's
  // Set by the database (Database::write) and by audit::record(): whether a write that was
  // committed has an entry, and whether one has changed a row.
  bool is_recorded = false;
  bool has_changed = false;
  // The same of the write that is under way. It may be run again, or be rolled back.
  bool records = false;
  bool changes = false;

  // The one whose request the calling thread handles; null outside of requests.
  static Requester* of_thread();
};

// While it exists, `requester` is the one of the calling thread. It has to be destroyed by the
// thread that created it, and before `requester` is.
class RequesterOfThread {
 public:
  explicit RequesterOfThread(Requester& requester);
  ~RequesterOfThread();
  RequesterOfThread(const RequesterOfThread&) = delete;
  RequesterOfThread& operator=(const RequesterOfThread&) = delete;

 private:
  Requester* const outer_;
};

}  // namespace berth
