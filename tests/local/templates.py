"""The Containerfiles that `berth init --template` writes are built and run, on base images that are made of the node, the
python3 and the busybox of Debian's packages on this machine: nothing is asked but the registry of the tests."""
import io
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import time

from end_to_end.berthd import PROGRAM
from end_to_end.cluster import REGISTRY, run, serves
from end_to_end.growing import build
from end_to_end.world import World
from images import BUSYBOX, Pusher

CLIENT = os.environ.get("BERTH") or str(pathlib.Path(PROGRAM).parent / "berth")
OFFICIAL = "docker.io/library/"
# What the steps of a template and the first process call, besides its program. `env` is the interpreter of npm's script.
APPLETS = ("sh", "env", "httpd")
# Node.js needs more than the tests' usual tier has.
TIERS = ("[{slug: free, name: Free, memory-mb: 256, cpu-millicores: 1000, monthly-cost-points: 0, max-deployments: 10, "
         "auto-approve: true}]")
PACKAGE = '{"name": "shop", "version": "1.0.0", "private": true}\n'
SERVER = """require("http").createServer((request, answer) => answer.end("hello from node\\n")).listen(process.env.PORT);
process.on("SIGTERM", () => process.exit(0));
"""
APP = """import http.server
import os


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from python\\n")


http.server.HTTPServer(("", int(os.environ["PORT"])), Page).serve_forever()
"""


class Root:
    """A root file system with busybox, to which programs are added with the libraries that they are linked to. Files have the
    place here that they have on this machine."""

    def __init__(self):
        self.packed = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.packed, mode="w", dereference=True)  # pylint: disable=consider-using-with
        self.known = set()
        for name in ("bin", "etc", "proc", "root", "tmp", "usr", "usr/bin"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            self.tar.addfile(folder)
        self.tar.add(BUSYBOX, "bin/busybox")
        for applet in APPLETS:
            self.link(f"bin/{applet}", "busybox")
        self.link("usr/bin/env", "/bin/busybox")

    def link(self, path, target):
        entry = tarfile.TarInfo(path)
        entry.type, entry.linkname = tarfile.SYMTYPE, str(target)
        self.tar.addfile(entry)

    def add(self, path, name=None):
        """Adds a file, or a folder with what is in it, and all libraries that it is linked to. Returns where it is."""
        name = name or os.path.realpath(path)
        if name in self.known:
            return name
        self.known.add(name)
        if os.path.isdir(path):
            for each in sorted(os.listdir(path)):
                if each not in ("__pycache__", "test", "docs", "man"):
                    self.add(os.path.join(path, each), os.path.join(name, each))
            return name
        self.tar.add(path, name.lstrip("/"))
        with open(path, "rb") as file:
            linked = file.read(4) == b"\x7fELF"
        for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", path], capture_output=True, text=True,
                                                                check=False).stdout) if linked else ():
            # The loader finds it by the name by which it is linked, which is one of several names of a file.
            self.add(library, library)
        return name

    def program(self, name, path):
        self.link(f"bin/{name}", self.add(path))

    def bytes(self):
        self.tar.close()
        return self.packed.getvalue()


def node():
    root = Root()
    npm = pathlib.Path(shutil.which("npm", path="/usr/bin")).resolve()
    # npm of nodejs.org's package brings what it needs; Debian's shares it with others.
    needs = next(parent for parent in npm.parents if parent.name in ("npm", "nodejs"))
    root.add("/usr/share/nodejs" if "/usr/share/" in str(needs) else needs)
    root.program("node", "/usr/bin/node")
    root.link("bin/npm", npm)
    return root.bytes()


def python():
    root = Root()
    program = pathlib.Path("/usr/bin/python3").resolve()
    root.program("python", program)
    root.add(f"/usr/lib/{program.name}")
    return root.bytes()


class Templates(World):
    flags = ("--tiers", TIERS)

    def serves_what_it_builds(self, template, base, files, text):
        """Builds the folder with the template's Containerfile, and looks at the page of what was built."""
        began = time.monotonic()
        wanted = run(CLIENT, "init", "--template", template, "--file", "-")
        image = re.search(rf"^FROM {OFFICIAL}(\S+)$", wanted, re.MULTILINE)[1]
        Pusher(REGISTRY).push_files(image, base, {})
        built = build(self.berthd, self.ada, template, {"Containerfile": wanted.replace(OFFICIAL, f"{REGISTRY}/"), **files})
        log = self.berthd.ask("GET", f"/api/deploy/builds/{built['id']}/logs", None, self.ada.token)
        self.assertEqual(built["status"], "succeeded", (built, log))
        deployment = self.ada.deploy(template, built["image"])
        self.ada.wait(deployment, "running")
        serves(template, text)
        self.ada.delete(deployment)
        print(f"      it serves after {time.monotonic() - began:.1f} s, with {len(base) >> 20} MiB below it", flush=True)

    @staticmethod
    def has(*programs):
        return all(os.access(f"/usr/bin/{program}", os.X_OK) for program in programs)

    def test_1_static(self):
        self.serves_what_it_builds("static", Root().bytes(), {"index.html": "hello from a page\n"}, "hello from a page")

    def test_2_python(self):
        """Without a requirements.txt, as a program that needs no packages has none."""
        if not self.has("python3"):
            self.skipTest("python3 of Debian isn't installed")
        self.serves_what_it_builds("python", python(), {"app.py": APP}, "hello from python")

    def test_3_node(self):
        if not self.has("node", "npm"):
            self.skipTest("nodejs and npm aren't installed")
        self.serves_what_it_builds("node", node(), {"package.json": PACKAGE, "server.js": SERVER}, "hello from node")
