// What two administrators decide together about points, and what they take back.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/refunds/giving_back.h"
#include "api/resources/shared.h"
#include "controller/domain/points/proposals.h"

namespace berth::api {
namespace {

Reply claw_back(db::Tx& tx, const Call& call, const Services& services) {
  return {.status = 201,
          .body = order(tx, call, services,
                        {.kind = proposals::Kind::claw_back,
                         .subject_id = call.body.at("transaction_id"),
                         .amount = call.body.at("amount"),
                         .reason = call.body.at("reason")})};
}

Reply list_proposals(db::Tx& tx, const Call& call, const Services&) {
  const auto status = enum_query<proposals::Status>(call, "status");
  return {.body =
              encode_page("proposals", proposals::list(tx, status, call.page()), encode_proposal)};
}

Reply confirm_proposal(db::Tx& tx, const Call& call, const Services& services) {
  const proposals::Proposal proposal = proposals::confirm(tx, call.id(), call.admin);
  if (proposal.status == proposals::Status::confirmed)
    carry_out(tx, call, services, proposal.order);
  return {.body = {{"proposal", encode_proposal(proposal)}}};
}

Reply reject_proposal(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"proposal", encode_proposal(proposals::reject(tx, call.id(), call.admin))}}};
}

constexpr Param status_query[] = {
    {.name = "status",
     .description = "Returns only those with this status: open, confirmed, rejected, expired, or "
                    "alone, which are those that one admin has done at once.",
     .example = "open"}};

constexpr Placeholder proposal_in_path = {"PointProposalId", "The id of the proposal.",
                                          "01936f5e-7c1a-7000-8000-00000000000e"};

constexpr Route rows[] = {
    {.request = "POST /api/internal/points/claw-backs",
     .name = "clawBack",
     .tag = "Internal",
     .summary = "Take points back that a user or an app was given by mistake",
     .text = "Moves points of a refund, of a gift of the treasury, or minted ones back to where "
             "they came from, minted ones to the treasury: at most what the transaction gave and "
             "what the account still has. Both sides see the reason in their histories. Above the "
             "points of a day that one admin may move, it becomes a proposal, which another admin "
             "confirms.",
     .guards = admins_and_finance,
     .stores = Stores::administration,
     .body = {"ClawBackRequest"},
     .answer = {201, "ClawBackResult"},
     .errors = {Code::not_found, Code::insufficient_balance},
     .idempotency = Idempotency::kept,
     .served_by = {"berth admin claw-back", "/console/admin"},
     .run = WriteHandler{claw_back}},
    {.request = "GET /api/internal/points/proposals",
     .name = "listPointProposals",
     .tag = "Internal",
     .summary = "List what admins have given back and taken back, and what waits for another admin",
     .text = "Lists refunds and claw-backs of admins, newest first, with who has proposed and who "
             "has confirmed them. They are kept for 400 days.",
     .guards = every_admin,
     .paged = true,
     .query = status_query,
     .answer = {200, "PointProposalList"},
     .served_by = {"berth admin proposals", "/console/admin"},
     .run = ReadHandler{list_proposals}},
    {.request = "POST /api/internal/points/proposals/{id}/confirm",
     .name = "confirmPointProposal",
     .tag = "Internal",
     .summary = "Confirm a refund or claw-back that another admin has proposed",
     .text = "Carries it out in the same transaction. Only a person can confirm it, by their login "
             "in the console, and not who has proposed it. What the internal secret has proposed "
             "needs two persons: after the first one it stays open.",
     .guards = admins_and_finance_in_person,
     .stores = Stores::administration,
     .in_path = {&proposal_in_path},
     .answer = {200, "PointProposalEnvelope"},
     .errors = {Code::forbidden, Code::not_found, Code::deployment_not_found, Code::invalid_state,
                Code::validation_failed, Code::refund_exceeds_spend, Code::insufficient_balance,
                Code::bonus_locked, Code::unavailable},
     .idempotency = Idempotency::kept,
     .served_by = {.page = "/console/admin"},
     .run = WriteHandler{confirm_proposal}},
    {.request = "POST /api/internal/points/proposals/{id}/reject",
     .name = "rejectPointProposal",
     .tag = "Internal",
     .summary = "End a proposal without effect",
     .text = "Any admin can, the one who has proposed it, too. A proposal that nobody has "
             "confirmed ends after 7 days by itself.",
     .guards = admins_and_finance,
     .stores = Stores::administration,
     .in_path = {&proposal_in_path},
     .answer = {200, "PointProposalEnvelope"},
     .errors = {Code::not_found, Code::invalid_state},
     .served_by = {"berth admin reject-proposal", "/console/admin"},
     .run = WriteHandler{reject_proposal}},
};

}  // namespace

std::span<const Route> point_proposals_routes() { return rows; }

}  // namespace berth::api
