#!/usr/bin/env python3
"""What the service refuses to berthd must not be refused to containers, which inherit it, if they run on its machine: the
drop-in packaging/local.conf takes back every line of the unit that would be inherited and that containers need."""
import pathlib
import re
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "packaging"
# systemd.exec(5): filters of system calls (seccomp) and views of the machine that children inherit, and what a container, or
# a rootless podman, can't do with them. A line of the unit that is neither here nor in HARMLESS has to be judged first.
INHERITED = {
    "LockPersonality", "MemoryDenyWriteExecute", "NoNewPrivileges", "PrivateDevices", "PrivateUsers", "ProcSubset",
    "ProtectControlGroups", "ProtectHome", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelTunables", "ProtectProc",
    "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "SystemCallArchitectures",
    "SystemCallFilter", "CapabilityBoundingSet", "RemoveIPC", "PrivateTmp",
}
HARMLESS = {
    "Type", "ExecStart", "User", "Group", "StateDirectory", "StateDirectoryMode", "UMask", "LimitNOFILE", "LimitCORE",
    "TimeoutStartSec", "TimeoutStopSec", "Restart", "RestartSec", "RestartPreventExitStatus", "DevicePolicy", "ProtectClock",
    "ProtectKernelModules", "ProtectSystem", "SystemCallErrorNumber",
}


def settings(file):
    service = (FOLDER / file).read_text().partition("[Service]")[2].partition("[Install]")[0]
    found = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", service, re.M):
        found.setdefault(name, []).append(value)
    return found


class LocalUnit(unittest.TestCase):
    def test_every_line_of_the_unit_is_judged(self):
        names = set(settings("berthd.service"))
        self.assertEqual(names - INHERITED - HARMLESS, set(), "is it inherited by containers?")
        self.assertEqual(INHERITED - names, set(), "the unit doesn't have them any more")
        print(f"{len(names)} lines of the unit, {len(INHERITED)} of them taken back")

    def test_what_containers_inherit_is_taken_back(self):
        local = settings("local.conf")
        for name in INHERITED:
            self.assertIn(name, local)
            self.assertIn(local[name][0], ("no", "", "all", "default", "CAP_NET_BIND_SERVICE CAP_SETUID CAP_SETGID"), name)

    def test_containers_outlive_the_service(self):
        local = settings("local.conf")
        self.assertEqual(local["KillMode"], ["process"])
        self.assertEqual(local["Environment"], ["BERTHD_KUBERNETES=local"])
        self.assertIn("enable-linger berth", local["ExecStartPre"][0])


if __name__ == "__main__":
    unittest.main()
