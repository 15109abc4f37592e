"""Drivers of points: users' balances, spends and transfers, and apps' revenue."""

from scene import PLAYER_SCOPES, Client

from . import driver


@driver("pointsBalance")
def points_balance(scene):
    return scene.user.get("/api/points/balance")


@driver("pointsHistory")
def points_history(scene):
    return scene.user.get("/api/points/history")


@driver("pointsDays")
def points_days(scene):
    return scene.user.get("/api/points/days?from=2026-01-01&to=2026-01-31")


@driver("pointsStatement")
def points_statement(scene):
    return scene.user.get("/api/points/statement?from=2026-01-01")


@driver("operatorStatement")
def operator_statement(scene):
    return scene.owner_api.get("/api/operator/statement?from=2026-01-01")


def own_transaction(scene):
    return scene.player_api.post("/api/external/points/spend", {"amount": 1})["spend_id"]


@driver("receipt")
def receipt(scene):
    return scene.user.get("/api/points/receipts/" + own_transaction(scene))


@driver("anyReceipt")
def any_receipt(scene):
    return scene.admin.get("/api/internal/points/receipts/" + own_transaction(scene))


@driver("rotateReceiptKey")
def rotate_receipt_key(scene):
    return scene.admin.post("/api/internal/receipt-keys/rotate")


@driver("receiptKeys")
def receipt_keys(scene):
    return scene.anybody.get("/.well-known/berth-receipts.json")


@driver("publishedLedger")
def published_ledger(scene):
    return scene.anybody.get("/.well-known/berth-ledger?from=2026-01-01")


@driver("transferPoints")
def transfer_points(scene):
    body = {"to_user_id": scene.other.id, "amount": 1, "description": "thanks"}
    return scene.user.post("/api/points/transfer", body)


@driver("externalPointsBalance")
def external_points_balance(scene):
    return scene.player_api.get("/api/external/points/balance")


@driver("spendPoints")
def spend_points(scene):
    return scene.player_api.post("/api/external/points/spend", {"amount": 1})


@driver("refundSpend")
def refund_spend(scene):
    spent = scene.player_api.post("/api/external/points/spend", {"amount": 1})
    body = {"spend_id": spent["spend_id"], "amount": 1, "reason": "sold out"}
    return scene.owner_api.post("/api/external/points/refunds", body)


@driver("refundAnySpend")
def refund_any_spend(scene):
    spent = scene.player_api.post("/api/external/points/spend", {"amount": 1})
    body = {"spend_id": spent["spend_id"], "amount": 1, "reason": "broken"}
    return scene.admin.post("/api/internal/points/refunds", body)


@driver("externalTransferPoints")
def external_transfer_points(scene):
    body = {"to_username": scene.other.name, "amount": 1}
    return scene.player_api.post("/api/external/points/transfer", body)


@driver("awardPoints", status=403)  # deprecated, because only admins can award points
def award_points(scene):
    return scene.owner_api.post("/api/external/points/award")


@driver("operatorAnalytics")
def operator_analytics(scene):
    return scene.owner_api.get("/api/operator/analytics?window_days=7")


@driver("operatorAnalyticsDays")
def operator_analytics_days(scene):
    return scene.owner_api.get("/api/operator/analytics/days")


@driver("topUpApp")
def top_up_app(scene):
    scene.rich(scene.operator)
    body = {"app_id": scene.app.id, "amount": 1, "description": "hosting"}
    return scene.operator.post("/api/points/top-up", body)


@driver("appMoney")
def app_money(scene):
    return scene.owner_api.get("/api/operator/money?days=7")


@driver("appHistory")
def app_history(scene):
    return scene.owner_api.get("/api/operator/money/history")


@driver("platformMoney")
def platform_money(scene):
    return scene.admin.get("/api/internal/money?days=7")


def request_refund(scene):
    """A request of a user of their own, since each one may ask only some times a day."""
    user = scene.rich(scene.new_user())
    player = Client(scene.base, scene.new_tokens(user, PLAYER_SCOPES)["access_token"])
    spent = player.post("/api/external/points/spend", {"amount": 1}).expect(200)
    body = {"spend_id": spent["spend_id"], "amount": 1, "reason": "the hat never came"}
    return user, user.post("/api/points/refund-requests", body)


@driver("requestRefund")
def request_refund_once(scene):
    return request_refund(scene)[1]


@driver("listOwnRefundRequests")
def list_own_refund_requests(scene):
    return scene.user.get("/api/points/refund-requests")


@driver("withdrawRefundRequest")
def withdraw_refund_request(scene):
    user, asked = request_refund(scene)
    return user.delete(f"/api/points/refund-requests/{asked['request']['id']}")


@driver("listRefundRequests")
def list_refund_requests(scene):
    return scene.owner_api.get("/api/operator/refund-requests?status=open")


@driver("answerRefundRequest")
def answer_refund_request(scene):
    asked = request_refund(scene)[1]
    path = f"/api/operator/refund-requests/{asked['request']['id']}/answer"
    return scene.owner_api.post(path, {"approve": True, "note": "sorry"})


@driver("internalListRefundRequests")
def internal_list_refund_requests(scene):
    return scene.admin.get("/api/internal/refund-requests?status=open")


@driver("internalAnswerRefundRequest")
def internal_answer_refund_request(scene):
    asked = request_refund(scene)[1]
    path = f"/api/internal/refund-requests/{asked['request']['id']}/answer"
    return scene.admin.post(path, {"approve": False, "note": "it came"})


def claw_back(scene, amount):
    minted = scene.mint({"kind": "user", "id": scene.user.id}, 100_000)
    body = {"transaction_id": minted["transaction_id"], "amount": amount, "reason": "twice"}
    return scene.admin.post("/api/internal/points/claw-backs", body)


def proposal(scene):  # more than one admin may take back alone
    return claw_back(scene, 50_000).expect(201)["proposal"]["id"]


@driver("clawBack")
def claw_back_once(scene):
    return claw_back(scene, 1)


@driver("listPointProposals")
def list_point_proposals(scene):
    return scene.admin.get("/api/internal/points/proposals")


@driver("confirmPointProposal", status=403)  # the internal secret is nobody by name
def confirm_point_proposal(scene):
    return scene.admin.post(f"/api/internal/points/proposals/{proposal(scene)}/confirm")


@driver("rejectPointProposal")
def reject_point_proposal(scene):
    return scene.admin.post(f"/api/internal/points/proposals/{proposal(scene)}/reject")
