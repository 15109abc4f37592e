#include <catch2/catch.hpp>

#include "controller/domain/apps/apps.h"

namespace {

using namespace berth;

TEST_CASE("redirect URIs that may be registered") {
  for (const char* uri :
       {"https://game.example.org/callback", "https://game.example.org",
        "https://game.example.org:8443/cb?x=1&y=2", "https://192.0.2.1/cb",
        "https://[2001:db8::1]/cb", "http://localhost/cb", "http://localhost:3000/cb",
        "http://127.0.0.1/cb", "http://127.0.0.1:3000/cb", "http://[::1]/cb",
        "http://[::1]:3000/cb", "com.example.app:/oauth", "com.example.app://callback",
        "https://game.example.org/a@b", "myapp://callback", "myapp:/callback", "MyApp://callback",
        "my-app+1://cb"}) {
    INFO(uri);
    CHECK(apps::refuse_redirect_uri(uri) == std::nullopt);
  }
}

TEST_CASE("a redirect URI has none of the parameters that the answer adds") {
  for (const std::string uri : {"https://game.example.org/cb", "http://127.0.0.1/cb",
                                "com.example.app:/cb", "myapp://cb"}) {
    for (const std::string name :
         {"code", "state", "error", "error_description", "error_uri", "iss"}) {
      INFO(uri << " " << name);
      CHECK(apps::refuse_redirect_uri(uri + "?" + name + "=x"));
      CHECK(apps::refuse_redirect_uri(uri + "?a=b&" + name));
      CHECK_FALSE(apps::refuse_redirect_uri(uri + "?a=" + name + "&my" + name + "=x"));
    }
    CHECK(apps::refuse_redirect_uri(uri + "?%63ode=x"));
  }
}

TEST_CASE("redirect URIs that may not") {
  const std::string too_long = "https://game.example.org/" + std::string(apps::max_url_length, 'a');
  for (const std::string& uri :
       std::vector<std::string>{"",
                                "/callback",
                                "game.example.org/callback",
                                "//game.example.org",
                                "https:",
                                "https:///cb",
                                "https://:443/cb",
                                "https://?x",
                                "http://game.example.org/cb",
                                "http://127.0.0.1.example.org/cb",
                                "http://localhost.example.org/",
                                "http://127.0.0.2/cb",
                                "http://0.0.0.0/cb",
                                "http://2130706433/",
                                "http://[::2]/",
                                "http://[::1]x/cb",
                                "http://127.0.0.1:80@evil.example.org/",
                                "https://user@game.example.org/",
                                "https://user:pw@game.example.org/",
                                "https://game.example.org/cb#fragment",
                                "https://game.example.org/#",
                                "https://game.example.org\\@evil.org/",
                                "javascript:alert(1)",
                                "data:text/html,x",
                                "file:///etc/passwd",
                                "ftp://example.org/",
                                "myapp:callback",
                                "HTTP://game.example.org/cb",
                                "Https://game.example.org/cb",
                                "hTTp:/game.example.org/cb",
                                "localhost:3000/callback",
                                "example:8080/callback",
                                "c:/windows",
                                "JavaScript://%0aalert(1)",
                                "javascript://x/%0aalert(1)",
                                "vbscript://x",
                                "data://x",
                                "blob:/x",
                                "intent://x",
                                "ws://game.example.org/",
                                "ms-settings:/x",
                                "MS-MSDT:/x",
                                "chrome-extension://x/",
                                "view-source://x",
                                "mailto:/a",
                                "my_app://callback",
                                "myapp://user@callback",
                                "https://game.example.org/a b",
                                "https://game.example.org/\r\nX: y",
                                "https://g\xc3\xa4me.example.org/",
                                std::string("https://game.example.org/\0", 26),
                                "http://127.0.0.1:evil/cb",
                                "https://game.example.org:/cb",
                                "https://e.com;script-src",
                                "https://e.com,https://f.com/cb",
                                "https://*.example.org/cb",
                                "https://e%2ecom/cb",
                                "https://e_f.com/cb",
                                "https://e.com./cb",
                                "https://-e.com/cb",
                                "https://127.1/cb",
                                "https://[::1/cb",
                                "http://127.1/cb",
                                "http://LOCALHOST.evil.org/cb",
                                "https:/e.com/cb",
                                "1com.example:/cb",
                                "com;example.app:/cb",
                                "https://game.example.org:123456/",
                                "https://game.example.org:65536/",
                                "http://127.0.0.1:0/",
                                "http://localhost:3000:4000/",
                                "1.2:/x",
                                " https://game.example.org/",
                                too_long}) {
    INFO(uri);
    CHECK(apps::refuse_redirect_uri(uri) != std::nullopt);
  }
}

TEST_CASE("a redirect URI has to be one that the app registered, exactly") {
  apps::App app;
  app.redirect_uris = {"https://game.example.org/cb", "http://localhost/cb",
                       "http://127.0.0.1:3000/fixed", "com.example.app:/cb"};
  for (const std::string& uri : app.redirect_uris) CHECK(apps::is_registered(app, uri));
  for (const char* uri :
       {"https://game.example.org/cb/", "https://game.example.org/cb?x=1",
        "https://game.example.org", "https://GAME.example.org/cb",
        "https://game.example.org:443/cb", "https://game.example.org/cb/../evil",
        "http://game.example.org/cb", "https://game.example.org.evil.org/cb",
        "http://localhost:3000/other", "http://127.0.0.1/fixed", "http://127.0.0.1:3001/fixed",
        "com.example.app:/cb2", "", "com.example.app:443/cb"}) {
    INFO(uri);
    CHECK_FALSE(apps::is_registered(app, uri));
  }
}

TEST_CASE("of a scheme that others may take, the owner is warned") {
  for (const char* uri : {"https://game.example.org/cb", "http://localhost/cb",
                          "com.example.app:/cb", "javascript://x"}) {
    INFO(uri);
    CHECK(apps::warn_of_redirect_uri(uri) == std::nullopt);
  }
  const auto warning = apps::warn_of_redirect_uri("myapp://callback");
  REQUIRE(warning);
  CHECK(warning->find("com.example.app") != std::string::npos);
}

TEST_CASE("a URI that was registered under older rules is refused") {
  apps::App app;
  app.redirect_uris = {"https://e.com;script-src", "https://e_f.com/cb"};
  for (const std::string& uri : app.redirect_uris) CHECK_FALSE(apps::is_registered(app, uri));
}

TEST_CASE("only a loopback host that was registered without a port has any port") {
  apps::App app;
  app.redirect_uris = {"http://127.0.0.1/cb", "http://[::1]/cb?x=1", "http://localhost/cb"};
  for (const char* uri :
       {"http://127.0.0.1/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1:65535/cb",
        "http://[::1]:5000/cb?x=1", "http://localhost/cb", "http://localhost:5000/cb"}) {
    INFO(uri);
    CHECK(apps::is_registered(app, uri));
  }
  for (const char* uri :
       {"http://localhost:5000/other", "http://localhost.evil.org:5000/cb",
        "https://localhost:5000/cb", "http://127.0.0.1:5000/other", "http://127.0.0.1:5000/cb?x=1",
        "https://127.0.0.1:5000/cb", "http://[::1]:5000/cb", "http://127.0.0.2:5000/cb",
        "http://127.0.0.1:5000@evil.org/cb", "http://127.0.0.1:evil.org/cb", "http://127.0.0.1:/cb",
        "http://127.0.0.1:0/cb", "http://127.0.0.1:65536/cb", "http://127.0.0.1:5000/cb#x",
        "http://127.0.0.1.evil.org:5000/cb"}) {
    INFO(uri);
    CHECK_FALSE(apps::is_registered(app, uri));
  }
}

}  // namespace
