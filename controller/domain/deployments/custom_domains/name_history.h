#pragma once

#include <string>

#include "controller/db/database.h"

// Remembers for ever who had the name of a deployment or a custom domain. A CNAME record that its
// owner forgot may point to a name long after the name went to somebody else; without this memory
// the new owner would get the domain. Names are stored as an HMAC with the data key.
namespace berth::name_history {

enum class Kind {
  subdomain,  // a deployment's name, below apps-domain
  domain,     // a custom domain, in the form of domain_names::normalised
};

// To be called in the transaction in which the user gets the name.
void remember(db::Tx& tx, Kind kind, const std::string& name, const std::string& owner_id,
              const std::string& data_key);
// Whether a user other than `owner_id` ever had the name.
bool was_anothers(db::Tx& tx, Kind kind, const std::string& name, const std::string& owner_id,
                  const std::string& data_key);

}  // namespace berth::name_history
