// The tour's container: a web server in one static program, which needs nothing else in its image.
// It listens on the port that the variable PORT names, answers each request with a page about
// itself, and ends at SIGTERM once the request that it is answering is answered.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr int default_port = 3000;
constexpr int waiting = 128;         // connections that wait to be accepted
constexpr int patience_seconds = 5;  // for a caller to send a request, and to take the answer

volatile sig_atomic_t is_ending = 0;
void end(int) { is_ending = 1; }

// Reads a request's head. Returns false if none comes.
bool read_head(int connection) {
  char head[8192];
  size_t size = 0;
  while (size < sizeof(head) - 1) {
    const ssize_t count = recv(connection, head + size, sizeof(head) - 1 - size, 0);
    if (count <= 0) return false;
    size += static_cast<size_t>(count);
    head[size] = '\0';
    if (strstr(head, "\r\n\r\n") != nullptr) return true;
  }
  return true;
}

void answer(int connection, unsigned long number) {
  if (!read_head(connection)) return;
  char name[256] = "a container";
  gethostname(name, sizeof(name) - 1);
  const time_t now = time(nullptr);
  char page[1024];
  const int size = snprintf(page, sizeof(page),
                            "Hello from %s.\n\nThis is answer %lu of the process %d, which runs as "
                            "user %d.\nIt is %.24s UTC.\n",
                            name, number, static_cast<int>(getpid()), static_cast<int>(getuid()),
                            asctime(gmtime(&now)));
  char text[1280];
  const int length = snprintf(text, sizeof(text),
                              "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
                              "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
                              size, page);
  send(connection, text, static_cast<size_t>(length), MSG_NOSIGNAL);
  printf("answered request %lu\n", number);
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

int main() {
  const char* given = getenv("PORT");
  const int port = given != nullptr && atoi(given) > 0 ? atoi(given) : default_port;
  // As the first process of its container it gets only the signals that it asks for.
  struct sigaction action {};
  action.sa_handler = end;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const int listening = listen_on(port);
  printf("listening on port %d\n", port);
  // It looks once a second whether a signal came just before it began to wait.
  const timeval pause = {.tv_sec = 1, .tv_usec = 0};
  setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof(pause));
  const timeval patience = {.tv_sec = patience_seconds, .tv_usec = 0};
  for (unsigned long number = 1; is_ending == 0;) {
    const int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    answer(connection, number++);
    close(connection);
  }
  printf("ended\n");
  return 0;
}
