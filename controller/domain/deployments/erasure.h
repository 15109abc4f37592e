#pragma once

#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"

// Erases the texts of deleted deployments. Their rows stay, because receipts and the ledger's
// history refer to them.
namespace berth::deployments {

// Erases at once what nobody needs any more of a deployment that is being deleted: its variables,
// credentials, and its container but for image and port. The cluster needs none of it to remove the
// deployment.
void erase_secrets(db::Tx& tx, const Deployment& deployment);

// How long a deleted deployment keeps its image, its domains and its log after the cluster has
// removed it. Its name stays for the receipts.
inline constexpr Duration words_kept_for = std::chrono::hours(24) * 30;
// Whether erase_old_words() would change a row.
bool are_old_words_left(db::Tx& tx);
// Erases about `limit` rows of such deployments, and of domains that were given up as long ago.
// Returns how many; 0 if nothing is left.
int erase_old_words(db::Tx& tx, int limit);

// Below: for the deployments of a deleted account, which lose their names, too, as soon as nothing
// of them is left on the cluster.

// Erases about `limit` rows. Returns how many; fewer than `limit` if nothing can be erased at
// present.
int erase_words(db::Tx& tx, const std::string& owner_id, int limit);
// Whether a deployment of the owner still has texts to erase.
bool has_words(db::Tx& tx, const std::string& owner_id);

}  // namespace berth::deployments
