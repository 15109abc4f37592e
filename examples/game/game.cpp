// The game's server: one static program, which sends the files of its page and ends at SIGTERM. The
// page does everything else in the browser (site/game.js). It listens on the port that the variable
// PORT names. BERTH is berth's address, as browsers know it, and CLIENT_ID the app's.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr int default_port = 3000;
constexpr int default_seconds = 20;  // of a round
constexpr int waiting = 128;         // connections that wait to be accepted
constexpr int patience_seconds = 5;  // for a browser to send a request, and to take the answer
constexpr size_t max_head = 8192;
constexpr int most_connections = 64;  // browsers keep some open without a request

struct File {
  std::string_view path;
  std::string_view name;  // below the folder of the site
  std::string_view type;
};
constexpr File files[] = {{"/", "index.html", "text/html; charset=utf-8"},
                          {"/game.js", "game.js", "text/javascript; charset=utf-8"},
                          {"/game.css", "game.css", "text/css; charset=utf-8"}};

volatile sig_atomic_t is_ending = 0;
void end(int) { is_ending = 1; }

std::string variable(const char* name, const char* other = "") {
  const char* value = getenv(name);
  return value == nullptr ? other : value;
}

// The variable's value if it can stand in a header and in JSON as it is; an empty text otherwise.
std::string plain_variable(const char* name) {
  std::string value = variable(name);
  for (const char c : value)
    if (c <= ' ' || c > '~' || strchr("\"\\;,'", c) != nullptr) return "";
  while (value.ends_with('/')) value.pop_back();
  return value;
}

// Reads a request's head. Returns the path if it is a GET, "?" if it is something else, and an
// empty text if nothing comes.
std::string path_of_request(int connection) {
  std::string head;
  char piece[1024];
  while (head.size() < max_head && head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t count = recv(connection, piece, sizeof(piece), 0);
    if (count <= 0) return "";
    head.append(piece, static_cast<size_t>(count));
  }
  constexpr std::string_view get = "GET ";
  if (!head.starts_with(get)) return "?";
  const std::string target = head.substr(get.size(), head.find(' ', get.size()) - get.size());
  return target.substr(0, target.find('?'));
}

// What the page may load and call: its own files, and berth.
std::string policy(const std::string& berth) {
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src " + berth +
         "; connect-src 'self' " + berth + "; base-uri 'none'; frame-ancestors 'none'";
}

std::string answer_to(const std::string& path, const std::string& site) {
  const std::string berth = plain_variable("BERTH");
  std::string status = "200 OK", type = "application/json", body;
  if (path == "/config.json") {
    body =
        "{\"berth\": \"" + berth + "\", \"client_id\": \"" + plain_variable("CLIENT_ID") +
        "\", \"seconds\": " +
        std::to_string(atoi(variable("SECONDS", std::to_string(default_seconds).c_str()).c_str())) +
        "}";
  } else if (path == "?") {
    status = "405 Method Not Allowed";
  } else {
    status = "404 Not Found";
    for (const File& file : files) {
      if (file.path != path) continue;
      std::ostringstream content;
      content << std::ifstream(site + "/" + std::string(file.name)).rdbuf();
      body = content.str();
      type = file.type;
      if (!body.empty()) status = "200 OK";
    }
  }
  return "HTTP/1.1 " + status + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nContent-Security-Policy: " + policy(berth) +
         "\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: "
         "no-cache\r\nConnection: close\r\n\r\n" +
         body;
}

void answer(int connection, const std::string& site) {
  const std::string path = path_of_request(connection);
  if (path.empty()) return;
  const std::string text = answer_to(path, site);
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
  printf("%s\n", path.c_str());
}

int listen_on(int port) {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<unsigned short>(port));
  if (listening < 0 ||
      bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listening, waiting) != 0) {
    fprintf(stderr, "port %d can't be listened on: %s\n", port, strerror(errno));
    exit(EXIT_FAILURE);
  }
  return listening;
}

}  // namespace

// The folder of the site is the only argument; it is /site in the image.
int main(int count, char** arguments) {
  const std::string site = count > 1 ? arguments[1] : "/site";
  const int port = atoi(variable("PORT", std::to_string(default_port).c_str()).c_str());
  struct sigaction action {};
  action.sa_handler = end;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const int listening = listen_on(port);
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size);
  printf("listening on port %d\n", ntohs(address.sin_port));
  // It looks once a second whether a signal came just before it began to wait.
  const timeval pause = {.tv_sec = 1, .tv_usec = 0};
  setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof(pause));
  const timeval patience = {.tv_sec = patience_seconds, .tv_usec = 0};
  static std::atomic<int> connections = 0;
  while (is_ending == 0) {
    const int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (++connections > most_connections) {
      close(connection);
      --connections;
      continue;
    }
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    std::thread([connection, &site] {
      answer(connection, site);
      close(connection);
      --connections;
    }).detach();
  }
  _exit(EXIT_SUCCESS);  // without waiting for browsers that send nothing
}
