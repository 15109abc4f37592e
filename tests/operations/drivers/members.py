"""Drivers of the members of apps, and of invitations."""

from scene import App

from . import driver


def members(app):
    return f"/api/oauth/my-apps/{app.id}/members"


def new_app(scene):
    """Returns an app of a new account, since invitations are limited for each app and each account."""
    return App(scene, scene.new_user())


def invite(app, user):
    return app.owner.post(members(app), {"username": user.name, "role": "developer"})


def invited(scene):
    """Returns an app, somebody who is invited to it, and the id of the invitation."""
    app, user = new_app(scene), scene.new_user()
    return app, user, invite(app, user).expect(201)["invitation"]["id"]


def joined(scene):
    """Returns an app and a member of it."""
    app, user, invitation = invited(scene)
    user.post(f"/api/auth/invitations/{invitation}/accept").expect(200)
    return app, user


@driver("listMembers")
def list_members(scene):
    return scene.operator.get(members(scene.app))


@driver("inviteMember")
def invite_member(scene):
    return invite(new_app(scene), scene.new_user())


@driver("changeMember")
def change_member(scene):
    app, user = joined(scene)
    return app.owner.patch(f"{members(app)}/{user.id}", {"role": "viewer"})


@driver("removeMember")
def remove_member(scene):
    app, user = joined(scene)
    return app.owner.delete(f"{members(app)}/{user.id}")


@driver("withdrawInvitation")
def withdraw_invitation(scene):
    app, _, invitation = invited(scene)
    return app.owner.delete(f"/api/oauth/my-apps/{app.id}/invitations/{invitation}")


@driver("transferApp")
def transfer_app(scene):
    app, user = joined(scene)
    return app.owner.post(f"/api/oauth/my-apps/{app.id}/transfer", {"user_id": user.id, "password": app.owner.password})


@driver("listInvitations")
def list_invitations(scene):
    return scene.operator.get("/api/auth/invitations")


@driver("acceptInvitation")
def accept_invitation(scene):
    _, user, invitation = invited(scene)
    return user.post(f"/api/auth/invitations/{invitation}/accept")


@driver("declineInvitation")
def decline_invitation(scene):
    _, user, invitation = invited(scene)
    return user.post(f"/api/auth/invitations/{invitation}/decline")
