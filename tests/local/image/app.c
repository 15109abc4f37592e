// The program of the images that the tests run: static, so that it is all that an image needs. Its
// first argument says what it does.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int number(const char* text, int otherwise) {
  return text == NULL || *text == '\0' ? otherwise : atoi(text);
}

static void answer(int client, const char* status, const char* body) {
  char head[256];
  const int size =
      snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
               status, strlen(body));
  if (write(client, head, (size_t)size) < 0 || write(client, body, strlen(body)) < 0) return;
}

// Takes memory, and uses it.
static void take_memory(int mebibytes) {
  for (int i = 0; i < mebibytes; ++i) {
    char* block = malloc(1 << 20);
    if (block == NULL) return;
    memset(block, i + 1, 1 << 20);
  }
}

static int connection(const char* host, const char* port, int milliseconds) {
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = four.sin_port};
  const int is_four = inet_pton(AF_INET, host, &four.sin_addr) == 1;
  if (!is_four && inet_pton(AF_INET6, host, &six.sin6_addr) != 1) return EINVAL;
  // A link-local address is that of the only interface.
  if (!is_four && IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) six.sin6_scope_id = 2;
  const int socket_ = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int error = 0;
  if (connect(socket_, is_four ? (struct sockaddr*)&four : (struct sockaddr*)&six,
              is_four ? sizeof four : sizeof six) != 0)
    error = errno;
  if (error == EINPROGRESS) {
    struct pollfd waiting = {.fd = socket_, .events = POLLOUT};
    if (poll(&waiting, 1, milliseconds) == 0) {
      error = ETIMEDOUT;
    } else {
      socklen_t size = sizeof error;
      getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  close(socket_);
  return error;
}

// Asks a name server for an IPv4 address (RFC 1035). Returns the number of answers; -1 without any.
static int look_up(const char* server, const char* name) {
  unsigned char query[300] = {0, 7, 1, 0, 0, 1};
  size_t size = 12;
  for (const char* part = name; *part != '\0';) {
    const char* end = strchrnul(part, '.');
    query[size++] = (unsigned char)(end - part);
    memcpy(query + size, part, (size_t)(end - part));
    size += (size_t)(end - part);
    part = *end == '.' ? end + 1 : end;
  }
  size += 1;
  query[size + 1] = 1;
  query[size + 3] = 1;
  size += 4;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
  inet_pton(AF_INET, server, &to.sin_addr);
  const int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
  unsigned char reply[512];
  ssize_t got = -1;
  struct pollfd waiting = {.fd = socket_, .events = POLLIN};
  if (connect(socket_, (struct sockaddr*)&to, sizeof to) == 0 && write(socket_, query, size) > 0 &&
      poll(&waiting, 1, 1000) > 0)
    got = read(socket_, reply, sizeof reply);
  close(socket_);
  return got < 12 ? -1 : reply[7];
}

static void respond(int client) {
  char request[4096];
  size_t size = 0;
  while (size < sizeof request - 1) {
    const ssize_t got = read(client, request + size, sizeof request - 1 - size);
    if (got <= 0) return;
    size += (size_t)got;
    request[size] = '\0';
    if (strstr(request, "\r\n\r\n") != NULL) break;
  }
  char path[1024] = "";
  sscanf(request, "GET %1023s", path);
  char text[1200];
  if (strncmp(path, "/env/", 5) == 0) {
    const char* value = getenv(path + 5);
    snprintf(text, sizeof text, "%s", value == NULL ? "" : value);
  } else if (strncmp(path, "/status/", 8) == 0) {
    snprintf(text, sizeof text, "%s Status", path + 8);
    answer(client, text, "");
    return;
  } else if (strcmp(path, "/id") == 0) {
    snprintf(text, sizeof text, "%d:%d", getuid(), getgid());
  } else if (strncmp(path, "/exit/", 6) == 0) {
    answer(client, "200 OK", "");
    _exit(atoi(path + 6));
  } else if (strncmp(path, "/memory/", 8) == 0) {
    take_memory(atoi(path + 8));
    snprintf(text, sizeof text, "taken");
  } else if (strncmp(path, "/write/", 7) == 0) {  // /write/MEBIBYTES/FILE
    char* file = NULL;
    long mebibytes = strtol(path + 7, &file, 10);
    const int out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    while (out >= 0 && mebibytes-- > 0 && write(out, block, sizeof block) > 0) {
    }
    snprintf(text, sizeof text, "%s", out < 0 ? strerror(errno) : "written");
    if (out >= 0) close(out);
  } else if (strncmp(path, "/read/", 6) == 0) {  // /read/FILE
    const int in = open(path + 6, O_RDONLY);
    const ssize_t got = in < 0 ? -1 : read(in, text, sizeof text - 1);
    if (got < 0)
      snprintf(text, sizeof text, "%s", strerror(errno));
    else
      text[got] = '\0';
    if (in >= 0) close(in);
  } else if (strncmp(path, "/connect/", 9) == 0) {  // /connect/HOST/PORT
    char* port = strrchr(path, '/');
    *port++ = '\0';
    const int error = connection(path + 9, port, 400);
    snprintf(text, sizeof text, "%s", error == 0 ? "connected" : strerror(error));
  } else if (strncmp(path, "/name/", 6) == 0) {  // /name/SERVER/NAME
    char* name = strrchr(path, '/');
    *name++ = '\0';
    snprintf(text, sizeof text, "%d", look_up(path + 6, name));
  } else if (strncmp(path, "/fork/", 6) == 0) {
    int made = 0;
    for (int i = 0; i < atoi(path + 6); ++i) {
      const pid_t child = fork();
      if (child == 0) {
        pause();
        _exit(0);
      }
      if (child < 0) break;
      ++made;
    }
    snprintf(text, sizeof text, "%d", made);
  } else if (strcmp(path, "/calls") == 0) {  // what the kernel answers
    const pid_t child = fork();
    if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
    int namespaces = 0;
    waitpid(child, &namespaces, 0);
    const long keys = syscall(SYS_keyctl, 1, "own") < 0 ? errno : 0;
    const long clone3 = syscall(SYS_clone3, NULL, 0) < 0 ? errno : 0;
    snprintf(text, sizeof text, "%s, %s, %s", strerror(WEXITSTATUS(namespaces)),
             strerror((int)keys), strerror((int)clone3));
  } else if (strcmp(path, "/inotify") == 0) {
    int made[1024];
    int count = 0;
    while (count < 1024 && (made[count] = inotify_init()) >= 0) ++count;
    snprintf(text, sizeof text, "%d", count);
    while (count > 0) close(made[--count]);
  } else if (strncmp(path, "/burn/", 6) == 0) {  // the processor, for so many milliseconds
    struct timespec used;
    struct timespec began;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
      clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 <
             atoi(path + 6));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    snprintf(text, sizeof text, "%ld", used.tv_sec * 1000 + used.tv_nsec / 1000000);
  } else {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "hello from %s", host);
  }
  answer(client, "200 OK", text);
}

