#include "controller/domain/points/proposals.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/kernel/utc_date.h"

namespace berth::proposals {
namespace {

constexpr std::string_view of_console = "user:";  // how a person's name in the audit log begins

Proposal proposal_of(const db::Query& row) {
  return {.id = row.text("id"),
          .order = {.kind = db::enum_of<Kind>(row, "kind"),
                    .subject_id = row.text("subject_id"),
                    .user_id = row.text_or_null("user_id"),
                    .request_id = row.text_or_null("request_id"),
                    .amount = row.integer("amount"),
                    .reason = row.text("reason")},
          .status = db::enum_of<Status>(row, "status"),
          .proposed_by = row.text("proposed_by"),
          .seconded_by = row.text_or_null("seconded_by"),
          .decided_by = row.text_or_null("decided_by"),
          .inserted_at = row.instant("inserted_at"),
          .decided_at = row.instant_or_null("decided_at")};
}

const std::string select_proposals = R"(
    SELECT id, kind, subject_id, user_id, request_id, amount, reason, status, proposed_by,
           seconded_by, decided_by, inserted_at, decided_at
    FROM point_proposals
    )";
const std::string select_proposal = select_proposals + R"(WHERE id = $1)";

const std::vector<SortColumn> by_time = {{SortColumn::Type::integer, "inserted_at"},
                                         {SortColumn::Type::text, "id"}};
const ListSql all_proposals = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM point_proposals LIMIT $1) counted)",
                               .rows = select_proposals + R"(
    WHERE (inserted_at, id) < ($1, $2)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $3 OFFSET $4)",
                               .sorted_by = by_time};
const ListSql proposals_in_status = {.count = R"(
    SELECT count(*)
    FROM (SELECT 1 AS one FROM point_proposals WHERE status = $1 LIMIT $2) counted)",
                                     .rows = select_proposals + R"(
    WHERE status = $1 AND (inserted_at, id) < ($2, $3)
    ORDER BY inserted_at DESC, id DESC
    LIMIT $4 OFFSET $5)",
                                     .sorted_by = by_time};

Proposal get(db::Tx& tx, const std::string& id) {
  auto rows = tx.query(select_proposal, id);
  if (!rows.next()) throw Error(Code::not_found, "there is no such proposal");
  return proposal_of(rows);
}

Proposal get_open(db::Tx& tx, const std::string& id) {
  const Proposal proposal = get(tx, id);
  if (proposal.status != Status::open)
    throw Error(Code::invalid_state,
                "the proposal isn't open: " + std::string(to_string(proposal.status)));
  if (tx.now() - proposal.inserted_at > open_for)
    throw Error(Code::invalid_state, "the proposal's time is over");
  return proposal;
}

std::int64_t done_alone_today(db::Tx& tx, const std::string& person) {
  return tx.number(R"(
      SELECT coalesce(sum(amount), 0)
      FROM point_proposals
      WHERE person = $1 AND status = 'alone' AND inserted_at >= $2)",
                   person, start_of_day(utc_day(tx.now())));
}

std::string add(db::Tx& tx, const Order& order, const std::string& admin, Status status) {
  const std::string id = new_uuid(tx.now());
  const auto decided_at = status == Status::alone ? std::optional(tx.now()) : std::nullopt;
  tx.execute(R"(
      INSERT INTO point_proposals
        (id, kind, subject_id, user_id, request_id, amount, reason, status, proposed_by, person,
         inserted_at, decided_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12))",
             id, to_string(order.kind), order.subject_id, order.user_id, order.request_id,
             order.amount, order.reason, to_string(status), admin, person_of(admin), tx.now(),
             decided_at);
  return id;
}

// The reason isn't repeated here, because it may be about the user.
void record(db::Tx& tx, const std::string& admin, const char* action, const Proposal& proposal) {
  audit::record(tx, admin, action, proposal.id,
                nlohmann::json{{"kind", to_string(proposal.order.kind)},
                               {"subject_id", proposal.order.subject_id},
                               {"amount", proposal.order.amount},
                               {"proposed_by", proposal.proposed_by}}
                    .dump());
}

