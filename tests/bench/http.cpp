// The HTTP library alone, with constant answers, to find out what berthd adds to it.
//
// usage: bench_http VERIFY_ANSWER STATUS_ANSWER
// Prints its port and serves until it is killed: POST /api/oauth/token/verify, and GET of anything
// else, with the contents of these files.
#include <httplib.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

namespace {

constexpr size_t threads = 64;  // the default of berthd's http-threads

std::string content_of(const char* file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: bench_http VERIFY_ANSWER STATUS_ANSWER\n", stderr), 2;
  const std::string verify = content_of(argv[1]);
  const std::string status = content_of(argv[2]);
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(threads); };  // httplib deletes it
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(std::numeric_limits<size_t>::max());
  server.Post("/api/oauth/token/verify", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(verify, "application/json");
  });
  server.Get(".*", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(status, "application/json");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::printf("%d\n", port);
  std::fflush(stdout);
  return port > 0 && server.listen_after_bind() ? 0 : 1;
}
