"""Drivers of points: users' balances, spends and transfers, and apps' revenue."""

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
