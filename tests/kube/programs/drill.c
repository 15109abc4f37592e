/* What a hostile container tries, one drill for each call. Each line of the output is something
 * that was tried, and either "yes" or the system's reason why not. drill fork SECONDS as many
 * processes as there may be, all of them kept so long drill inotify SECONDS          likewise as
 * many instances of inotify drill memory                   as much memory as there is; prints
 * nothing, because it is killed drill fill FILE MEGABYTES      writes so much to the file drill
 * connect ADDRESS PORT COUNT SECONDS   opens so many connections, and keeps them so long drill
 * accept PORT SECONDS      accepts all connections so long, and keeps them; prints how many there
 * were drill kernel                   mounts, namespaces, raw sockets, keys, ptrace, settings below
 * /proc and /sys, devices drill bind PORT drill who                      the user that it runs as;
 * with the file's setuid bit, it may be another one */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { most = 100000, batch = 1000, patience_ms = 5000 };

static const char* outcome(long result) { return result < 0 ? strerror(errno) : "yes"; }

static void tell(const char* what, long result) {
  const char* text = outcome(result);
  printf("%s: %s\n", what, text);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int as_many_processes_as_possible(unsigned seconds) {
  static pid_t children[most];
  int count = 0;
  const double until = now() + seconds;
  while (count < most) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (child < 0) break;
    children[count++] = child;
  }
  const char* why = count == most ? "no limit was found" : strerror(errno);
  printf("processes: %d, then %s\n", count, why);
  while (now() < until) { /* each failed attempt costs the kernel something, too */
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
  }
  for (int i = 0; i < count; i++) kill(children[i], SIGKILL);
  while (wait(NULL) > 0) {
  }
  return 0;
}

static int as_many_inotify_instances_as_possible(unsigned seconds) {
  int count = 0;
  while (count < most && inotify_init() >= 0) count++;
  printf("inotify: %d, then %s\n", count, count == most ? "no limit was found" : strerror(errno));
  fflush(stdout);
  sleep(seconds);
  return 0;
}

_Noreturn static void all_memory(void) {
  const size_t piece = 1 << 20;
  for (;;) {
    char* more = malloc(piece);
    if (more) memset(more, 1, piece);
  }
}

static int fill(const char* file, long megabytes) {
  static char piece[1 << 20];
  const int out = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
  long written = 0;
  while (written < megabytes && write(out, piece, sizeof piece) == (ssize_t)sizeof piece) written++;
  printf("%ld MB of %s: %s\n", written, file, written == megabytes ? "yes" : strerror(errno));
  return 0;
}

static void allow_many_files(void) {
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

static int connect_to(const char* address, int port, int count, unsigned seconds) {
  static struct pollfd sockets[most];
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  int opened = 0, done = 0;
  const char* why = "yes";
  inet_pton(AF_INET, address, &to.sin_addr);
  allow_many_files();
  while (opened < count) {
    const int first = opened;
    for (; opened < count && opened - first < batch; opened++) {
      const int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      if (s < 0 || (connect(s, (struct sockaddr*)&to, sizeof to) != 0 && errno != EINPROGRESS)) {
        why = strerror(errno);
        count = opened;
        break;
      }
      sockets[opened] = (struct pollfd){s, POLLOUT, 0};
    }
    const double until = now() + patience_ms / 1000.0;
    for (int i = first; i < opened; i++) {
      const int left = (int)((until - now()) * 1000);
      int error = 0;
      socklen_t size = sizeof error;
      if (poll(&sockets[i], 1, left > 0 ? left : 0) != 1) continue;
      getsockopt(sockets[i].fd, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) done++;
    }
  }
  printf("connections: %d of %d, %s\n", done, opened, why);
  fflush(stdout);
  sleep(seconds);
  return 0;
}

static int accept_all(int port, unsigned seconds) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  const double until = now() + seconds;
  int count = 0;
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  allow_many_files();
  if (bind(listener, (struct sockaddr*)&here, sizeof here) != 0 || listen(listener, 4096) != 0) {
    perror("drill accept");
    return 1;
  }
  puts("listening");
  fflush(stdout);
  while (now() < until) {
    struct pollfd waiting = {listener, POLLIN, 0};
    if (poll(&waiting, 1, 100) == 1)
      while (accept(listener, NULL, NULL) >= 0) count++;
  }
  printf("accepted: %d\n", count);
  return 0;
}

/* Nothing is written, because a machine on which the drill succeeds should survive it. */
static void tell_open(const char* file) {
  char what[200];
  snprintf(what, sizeof what, "opening %s", file);
  tell(what, open(file, O_WRONLY));
}

