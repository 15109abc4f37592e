/* Tells which addresses can be reached, all of them at the same time.
 *   reach SECONDS TARGET…          one line for each target: its name, and how the attempt ended
 *   reach --early SECONDS TARGET…  new attempts all the time; one line for each attempt that got
 * through, with its moment A target is tcp/ADDRESS/PORT or udp/ADDRESS/PORT, where an IPv6 address
 * of a link has its interface behind it. Whatever comes back proves that a packet got through: an
 * answer, but also a refusal. An attempt ends as "answer", "refused", "silence", or with the
 * system's reason. To UDP it sends a query of DNS. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_targets = 100, attempt_ms = 150, pause_ms = 20 };

struct attempt {
  const char* name;
  int type;
  struct sockaddr_storage to;
  socklen_t size;
  int socket;
  const char* result; /* NULL: it isn't over */
};

static void fail(const char* what) {
  fprintf(stderr, "reach: not a target: %s\n", what);
  exit(2);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_target(struct attempt* a, const char* name) {
  char type[4], address[64], interface[IF_NAMESIZE] = "";
  int port = 0;
  a->name = name;
  if (sscanf(name, "%3[a-z]/%63[0-9a-fA-F.:]%%%15[a-z0-9]/%d", type, address, interface, &port) !=
          4 &&
      sscanf(name, "%3[a-z]/%63[0-9a-fA-F.:]/%d", type, address, &port) != 3)
    fail(name);
  a->type = strcmp(type, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM;
  struct sockaddr_in* four = (struct sockaddr_in*)&a->to;
  struct sockaddr_in6* six = (struct sockaddr_in6*)&a->to;
  if (inet_pton(AF_INET, address, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons((unsigned short)port);
    a->size = sizeof *four;
  } else if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((unsigned short)port);
    six->sin6_scope_id = if_nametoindex(interface);
    a->size = sizeof *six;
  } else {
    fail(name);
  }
}

static void end(struct attempt* a, int error) {
  a->result = error == 0 ? "answer" : error == ECONNREFUSED ? "refused" : strerror(error);
  if (a->socket >= 0) close(a->socket);
  a->socket = -1;
}

static void begin(struct attempt* a) {
  static const char query[] = "\0\1\1\0\0\1\0\0\0\0\0\0\4name\7example\0\0\1\0\1";
  a->result = NULL;
  a->socket = socket(a->to.ss_family, a->type | SOCK_NONBLOCK, 0);
  if (a->socket < 0)
    end(a, errno);
  else if (connect(a->socket, (struct sockaddr*)&a->to, a->size) != 0 && errno != EINPROGRESS)
    end(a, errno);
  else if (a->type == SOCK_DGRAM && send(a->socket, query, sizeof query - 1, 0) < 0)
    end(a, errno);
}

static void look(struct attempt* a) {
  int error = 0;
  socklen_t size = sizeof error;
  char byte;
  getsockopt(a->socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0 && a->type == SOCK_DGRAM && recv(a->socket, &byte, 1, 0) < 0) error = errno;
  end(a, error);
}

static void try_all(struct attempt* all, int count, double seconds) {
  const double until = now() + seconds;
  for (int i = 0; i < count; i++) begin(&all[i]);
  for (;;) {
    struct pollfd waiting[most_targets];
    struct attempt* whose[most_targets];
    nfds_t open = 0;
    for (int i = 0; i < count; i++) {
      if (all[i].result) continue;
      whose[open] = &all[i];
      waiting[open++] =
          (struct pollfd){all[i].socket, all[i].type == SOCK_STREAM ? POLLOUT : POLLIN, 0};
    }
    const int left = (int)((until - now()) * 1000);
    if (open == 0 || left <= 0 || poll(waiting, open, left) <= 0) break;
    for (nfds_t i = 0; i < open; i++)
      if (waiting[i].revents) look(whose[i]);
  }
  for (int i = 0; i < count; i++) {
    if (all[i].result) continue;
    end(&all[i], 0);
    all[i].result = "silence";
  }
}

static bool got_through(const struct attempt* a) {
  return strcmp(a->result, "answer") == 0 || strcmp(a->result, "refused") == 0;
}

int main(int argc, char** argv) {
  static struct attempt all[most_targets];
  const double began = now();
  const bool early = argc > 1 && strcmp(argv[1], "--early") == 0;
  char** words = argv + 1 + early;
  const int count = argc - 2 - early;
  if (count < 0 || count > most_targets) fail("(how many there are)");
  const double seconds = atof(*words++);
  for (int i = 0; i < count; i++) read_target(&all[i], words[i]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!early) {
    try_all(all, count, seconds);
    for (int i = 0; i < count; i++) printf("%s %s\n", all[i].name, all[i].result);
    return 0;
  }
  while (now() - began < seconds) {
    const double moment = now() - began;
    try_all(all, count, attempt_ms / 1000.0);
    for (int i = 0; i < count; i++)
      if (got_through(&all[i])) printf("%.3f %s %s\n", moment, all[i].name, all[i].result);
    usleep(pause_ms * 1000);
  }
  puts("over");
  return 0;
}
