"""Drivers of avatars, cosmetics and learning."""

from . import driver


@driver("myAvatar")
def my_avatar(scene):
    return scene.playing.get("/api/avatars/me")


@driver("changeAvatar")
def change_avatar(scene):
    return scene.user.put("/api/avatars/me", {"display_name": "Ada", "appearance": {"skin": 3}})


@driver("avatarOf")
def avatar_of(scene):
    return scene.user.get("/api/avatars/" + scene.other.id)


@driver("equipAvatar")
def equip_avatar(scene):
    item = scene.new_item().expect(201)["cosmetic"]["id"]
    scene.user.post(f"/api/cosmetics/{item}/purchase").expect(201)
    return scene.user.post("/api/avatars/me/equip", {"item_ids": [item]})


@driver("listCosmetics")
def list_cosmetics(scene):
    return scene.user.get("/api/cosmetics?category=hat&available=true")


@driver("myCosmetics")
def my_cosmetics(scene):
    return scene.playing.get("/api/cosmetics/mine")


@driver("purchaseCosmetic")
def purchase_cosmetic(scene):
    item = scene.new_item().expect(201)["cosmetic"]["id"]
    return scene.player_api.post(f"/api/cosmetics/{item}/purchase")


@driver("giveCosmetic")
def give_cosmetic(scene):
    item = scene.new_item().expect(201)["cosmetic"]["id"]
    return scene.user.post(f"/api/cosmetics/{item}/gift", {"to_user_id": scene.other.id})


@driver("internalListCosmetics")
def internal_list_cosmetics(scene):
    return scene.admin.get("/api/internal/cosmetics")


@driver("createCosmetic")
def create_cosmetic(scene):
    return scene.new_item()


@driver("changeCosmetic")
def change_cosmetic(scene):
    return scene.admin.patch("/api/internal/cosmetics/" + scene.item, {"rarity": "rare"})


@driver("listModules")
def list_modules(scene):
    return scene.user.get("/api/learning/modules")


@driver("getModule")
def get_module(scene):
    return scene.user.get(f"/api/learning/modules/{scene.module['module_number']}")


@driver("reportProgress")
def report_progress(scene):
    first = scene.module and 1
    return scene.user.post(f"/api/learning/modules/{first}/progress", {"completed": 1})


@driver("getLearningPath")
def get_learning_path(scene):
    return scene.user.get("/api/learning/path")


@driver("chooseLearningPath")
def choose_learning_path(scene):
    return scene.playing.put("/api/learning/path", {"learning_path": "builder"})


@driver("internalListModules")
def internal_list_modules(scene):
    return scene.admin.get("/api/internal/learning/modules")


@driver("createModule")
def create_module(scene):
    return scene.new_module()


@driver("changeModule")
def change_module(scene):
    return scene.admin.patch("/api/internal/learning/modules/" + scene.module["id"], {"points": 2})
