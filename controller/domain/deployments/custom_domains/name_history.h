#pragma once

#include <string>

#include "controller/db/database.h"

// Who ever had a sub-domain's name or a custom domain, for ever. A CNAME record that its owner
// forgot may lead to a name long after that name is somebody else's; without this memory it would
// give the owner's domain to whoever takes the name. Names are kept as an HMAC with the data key.
namespace berth::name_history {

enum class Kind {
  subdomain,  // the name of a deployment, below apps-domain
  domain,     // a custom domain, as domain_names::normalised gives it
};

// In the transaction in which the user gets the name.
void remember(db::Tx& tx, Kind kind, const std::string& name, const std::string& owner_id,
              const std::string& data_key);
// Whether another user than this one ever had it.
bool was_anothers(db::Tx& tx, Kind kind, const std::string& name, const std::string& owner_id,
                  const std::string& data_key);

// Remembers the names of deployments and claims that were written before there was this history.
// Does so once for a database, later calls change nothing.
void remember_older(db::Tx& tx, const std::string& data_key);

}  // namespace berth::name_history
