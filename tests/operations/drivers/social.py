"""Drivers of friends, blocks, presence, tables, chat and the search for users."""

from . import driver


def asked(scene):
    """Returns a user, another user who got a friend request from the first one, and the response to the request."""
    one, other = scene.new_user(), scene.new_user()
    made = one.post("/api/social/friends/requests", {"user_id": other.id})
    return one, other, made


def request_path(made):
    return "/api/social/friends/requests/" + made.expect(201)["friendship_id"]


def new_channel(scene):
    body = {"type": "lobby", "ref_id": scene.new_name("lobby")}
    return scene.user.post("/api/social/chat/channels", body)


def joined(scene):
    def make():
        path = "/api/social/chat/channels/" + new_channel(scene).expect(201).id
        scene.user.post(path + "/members/me").expect(200)
        return path

    return scene.once("channel", make)


def new_message(scene):
    return scene.user.post(joined(scene) + "/messages", {"body": "Hello"})


@driver("searchUsers")
def search_users(scene):
    return scene.user.get("/api/social/users/search?q=" + scene.other.name[:4])


@driver("getUser")
def get_user(scene):
    return scene.user.get("/api/social/users/" + scene.other.id)


@driver("listFriends")
def list_friends(scene):
    return scene.user.get("/api/social/friends")


@driver("requestFriend")
def request_friend(scene):
    return asked(scene)[2]


@driver("listFriendRequests")
def list_friend_requests(scene):
    return scene.user.get("/api/social/friends/requests?direction=incoming")


@driver("acceptFriend")
def accept_friend(scene):
    _, other, made = asked(scene)
    return other.post(request_path(made) + "/accept")


@driver("rejectFriend")
def reject_friend(scene):
    _, other, made = asked(scene)
    return other.post(request_path(made) + "/reject")


@driver("withdrawFriendRequest")
def withdraw_friend_request(scene):
    one, _, made = asked(scene)
    return one.delete(request_path(made))


@driver("removeFriend")
def remove_friend(scene):
    one, other, made = asked(scene)
    other.post(request_path(made) + "/accept").expect(200)
    return one.delete("/api/social/friends/" + other.id)


@driver("listBlocks")
def list_blocks(scene):
    return scene.user.get("/api/social/blocks")


@driver("blockUser")
def block_user(scene):
    return scene.user.post("/api/social/blocks", {"user_id": scene.new_user().id})


@driver("unblockUser")
def unblock_user(scene):
    blocked = scene.new_user().id
    scene.user.post("/api/social/blocks", {"user_id": blocked}).expect(201)
    return scene.user.delete("/api/social/blocks/" + blocked)


@driver("setPresence")
def set_presence(scene):
    return scene.playing.put("/api/social/presence", {"status": "online"})


@driver("ownPresence")
def own_presence(scene):
    return scene.user.get("/api/social/presence")


@driver("userPresence")
def user_presence(scene):
    return scene.user.get("/api/social/presence/" + scene.other.id)


@driver("setTablePresence")
def set_table_presence(scene):
    return scene.user.put("/api/social/tables/table-1/presence", {"status": "online"})


@driver("tablePresence")
def table_presence(scene):
    return scene.user.get("/api/social/tables/table-1/presence")


@driver("listChannels")
def list_channels(scene):
    return scene.user.get("/api/social/chat/channels")


@driver("openChannel")
def open_channel(scene):
    return new_channel(scene)


@driver("joinChannel")
def join_channel(scene):
    return scene.other.post(joined(scene) + "/members/me")


@driver("leaveChannel")
def leave_channel(scene):
    path = f"/api/social/chat/channels/{new_channel(scene).expect(201).id}/members/me"
    scene.user.post(path).expect(200)
    return scene.user.delete(path)


@driver("listMessages")
def list_messages(scene):
    return scene.user.get(joined(scene) + "/messages")


@driver("sendMessage")
def send_message(scene):
    return new_message(scene)


@driver("followChannel")
def follow_channel(scene):
    return scene.user.get(joined(scene) + "/events")


@driver("chatWords")
def chat_words(scene):
    return scene.admin.get("/api/internal/chat/words")


@driver("setChatWords")
def set_chat_words(scene):
    return scene.admin.put("/api/internal/chat/words", {"words": ["darn"]})


@driver("deleteMessage")
def delete_message(scene):
    return scene.admin.delete("/api/internal/chat/messages/" + new_message(scene).expect(201).id)
