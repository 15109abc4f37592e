#pragma once

#include <map>
#include <string>

#include "tests/process/client.h"

// The OAuth endpoints, called as a client calls them.
namespace berth::process {

using Form = std::multimap<std::string, std::string>;

std::string form_encoded(const Form& form);
// Posts a body of the type application/x-www-form-urlencoded.
Answer post_form(Client& client, const std::string& path, const Form& form, Headers headers = {});
Headers basic(const App& app);

// Returns the parameters of an authorization request that berthd would grant.
Form authorization(const App& app, const std::string& scope, const std::string& challenge);
Answer ask_authorization(const Berthd& berthd, const User& user, const Form& parameters);

bool works(const Berthd& berthd, const std::string& access_token);
Answer inspect(const Berthd& berthd, const App& app, const std::string& token);
Answer revoke(const Berthd& berthd, const App& app, const std::string& token);

}  // namespace berth::process
