"""Drivers of campaigns, ad serving and events, and of the placement market."""

from . import driver

CAMPAIGN = {
    "name": "Spring",
    "surface_type": "banner",
    "total_payment": 10_000,
    "payout_rate": 10,
}


def new_campaign(scene):
    return scene.owner_api.post("/api/external/campaigns", CAMPAIGN)


def campaign(scene, base="/api/external/campaigns", rest=""):
    made = scene.once("campaign", lambda: new_campaign(scene).expect(201).id)
    return f"{base}/{made}{rest}"


@driver("createCampaign")
def create_campaign(scene):
    return new_campaign(scene)


@driver("listCampaigns")
def list_campaigns(scene):
    return scene.owner_api.get("/api/external/campaigns")


@driver("getCampaign")
def get_campaign(scene):
    return scene.owner_api.get(campaign(scene))


@driver("changeCampaign")
def change_campaign(scene):
    return scene.owner_api.put(campaign(scene), {"additional_payment": 100})


@driver("cancelCampaign")
def cancel_campaign(scene):
    made = new_campaign(scene).expect(201).id
    return scene.owner_api.delete("/api/external/campaigns/" + made)


PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def new_creative(scene):
    body = {"title": "Play chess", "link": "https://chess.example.org/", "image": PIXEL}
    return scene.owner_api.post(campaign(scene, rest="/creatives"), body)


@driver("createCreative")
def create_creative(scene):
    return new_creative(scene)


@driver("listCreatives")
def list_creatives(scene):
    return scene.owner_api.get(campaign(scene, rest="/creatives"))


@driver("removeCreative")
def remove_creative(scene):
    made = new_creative(scene).expect(201).id
    return scene.owner_api.delete(campaign(scene, rest=f"/creatives/{made}"))


@driver("adPicture")
def ad_picture(scene):
    made = scene.once("creative", lambda: new_creative(scene).expect(201).id)
    return scene.anybody.get(f"/ads/pictures/{made}")


@driver("takeCreativeDown")
def take_creative_down(scene):
    return scene.admin.delete(f"/api/internal/ads/creatives/{new_creative(scene).expect(201).id}")


def serve(scene):
    campaign(scene)
    return scene.player_api.get("/api/external/ads/serve?surface_type=banner")


@driver("serveAd")
def serve_ad(scene):
    return serve(scene)


@driver("recordAdEvent")
def record_ad_event(scene):
    body = {"campaign_id": serve(scene).expect(200)["campaign"]["id"], "event_type": "impression"}
    return scene.player_api.post("/api/external/ads/event", body)


MARKET = "/api/v1/ads"
ADMIN = "/api/internal/ads"


def new_placement(scene):
    body = {"name": scene.new_name("Lobby "), "surface_type": "banner"}
    return scene.admin.post(ADMIN + "/placements", body)


def new_pricing(scene):
    body = {
        "ad_placement_id": new_placement(scene).expect(201).id,
        "base_rate": 10,
        "min_rate": 5,
        "max_rate": 50,
    }
    return scene.admin.post(ADMIN + "/pricing", body), body["ad_placement_id"]


def new_package(scene):
    body = {"name": scene.new_name("Package "), "discount_percentage": 10}
    return scene.admin.post(ADMIN + "/packages", body)


def segment(scene):
    return {"name": scene.new_name("Puzzlers "), "game_type": "puzzle"}


@driver("listAdPlacements")
def list_ad_placements(scene):
    return scene.owner_api.get(MARKET + "/placements")


@driver("listAdRates")
def list_ad_rates(scene):
    return scene.owner_api.get(MARKET + "/rates?surface_type=banner")


@driver("listAdPricing")
def list_ad_pricing(scene):
    return scene.owner_api.get(MARKET + "/pricing")


@driver("getAdPricing")
def get_ad_pricing(scene):
    made, placement = new_pricing(scene)
    made.expect(201)
    return scene.owner_api.get(f"{MARKET}/pricing/{placement}")


@driver("listAudienceSegments")
def list_audience_segments(scene):
    return scene.owner_api.get(MARKET + "/segments")


@driver("createAudienceSegment")
def create_audience_segment(scene):
    return scene.owner_api.post(MARKET + "/segments", segment(scene))


