// What a well-behaved client sees: requests and answers, connections, streams.
#include "controller/transport/server.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "controller/transport/socket.h"
#include "tests/temp_dir.h"
#include "tests/transport/wire.h"

using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

TEST_CASE("every method and path reaches the handler as it was sent") {
  Running running({}, echo);
  Wire wire(running.port);
  for (const std::string method :
       {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW", "get"}) {
    const std::string path = "/a%2Fb/../c%00/%zz";
    const Answer answer = wire.ask(method + " " + path + " HTTP/1.1\r\nHost: test\r\n\r\n");
    CHECK(answer.status == 200);
    CHECK(answer.body == method + " " + path);
  }
  CHECK(wire.ask("OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n").body == "OPTIONS *");
  CHECK(wire.ask("GET http://other:8080/x?y=1 HTTP/1.1\r\nHost: test\r\n\r\n").body ==
        "GET /x y=1");
}

TEST_CASE("a handler sees query, fields, host and address") {
  Running running({}, [](const Request& request, Response& response) {
    CHECK(request.raw_query == "a=1&a=2&b=x+%C3%A9&c");
    CHECK(request.query.count("a") == 2);
    CHECK(request.query.find("b")->second == "x é");
    CHECK(request.query.find("c")->second.empty());
    CHECK(request.headers.get("authorization") == "Bearer a%20b");
    CHECK(request.headers.count("X-Twice") == 2);
    CHECK_FALSE(request.headers.find("REMOTE_ADDR"));
    CHECK(request.host == "shop.example:8080");
    CHECK(request.remote_address == "127.0.0.1");
    response.status = 204;
  });
  Wire wire(running.port);
  const Answer answer = wire.ask(
      "GET /?a=1&a=2&b=x+%C3%A9&c HTTP/1.1\r\nHost: shop.example:8080\r\n"
      "Authorization:  Bearer a%20b \r\nX-Twice: 1\r\nx-twice: 2\r\n\r\n");
  CHECK(answer.status == 204);
  CHECK_FALSE(answer.headers.contains("content-length"));
}

TEST_CASE("a server on a Unix socket is for its owner alone") {
  const berth::test::TempDir dir;
  const std::string path = (dir / "server.sock").string();
  dir.write("server.sock", "left by another process");
  Running running({.host = "unix:" + path}, [](const Request& request, Response& response) {
    response.body = request.remote_address;
  });
  CHECK(std::filesystem::status(path).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  Wire wire(path);
  CHECK(wire.ask("GET / HTTP/1.1\r\nHost: test\r\n\r\n").body == unix_peer);
  CHECK_THROWS_WITH(listen_on("unix:" + std::string(200, 'x'), 0),
                    Catch::Contains("the path of a Unix socket has 1 to 107 bytes"));
  CHECK_THROWS_WITH(listen_on("unix:/nowhere/at/all", 0), Catch::Contains("No such file"));
}

TEST_CASE("bodies arrive unchanged, whatever they claim to be") {
  Running running({}, echo);
  Wire wire(running.port);
  const std::string form = "a=1&b=%2B+";
  CHECK(wire.ask(post("/form", form, "Content-Type: application/x-www-form-urlencoded\r\n")).body ==
        "POST /form " + form);
  const std::string parts =
      "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"g\"\r\n\r\nhello\r\n--x--\r\n";
  CHECK(wire.ask(post("/parts", parts, "Content-Type: multipart/form-data; boundary=x\r\n")).body ==
        "POST /parts " + parts);
  CHECK(wire.ask(post("/parts", "no parts", "Content-Type: multipart/form-data\r\n")).body ==
        "POST /parts no parts");
  CHECK(wire.ask("DELETE /d HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbody").body ==
        "DELETE /d body");
  const std::string large(700'000, 'x');
  CHECK(wire.ask(post("/large", large)).body == "POST /large " + large);
}

TEST_CASE("chunks are joined, and the connection can be used further") {
  Running running({}, echo);
  Wire wire(running.port);
  const std::string head = "POST /c HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(wire.ask(head + "5\r\nhello\r\n1;ext=\"1\"\r\n \r\nA\r\n0123456789\r\n0\r\n\r\n").body ==
        "POST /c hello 0123456789");
  CHECK(wire.ask(head + "1\r\nx\r\n0\r\nTrailer: ignored\r\n\r\n").body == "POST /c x");
  CHECK(wire.ask(get("/next")).body == "GET /next");
}

TEST_CASE("a range or a compression that the client asks for doesn't change the body") {
  Running running({}, echo);
  Wire wire(running.port);
  const Answer answer = wire.ask(
      "GET /whole HTTP/1.1\r\nHost: test\r\nRange: bytes=0-1\r\nAccept-Encoding: gzip\r\n\r\n");
  CHECK(answer.status == 200);
  CHECK(answer.body == "GET /whole");
}

TEST_CASE("one connection serves a thousand requests, pipelined or not") {
  Running running({}, echo);
  Wire wire(running.port);
  for (int i = 0; i < 1000; ++i) {
    const Answer answer = wire.ask(post("/n", std::to_string(i)));
    REQUIRE(answer.body == "POST /n " + std::to_string(i));
    REQUIRE_FALSE(answer.headers.contains("connection"));
    REQUIRE_FALSE(answer.headers.contains("keep-alive"));
  }
  wire.send(get("/first") + post("/second", "2") + get("/third"));
  CHECK(wire.read().body == "GET /first");
  CHECK(wire.read().body == "POST /second 2");
  CHECK(wire.read().body == "GET /third");
  CHECK(running.server.counters().open_connections == 1);
}

TEST_CASE("Connection: close and HTTP/1.0 end the connection after the answer") {
  Running running({}, echo);
  Wire closing(running.port);
  const Answer answer =
      closing.ask("GET / HTTP/1.1\r\nHost: test\r\nConnection: foo, Close\r\n\r\n");
  CHECK(answer.headers.at("connection") == "close");
  CHECK(closing.is_closed());
  Wire old(running.port);
  CHECK(old.ask("GET / HTTP/1.0\r\n\r\n").body == "GET /");
  CHECK(old.is_closed());
}

TEST_CASE("HEAD is answered like GET, without the body") {
  Running running({}, echo);
  Wire wire(running.port);
  const Answer head = wire.ask("HEAD /h HTTP/1.1\r\nHost: test\r\n\r\n", Expect::no_body);
  CHECK(head.status == 200);
  CHECK(head.headers.at("content-length") == "7");
  CHECK(head.headers.at("content-type") == "text/plain");
  CHECK(wire.ask(get("/n")).body == "GET /n");
}

TEST_CASE("a client that expects 100-continue is told to continue, or why not") {
  Running running({.max_body_bytes = 10}, echo);
  Wire wire(running.port);
  const std::string head = "POST /e HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\n";
  wire.send(head + "Content-Length: 4\r\n\r\n");
  CHECK(wire.read(Expect::no_body).status == 100);
  CHECK(wire.ask("body").body == "POST /e body");
  CHECK(wire.ask(head + "Content-Length: 11\r\n\r\n").status == 413);
  Wire other(running.port);
  CHECK(other.ask("POST / HTTP/1.1\r\nHost: test\r\nExpect: miracles\r\n\r\n").status == 417);
}

TEST_CASE("answers have a date, their header fields, and complete bodies") {
  const std::string large(5'000'000, 'y');
  Running running({}, [&](const Request&, Response& response) {
    response.status = 201;
    response.content_type = "application/json";
    response.add_header("Set-Cookie", "a=1");
    response.body = large;
  });
  Wire wire(running.port);
  const Answer answer = wire.ask(get("/"));
  CHECK(answer.status == 201);
  CHECK(answer.headers.at("content-type") == "application/json");
  CHECK(answer.headers.at("set-cookie") == "a=1");
  CHECK(answer.headers.at("date").ends_with(" GMT"));
  CHECK(answer.body == large);
}

TEST_CASE("no input can begin a header or a body") {
  Running running({}, [](const Request& request, Response& response) {
    const auto value = request.query.find("v")->second;
    if (request.path == "/type") response.content_type = value;
    if (request.path == "/value") response.add_header("Location", value);
    if (request.path == "/name") response.add_header(value, "x");
    if (request.path == "/framing") response.add_header("content-LENGTH", value);
    response.body = "fine";
  });
  Wire wire(running.port);
  for (const std::string path :
       {"/type?v=a%0d%0aX-Evil:1", "/value?v=a%0aX-Evil:1", "/value?v=a%00b",
        "/name?v=a%0d%0aX-Evil", "/name?v=a:b", "/name?v=", "/framing?v=0"}) {
    const Answer answer = wire.ask(get(path));
    CHECK(answer.status == 500);
    CHECK_FALSE(answer.headers.contains("x-evil"));
  }
  CHECK(wire.ask(get("/value?v=a%20b")).headers.at("location") == "a b");
}

TEST_CASE("a handler that throws is answered with 500 and the server goes on") {
  Running running({}, [](const Request& request, Response& response) {
    response.body = "half";
    if (request.path == "/std") throw std::runtime_error("a reason\r\nthat stays inside");
    if (request.path == "/int") throw 42;
  });
  Wire wire(running.port);
  for (const std::string path : {"/std", "/int"}) {
    const Answer answer = wire.ask(get(path));
    CHECK(answer.status == 500);
    CHECK(answer.headers.at("content-type") == "application/json");
    CHECK(answer.body.starts_with("{\"errors\":{\"detail\":"));
    CHECK(answer.body.find("reason") == std::string::npos);
  }
  CHECK(wire.ask(get("/fine")).body == "half");
}

namespace {

// Returns a stream that says hello, waits for `go`, and says bye.
Handler greeting(std::atomic<bool>& go) {
  return [&go](const Request& request, Response& response) {
    if (request.path == "/plain") return echo(request, response);
    response.content_type = "text/event-stream";
    response.stream = [&go, said = false](const Sink& sink) mutable {
      if (!said) {
        said = true;
        sink("hello ");
        return Next::more;
      }
      if (!go) {
        std::this_thread::sleep_for(2ms);
        return Next::more;
      }
      sink("bye");
      return Next::end;
    };
  };
}

}  // namespace

TEST_CASE("streams send at once, occupy no handler slot, and leave the connection usable") {
  std::atomic<bool> go = false;
  Running running({.http_threads = 1}, greeting(go));
  Wire first(running.port);
  Wire second(running.port);
  Wire old(running.port);
  first.send(get("/s"));
  second.send(get("/s"));
  old.send("GET /s HTTP/1.0\r\n\r\n");
  REQUIRE(first.wait_for("hello "));
  REQUIRE(second.wait_for("hello "));
  REQUIRE(old.wait_for("hello "));
  CHECK(running.server.counters().open_streams == 3);
  CHECK(running.server.counters().running_handlers == 0);
  CHECK(Wire(running.port).ask(get("/plain")).body == "GET /plain");
  CHECK(Wire(running.port).ask("HEAD /s HTTP/1.1\r\nHost: test\r\n\r\n", Expect::no_body).status ==
        200);
  go = true;
  CHECK(first.read().body == "hello bye");
  CHECK(first.ask(get("/plain")).body == "GET /plain");
  CHECK(second.read().body == "hello bye");
  const Answer closed = old.read();
  CHECK_FALSE(closed.headers.contains("transfer-encoding"));
  CHECK(closed.body == "hello bye");
  CHECK(eventually([&] { return running.server.counters().open_streams == 0; }));
}

TEST_CASE("a stream ends when its caller goes away, and is cut off when it throws") {
  std::atomic<bool> go = false;
  Running running({}, greeting(go));
  {
    Wire wire(running.port);
    wire.send(get("/s"));
    REQUIRE(wire.wait_for("hello "));
  }
  CHECK(eventually([&] { return running.server.counters().open_streams == 0; }));

  Running failing({}, [](const Request&, Response& response) {
    response.stream = [](const Sink& sink) -> Next {
      sink("some");
      throw std::runtime_error("no more");
    };
  });
  Wire wire(failing.port);
  CHECK(wire.ask(get("/")).body == "some (cut off)");
}

TEST_CASE("an address that is in use is named") {
  Running running({}, echo);
  Server second({.port = running.port}, echo);
  try {
    second.bind();
    FAIL("two servers on one port");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) ==
          "can't listen on 127.0.0.1:" + std::to_string(running.port) + ": Address already in use");
  }
}
