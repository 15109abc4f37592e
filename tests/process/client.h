#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/process/berthd.h"

namespace httplib {
class Client;
}

// What users, operators and admins do, over HTTP.
namespace berth::process {

// The connection broke, or nobody listened. The request may or may not have had an effect.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Headers = std::multimap<std::string, std::string>;

struct Ask {
  std::string method;
  std::string path;  // with the query
  std::string body = {};
  Headers headers = {};
};

struct Answer {
  int status = 0;
  std::string text;
  json body;  // discarded if the text isn't JSON
  Headers headers = {};
  std::string question = {};  // "GET /health", for messages

  std::string header(std::string_view name) const;  // returns "" if there is no such field
  bool has_header(std::string_view name) const;
  // Returns the code of an error, whichever of the four forms its body has; empty if there is none.
  std::string code() const;
};

// A connection that is kept open, to the port that `berthd` listens on at the time. Not
// thread-safe.
class Client {
 public:
  explicit Client(const Berthd& berthd, std::string bearer = "");
  ~Client();
  Client(Client&&) noexcept;

  Answer ask(const Ask& ask);  // throws NoAnswer
  Answer get(const std::string& path, Headers headers = {});
  Answer post(const std::string& path, const json& body, Headers headers = {});
  Answer post(const std::string& path);  // without a body
  Answer remove(const std::string& path);

 private:
  const Berthd* berthd_;
  std::string bearer_;
  int port_ = 0;
  std::unique_ptr<httplib::Client> http_;
};

// Returns the answer if it has this status. Otherwise throws std::runtime_error that contains the
// answer.
Answer expect(int status, Answer answer);

struct User {
  std::string id;
  std::string email;
  std::string username;
  std::string password;
  std::string jwt;
};

struct App {
  std::string id;
  std::string client_id;
  std::string client_secret;
  std::string redirect_uri;
};

struct Tokens {
  std::string access_token;
  std::string refresh_token;
  std::string session_token;
};

struct Code {
  std::string code;
  std::string verifier;
};

// Returns a user name that nobody has at a berthd that cases share: the name and a number.
std::string fresh_name(const std::string& begin);

// The steps on the way to a token. Each throws std::runtime_error if berthd refuses it.
User register_user(const Berthd& berthd, const std::string& username);
void verify_email(const Berthd& berthd, const User& user);  // with the token in the outbox
User log_in(const Berthd& berthd, User user);
User register_verified_user(const Berthd& berthd, const std::string& username);  // also logged in
App create_app(const Berthd& berthd, const User& owner, const std::vector<std::string>& scopes);
// Asks for the scopes and approves them as an admin.
void approve(const Berthd& berthd, const User& owner, const App& app,
             const std::vector<std::string>& scopes);
Code authorize(const Berthd& berthd, const User& user, const App& app,
               const std::vector<std::string>& scopes);
json code_exchange(const App& app, const Code& code);  // returns the body of POST /api/oauth/token
json refresh_exchange(const App& app, const std::string& refresh_token);  // the same
Tokens tokens_of(const Answer& answer);

struct Operator {
  User user;
  App app;
  Tokens tokens;
  Client api;  // with the access token
};
Operator operator_with_token(const Berthd& berthd, const std::string& username,
                             const std::vector<std::string>& scopes = {"deploy:manage"});
Headers admin(const Berthd& berthd);

constexpr const char* well_image = "docker.io/library/hello:1";
json order(const std::string& name, const std::string& image = well_image);
// Creates a deployment and returns its id. Throws if it is refused.
std::string deploy(Client& api, const json& order);
json status_of(Client& api, const std::string& id);
// Waits until the deployment has this status. Throws if that takes too long, with the status that
// it has.
json wait_until_status(Client& api, const std::string& id, const std::string& status);
// Returns the page that is served at the deployment's host name.
Answer page_of(const Berthd& berthd, const std::string& name);

// Moves berthd's clock ahead.
void advance(const Berthd& berthd, int seconds);
// A well-formed id that nothing has.
inline const std::string nobody = "01936f5e-7c1a-7000-8000-000000000001";

struct Person {
  User user;
  Client api;  // with the session
};
Person person(const Berthd& berthd, const std::string& username);

// Asks the other port, which serves /metrics, /livez and /readyz.
Answer ask_metrics(const Berthd& berthd, const std::string& path);

// Returns flags for a free tier that has room for more than one deployment.
Flags roomy_tier();
// The same, without limits of rates, for which the client `berth` would wait.
Flags open_flags();

}  // namespace berth::process