Proposal decide(db::Tx& tx, const Proposal& proposal, Status status, const std::string& admin) {
  tx.require_change(R"(
      UPDATE point_proposals
      SET status = $2, decided_by = $3, decided_at = $4
      WHERE id = $1 AND status = 'open')",
                    proposal.id, to_string(status), admin, tx.now());
  return get(tx, proposal.id);
}

int expire(db::Tx& tx, int limit) {
  return tx.execute(R"(
      UPDATE point_proposals
      SET status = 'expired', decided_at = $2
      WHERE id IN (SELECT id
                   FROM point_proposals
                   WHERE status = 'open' AND inserted_at < $1
                   ORDER BY inserted_at
                   LIMIT $3))",
                    tx.now() - open_for, tx.now(), limit);
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(R"(
      DELETE FROM point_proposals
      WHERE id IN (SELECT id
                   FROM point_proposals
                   WHERE decided_at IS NOT NULL AND decided_at <= $1
                   ORDER BY decided_at
                   LIMIT $2))",
                    tx.now() - decided_kept_for, limit);
}

}  // namespace

std::string person_of(std::string_view admin) {
  return admin.starts_with(of_console) ? std::string(admin.substr(of_console.size())) : "";
}

std::optional<Proposal> propose(db::Tx& tx, const Order& order, const std::string& admin,
                                std::int64_t most_alone) {
  tx.require_serializable();
  if (order.amount <= most_alone - done_alone_today(tx, person_of(admin))) {
    add(tx, order, admin, Status::alone);
    return std::nullopt;
  }
  const Proposal made = get(tx, add(tx, order, admin, Status::open));
  record(tx, admin, "points.propose", made);
  return made;
}

Proposal confirm(db::Tx& tx, const std::string& id, const std::string& admin) {
  tx.require_serializable();
  const Proposal proposal = get_open(tx, id);
  const std::string person = person_of(admin);
  if (person.empty())
    throw Error(Code::forbidden,
                "only an admin who is logged in to the console can confirm this: the internal "
                "secret doesn't say who uses it");
  if (person == person_of(proposal.proposed_by) ||
      (proposal.seconded_by && person == person_of(*proposal.seconded_by)))
    throw Error(Code::forbidden, "another admin has to confirm this");
  record(tx, admin, "points.confirm", proposal);
  const bool is_first = person_of(proposal.proposed_by).empty() && !proposal.seconded_by;
  if (!is_first) return decide(tx, proposal, Status::confirmed, admin);
  tx.require_change(R"(
      UPDATE point_proposals
      SET seconded_by = $2
      WHERE id = $1 AND status = 'open' AND seconded_by IS NULL)",
                    id, admin);
  return get(tx, id);
}

Proposal reject(db::Tx& tx, const std::string& id, const std::string& admin) {
  const Proposal proposal = get_open(tx, id);
  record(tx, admin, "points.reject", proposal);
  return decide(tx, proposal, Status::rejected, admin);
}

Page<Proposal> list(db::Tx& tx, std::optional<Status> status, const PageRequest& page) {
  if (status) return read_page(tx, proposals_in_status, page, proposal_of, to_string(*status));
  return read_page(tx, all_proposals, page, proposal_of);
}

std::int64_t count_open(db::Tx& tx, std::int64_t most) {
  return tx.number(R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM point_proposals WHERE status = 'open' LIMIT $1) counted)",
                   most);
}

int erase_of_user(db::Tx& tx, const std::string& user_id, int limit) {
  return tx.execute(R"(
      UPDATE point_proposals
      SET reason = ''
      WHERE id IN (SELECT id
                   FROM point_proposals
                   WHERE user_id = $1 AND reason <> ''
                   LIMIT $2))",
                    user_id, limit);
}

bool is_anything_due(db::Tx& tx) {
  return tx.number(R"(
      SELECT 1
      FROM point_proposals
      WHERE status = 'open' AND inserted_at < $1
      LIMIT 1)",
                   tx.now() - open_for) > 0 ||
         tx.number(R"(
      SELECT 1
      FROM point_proposals
      WHERE decided_at IS NOT NULL AND decided_at <= $1
      LIMIT 1)",
                   tx.now() - decided_kept_for) > 0;
}

int tidy(db::Tx& tx, int limit) {
  const int closed = expire(tx, limit);
  return closed + (closed < limit ? remove_old(tx, limit - closed) : 0);
}

}  // namespace berth::proposals