static void tell_write(const char* file, const char* text) {
  char what[200];
  snprintf(what, sizeof what, "writing %s", file);
  tell(what, write(open(file, O_WRONLY), text, strlen(text)));
}

/* The processes that it sees; those of its own pod's container are few. */
static int processes(void) {
  DIR* folder = opendir("/proc");
  struct dirent* entry;
  int count = 0;
  while (folder && (entry = readdir(folder)))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') count++;
  if (folder) closedir(folder);
  return count;
}

static int the_kernel(void) {
  const char* settings[] = {"/proc/sys/kernel/core_pattern",
                            "/proc/sys/kernel/modprobe",
                            "/proc/sys/vm/overcommit_memory",
                            "/proc/sys/net/ipv4/ip_forward",
                            "/proc/sysrq-trigger",
                            "/sys/kernel/uevent_helper",
                            "/sys/fs/cgroup/pids/pids.max",
                            "/sys/fs/cgroup/pids/cgroup.procs",
                            "/sys/fs/cgroup/memory/release_agent",
                            "/sys/fs/cgroup/cgroup.procs",
                            "/dev/mem",
                            "/dev/kmsg",
                            "/proc/kcore",
                            "/dev/sda",
                            "/dev/fuse"};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) tell_open(settings[i]);
  tell_write("/proc/self/oom_score_adj", "-1000");
  tell("raw socket", socket(AF_INET, SOCK_RAW, IPPROTO_TCP));
  tell("raw ICMP socket", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  tell("packet socket", socket(AF_PACKET, SOCK_RAW, 0));
  tell("adding a key", syscall(SYS_add_key, "user", "drill", "x", 1UL, KEY_SPEC_USER_KEYRING));
  tell("joining a keyring", syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "drill"));
  tell("loading a module", syscall(SYS_init_module, "", 0UL, ""));
  tell("bpf", syscall(SYS_bpf, 0, NULL, 0));
  tell("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0UL));
  tell("userfaultfd", syscall(SYS_userfaultfd, 0));
  tell("opening by handle", syscall(SYS_open_by_handle_at, -1, NULL, 0));
  tell("setting the host's name", sethostname("x", 1));
  tell("higher priority", setpriority(PRIO_PROCESS, 0, -10));
  tell("making a device", mknod("/tmp/disk", S_IFBLK | 0600, makedev(8, 0)));
  tell("tracing a process of others", ptrace(PTRACE_ATTACH, getpid() + 1000, NULL, NULL));
  tell("mounting tmpfs", mount("none", "/tmp", "tmpfs", 0, ""));
  tell("mounting proc", mount("proc", "/tmp", "proc", 0, ""));
  tell("binding /", mount("/", "/tmp", NULL, MS_BIND, NULL));
  tell("chroot", chroot("/tmp"));
  tell("becoming root", setuid(0));
  tell("new mount namespace", unshare(CLONE_NEWNS));
  tell("new network namespace", unshare(CLONE_NEWNET));
  tell("new user namespace", unshare(CLONE_NEWUSER));
  printf("visible processes: %d\n", processes());
  return 0;
}

static int bind_port(int port) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  tell("binding", bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr*)&here, sizeof here));
  return 0;
}

static int who(void) {
  printf("user %d, effective user %d, group %d\n", getuid(), geteuid(), getegid());
  return 0;
}

int main(int argc, char** argv) {
  const char* drill = argc > 1 ? argv[1] : "";
  if (strcmp(drill, "fork") == 0 && argc == 3)
    return as_many_processes_as_possible((unsigned)atoi(argv[2]));
  if (strcmp(drill, "inotify") == 0 && argc == 3)
    return as_many_inotify_instances_as_possible((unsigned)atoi(argv[2]));
  if (strcmp(drill, "memory") == 0) all_memory();
  if (strcmp(drill, "fill") == 0 && argc == 4) return fill(argv[2], atol(argv[3]));
  if (strcmp(drill, "connect") == 0 && argc == 6)
    return connect_to(argv[2], atoi(argv[3]), atoi(argv[4]), (unsigned)atoi(argv[5]));
  if (strcmp(drill, "accept") == 0 && argc == 4)
    return accept_all(atoi(argv[2]), (unsigned)atoi(argv[3]));
  if (strcmp(drill, "kernel") == 0) return the_kernel();
  if (strcmp(drill, "bind") == 0 && argc == 3) return bind_port(atoi(argv[2]));
  if (strcmp(drill, "who") == 0) return who();
  fprintf(stderr, "drill: no such drill; see drill.c\n");
  return 2;
}
