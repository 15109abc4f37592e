#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/apps/apps.h"

// Clients that nobody has registered here: the client_id is the URL of a document that describes
// the client (draft-ietf-oauth-client-id-metadata-document). They are public clients with PKCE, as
// programs that speak the Model Context Protocol are. All that is known of one is that its document
// is at that URL. It gets a row of `apps` once a user allows it something, and the row goes when
// nobody does any more.
namespace berth::apps {

inline constexpr size_t max_client_url_length = 512;
inline constexpr size_t max_document_bytes = 16'384;  // the draft recommends 5 KB
inline constexpr size_t max_document_redirect_uris = 50;
// How long after the last consent the client is forgotten, with all consents to it. No token lives
// longer, whatever the configuration says of registered apps.
inline constexpr Duration unregistered_kept_for = std::chrono::days(90);
// How many such clients a user may have connected at a time.
inline constexpr int max_unregistered_per_user = 20;

// Whether a client_id is a URL, so that it can't be a registered app's.
bool is_client_url(std::string_view client_id);

// Whether http:// is allowed, too, on this machine: in development.
enum class ClientUrls { only_https, loopback_too };
// Returns why `url` can't be a client_id, as the end of a sentence that begins with the parameter's
// name: it has to begin with https://, and to have a name as its host, and a path; it must have no
// user, fragment or dot segments. Returns nothing if it can. The addresses that its host resolves
// to are checked when a connection is made.
std::optional<std::string> refuse_client_url(const std::string& url, ClientUrls allowed);

struct ClientDocument {
  std::string url;                         // the client_id
  std::string name;                        // what the client calls itself; may be empty
  std::vector<std::string> redirect_uris;  // those that an app may register
};
// Reads what was found at `url`. Throws std::runtime_error, whose text ends a sentence that begins
// with the document, if it isn't a JSON object of at most max_document_bytes; if its client_id
// isn't the URL, character for character; if it has a secret, or names another way to authenticate
// than `none`; or if it has no redirect URI that is_registered() could accept, or more than
// max_document_redirect_uris.
ClientDocument read_client_document(const std::string& url, const std::string& text);

// Returns the client with what its document says. Its name is the URL's host, which is all that is
// proven of it, and its description the name that it gives itself. It may have the scopes openid,
// profile and email and no other. `id` is empty until store_unregistered().
App unregistered_app(db::Tx& tx, const ClientDocument& document);
// Writes what the document says, for a user who allows the client something, and keeps the row for
// unregistered_kept_for from now. Returns the client.
App store_unregistered(db::Tx& tx, const ClientDocument& document);

// Forgets clients whose time is over, at most `limit`, and returns how many. Their rows stay, as
// those of deleted apps do, with nothing but their ids: deleting one would have the database look
// through each table that refers to apps. Consents to deleted apps are ended by oauth. Clients that
// an admin has suspended are kept.
bool is_any_to_forget(db::Tx& tx);
int forget_unregistered(db::Tx& tx, int limit);

}  // namespace berth::apps
