#!/usr/bin/env python3
"""The service's sandbox lets berthd do what it does: unit.py BERTHD.

Compares the functions that berthd imports with the system calls that the unit's filter refuses. A refused call fails
with EPERM, which nobody would notice: a thread of a low priority would just run with the usual one."""
import pathlib
import re
import subprocess
import sys
import unittest

UNIT = pathlib.Path(__file__).resolve().parents[2] / "packaging/berthd.service"
BERTHD = sys.argv.pop(1)

# systemd.exec(5), "SystemCallFilter=": the calls of the groups that the unit takes away, as `systemd-analyze
# syscall-filter` prints them.
GROUPS = {
    "@privileged": "@chown @clock @module @raw-io @reboot @swap _sysctl acct bpf capset chroot fanotify_init fanotify_mark nfsservctl "
                   "open_by_handle_at pivot_root quotactl quotactl_fd setdomainname setfsuid setfsuid32 setgroups setgroups32 sethostname "
                   "setresuid setresuid32 setreuid setreuid32 setuid setuid32 vhangup",
    "@resources": "ioprio_set mbind migrate_pages move_pages nice sched_setaffinity sched_setattr sched_setparam sched_setscheduler "
                  "set_mempolicy set_mempolicy_home_node setpriority setrlimit",
    "@chown": "chown chown32 fchown fchown32 fchownat lchown lchown32",
}
# Which system call a function of the C library makes, if it isn't of the same name.
CALLS = {"nice": "setpriority", "pthread_setaffinity_np": "sched_setaffinity", "pthread_setschedparam": "sched_setscheduler",
         "pthread_setschedprio": "sched_setparam"}


def members(group):
    found = set()
    for word in GROUPS.get(group, "").split():
        found |= members(word) if word.startswith("@") else {word}
    return found


def settings(name):
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)


def refused():
    """Returns the system calls that the unit's lines take away in the end."""
    gone = set()
    for line in settings("SystemCallFilter"):
        words = line.removeprefix("~").split()
        for word in words:
            calls = members(word) if word.startswith("@") else {word}
            gone = gone | calls if line.startswith("~") else gone - calls
    return gone


def imported():
    lines = subprocess.run(["nm", "-D", "--undefined-only", BERTHD], check=True, capture_output=True, text=True).stdout.splitlines()
    return {re.split(r"@", line.split()[-1])[0] for line in lines}


class Unit(unittest.TestCase):
    def test_nothing_that_berthd_calls_is_refused(self):
        functions = imported()
        self.assertIn("nice", functions, "the list of imports is complete")
        calls = {name: CALLS.get(name, name) for name in functions}
        wrong = {name: call for name, call in calls.items() if call in refused()}
        self.assertEqual(wrong, {})
        print(f"{len(functions)} imports, {len(refused())} refused system calls")

    def test_the_rest_of_the_groups_stays_refused(self):
        for call in ("sched_setscheduler", "setrlimit", "chroot", "setuid", "bpf", "chown"):
            self.assertIn(call, refused())

    def test_no_core_dump_has_secrets(self):
        self.assertEqual(settings("LimitCORE"), ["0"])


if __name__ == "__main__":
    unittest.main()