static int serve(int port) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  if (bind(listening, (struct sockaddr*)&address, sizeof address) != 0) {
    printf("bind: %s\n", strerror(errno));
    return 1;
  }
  listen(listening, 64);
  printf("listening on %d\n", port);
  for (;;) {
    const int client = accept(listening, NULL, NULL);
    if (client < 0) continue;
    respond(client);
    close(client);
  }
}

static void say_goodbye(int signal_number) {
  (void)signal_number;
  static const char words[] = "goodbye\n";
  if (write(1, words, sizeof words - 1) < 0) _exit(1);
  _exit(0);
}

int main(int count, char** arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN);
  const char* what = count > 1 ? arguments[1] : "serve";
  const char* more = count > 2 ? arguments[2] : NULL;
  const int port = number(getenv("PORT"), 8080);
  signal(SIGTERM, say_goodbye);
  if (strcmp(what, "serve") == 0) return serve(number(more, port));
  if (strcmp(what, "stubborn") == 0) {
    signal(SIGTERM, SIG_IGN);
    return serve(port);
  }
  if (strcmp(what, "crash") == 0) {
    fprintf(stderr, "the first words\nthe last words\n");
    return number(more, 1);
  }
  if (strcmp(what, "oom") == 0) {
    for (;;) take_memory(16);
  }
  if (strcmp(what, "silent") == 0) {
    for (;;) pause();
  }
  if (strcmp(what, "root") == 0) {
    if (getuid() != 0) {
      fprintf(stderr, "mkdir /var/cache/app: Permission denied\n");
      return 1;
    }
    return serve(port);
  }
  if (strcmp(what, "talk") == 0) {  // so many lines, each with its number
    const int lines = number(more, 10);
    for (int i = 0; i < lines; ++i) printf("line %d of %d\n", i, lines);
    return number(count > 3 ? arguments[3] : NULL, 0);
  }
  // For sessions in a container that runs already.
  if (strcmp(what, "cat") == 0) {
    char piece[4096];
    for (ssize_t got; (got = read(0, piece, sizeof piece)) > 0;)
      if (write(1, piece, (size_t)got) < 0) return 1;
    return number(more, 0);
  }
  if (strcmp(what, "both") == 0) {
    printf("out\n");
    fprintf(stderr, "err\n");
    return number(more, 0);
  }
  if (strcmp(what, "size") == 0) {  // of the terminal, for each line
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
      struct winsize size = {0};
      ioctl(0, TIOCGWINSZ, &size);
      printf("%d %d\n", size.ws_row, size.ws_col);
    }
    return number(more, 0);
  }
  printf("unknown: %s\n", what);
  return 2;
}