@driver("listAdPackages")
def list_ad_packages(scene):
    return scene.owner_api.get(MARKET + "/packages")


def buy(scene):
    body = {
        "ad_package_id": new_package(scene).expect(201).id,
        "name": "Spring",
        "surfaces": [{"surface_type": "banner", "impressions": 10}],
    }
    return scene.owner_api.post(MARKET + "/purchases", body)


@driver("buyAdPackage")
def buy_ad_package(scene):
    return buy(scene)


@driver("listAdPurchases")
def list_ad_purchases(scene):
    return scene.owner_api.get(MARKET + "/purchases")


@driver("getAdPurchase")
def get_ad_purchase(scene):
    return scene.owner_api.get(f"{MARKET}/purchases/{buy(scene).expect(201).id}")


@driver("listCampaignSummaries")
def list_campaign_summaries(scene):
    return scene.owner_api.get(MARKET + "/campaigns")


@driver("createMarketCampaign")
def create_market_campaign(scene):
    return scene.owner_api.post(MARKET + "/campaigns", CAMPAIGN)


@driver("campaignAnalytics")
def campaign_analytics(scene):
    return scene.owner_api.get(campaign(scene, MARKET + "/campaigns", "/analytics"))


def place(scene):
    """Creates a campaign with a placement. Returns the path of its placements, and the response with the new one."""
    path = f"{MARKET}/campaigns/{new_campaign(scene).expect(201).id}/placements"
    body = {"ad_placement_id": new_placement(scene).expect(201).id, "allocated_budget": 500}
    return path, scene.owner_api.post(path, body)


def placed(scene):
    path, made = place(scene)
    return f"{path}/{made.expect(201).id}"


@driver("placeCampaign")
def place_campaign(scene):
    return place(scene)[1]


@driver("listCampaignPlacements")
def list_campaign_placements(scene):
    return scene.owner_api.get(place(scene)[0])


@driver("changeCampaignPlacement")
def change_campaign_placement(scene):
    return scene.owner_api.patch(placed(scene), {"status": "paused"})


@driver("removeCampaignPlacement")
def remove_campaign_placement(scene):
    return scene.owner_api.delete(placed(scene))


@driver("addPlacementSegment")
def add_placement_segment(scene):
    body = {"segment_type": "geography", "segment_value": "DE"}
    return scene.owner_api.post(placed(scene) + "/segments", body)


@driver("internalListAdPlacements")
def internal_list_ad_placements(scene):
    return scene.admin.get(ADMIN + "/placements")


@driver("createAdPlacement")
def create_ad_placement(scene):
    return new_placement(scene)


@driver("changeAdPlacement")
def change_ad_placement(scene):
    made = new_placement(scene).expect(201).id
    return scene.admin.patch(f"{ADMIN}/placements/{made}", {"name": "Hall"})


@driver("internalListAdPricings")
def internal_list_ad_pricings(scene):
    return scene.admin.get(ADMIN + "/pricing")


@driver("createAdPricing")
def create_ad_pricing(scene):
    return new_pricing(scene)[0]


@driver("changeAdPricing")
def change_ad_pricing(scene):
    made = new_pricing(scene)[0].expect(201).id
    return scene.admin.patch(f"{ADMIN}/pricing/{made}", {"max_rate": 60})


@driver("internalListAdPackages")
def internal_list_ad_packages(scene):
    return scene.admin.get(ADMIN + "/packages")


@driver("createAdPackage")
def create_ad_package(scene):
    return new_package(scene)


@driver("changeAdPackage")
def change_ad_package(scene):
    made = new_package(scene).expect(201).id
    return scene.admin.patch(f"{ADMIN}/packages/{made}", {"is_active": False})


@driver("internalListAdSegments")
def internal_list_ad_segments(scene):
    return scene.admin.get(ADMIN + "/segments")


def new_segment(scene):
    return scene.admin.post(ADMIN + "/segments", segment(scene))


@driver("createAdSegment")
def create_ad_segment(scene):
    return new_segment(scene)


@driver("changeAdSegment")
def change_ad_segment(scene):
    made = new_segment(scene).expect(201).id
    return scene.admin.patch(f"{ADMIN}/segments/{made}", {"play_tier": "gold"})
