#pragma once

#include <chrono>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/replicas.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Mails the tokens that people requested because they forgot their password
// (controller/domain/lifecycle/passwords.h). Of several berthd processes on a database, one does
// so. The composition root creates one, and calls start() and stop() once each.
class PasswordResets {
 public:
  // The pause between two rounds. It delays a mail by less than anybody notices.
  static constexpr std::chrono::milliseconds interval{500};

  // `replicas` is null if berthd has the database for itself.
  PasswordResets(db::Database& database, const Keys& keys, std::string base_url,
                 Replicas* replicas = nullptr)
      : database_(database),
        keys_(keys),
        base_url_(std::move(base_url)),
        turn_(database, replicas, "password resets"),
        rounds_("resets", [this] { answer_and_log(); }, {.interval = interval}) {}

  void start() { rounds_.start(); }
  void stop() { rounds_.stop(); }

 private:
  void answer_and_log();

  db::Database& database_;
  const Keys& keys_;
  const std::string base_url_;
  LoopTurn turn_;
  Repeating rounds_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
