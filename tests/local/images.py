"""A registry on this machine, and images that are made for it from Debian's static busybox: they need no network and no
program that builds images."""
import base64
import contextlib
import crypt
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/kube"))
from addresses import REGISTRY, free_port  # noqa: E402
from end_to_end.berthd import die_with_parent  # noqa: E402
from end_to_end.waiting import eventually  # noqa: E402

BUSYBOX = "/bin/busybox"
PATIENCE = 30  # seconds
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
COMPRESSION = 1  # of gzip: the images are pulled once or twice
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

SHELL = (BUSYBOX, "sh", "-c")
HTTPD = '/bin/busybox httpd -f -h /www -p "$0"'
# The first process of a container has to handle SIGTERM, or it is killed after its grace period.
SERVE = (*SHELL, f"trap 'exit 0' TERM; {HTTPD} & wait")
FIRST, SECOND = "hello from a real container", "hello from the second version"
# What tests/kube/lib/images.sh makes, too: name, page, entry point.
IMAGES = (
    ("hello:1", FIRST, (*SERVE, "3000")),
    ("hello:2", SECOND, (*SERVE, "3000")),
    ("crash:1", FIRST, (*SHELL, "echo no database is configured >&2; exit 3")),
    ("oom:1", FIRST, (BUSYBOX, "tail", "/dev/zero")),
    ("wrong-port:1", FIRST, (*SERVE, "3999")),
    ("needs-root:1", FIRST, (*SHELL, f"mkdir /var-lib-shop && exec {HTTPD}", "3000")),
    ("slow-start:1", FIRST, (*SHELL, f"sleep 5; exec {HTTPD}", "3000")),
)


def layer(page, programs=()):
    """Returns a layer as a tar: busybox, a page for its web server, and further programs by their names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in ("bin", "www", "tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        files = [("bin/busybox", pathlib.Path(BUSYBOX).read_bytes(), 0o755), ("www/index.html", (page + "\n").encode(), 0o644)]
        files += [(f"bin/{name}", pathlib.Path(program).read_bytes(), mode) for name, program, mode in programs]
        for name, content, mode in files:
            file = tarfile.TarInfo(name)
            file.size, file.mode = len(content), mode
            tar.addfile(file, io.BytesIO(content))
    return packed.getvalue()


class Pusher:
    """Pushes images to the registry at the address. With `login`, a pair of a name and a password, it logs in."""

    def __init__(self, address, login=None):
        self.address = address
        self.login = login

    def ask(self, method, path, body=None, headers=None):
        if self.login:
            secret = base64.b64encode(":".join(self.login).encode()).decode()
            headers = {"Authorization": "Basic " + secret, **(headers or {})}
        url = path if path.startswith("http") else f"http://{self.address}{path}"
        with urllib.request.urlopen(urllib.request.Request(url, body, headers or {}, method=method), timeout=PATIENCE) as answer:
            return answer.headers

    def blob(self, repository, content):
        """Uploads the content, and returns what a manifest says of it."""
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        place = self.ask("POST", f"/v2/{repository}/blobs/uploads/", b"")["Location"]
        mark = "&" if urllib.parse.urlsplit(place).query else "?"
        self.ask("PUT", f"{place}{mark}digest={digest}", content, {"Content-Type": "application/octet-stream"})
        return {"digest": digest, "size": len(content)}

    def push(self, image, page, entrypoint, user="1000", architecture="amd64", programs=()):
        """Pushes an image `name:tag` with one layer. Returns its full name."""
        return self.push_files(image, layer(page, programs), {"User": user, "Entrypoint": list(entrypoint) or None}, architecture)

    def push_files(self, image, files, settings, architecture="amd64"):
        """Pushes an image whose only layer is this tar, with settings beside PATH. Returns its full name."""
        repository, tag = image.split(":")
        config = {"architecture": architecture, "os": "linux",
                  "config": {"Env": ["PATH=/bin"], **settings},
                  # A builder that begins with the image wants as many entries as there are layers.
                  "history": [{"created_by": "tests/local/images.py"}],
                  "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(files).hexdigest()]}}
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST,
                    "config": {"mediaType": CONFIG, **self.blob(repository, json.dumps(config).encode())},
                    "layers": [{"mediaType": LAYER, **self.blob(repository, gzip.compress(files, COMPRESSION, mtime=0))}]}
        self.ask("PUT", f"/v2/{repository}/manifests/{tag}", json.dumps(manifest).encode(), {"Content-Type": MANIFEST})
        return f"{self.address}/{image}"


class Registry(Pusher):
    """Debian's docker-registry, at REGISTRY. With `login`, a pair of a name and a password, it serves nobody else, and has an
    address of its own. Used in a `with` block, which ends it."""

    def __init__(self, login=None):
        super().__init__(f"127.0.0.1:{free_port()}" if login else REGISTRY, login)
        self.folder = tempfile.TemporaryDirectory(prefix="berth-registry-")
        folder = pathlib.Path(self.folder.name)
        auth = ""
        if login:
            (folder / "users").write_text(f"{login[0]}:{crypt.crypt(login[1], crypt.METHOD_BLOWFISH)}\n")
            auth = f"auth: {{htpasswd: {{realm: test, path: {folder}/users}}}}\n"
        (folder / "config.yml").write_text(
            f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n"
            f"http: {{addr: '{self.address}'}}\n{auth}")
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", folder / "config.yml"], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, preexec_fn=die_with_parent)
        eventually(self.answers, "the registry answers", PATIENCE, seen=lambda: (folder / "log").read_text()[-1000:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.folder.cleanup()

    def answers(self):
        with contextlib.suppress(OSError):
            return bool(self.ask("GET", "/v2/"))
        return False

    def push_all(self):
        for image, page, entrypoint in IMAGES:
            self.push(image, page, entrypoint)


def why_not():
    """Returns why containers can't run here, in a sentence; None if they can."""
    missing = [name for name in ("podman", "caddy", "docker-registry") if not any(
        os.access(os.path.join(folder, name), os.X_OK) for folder in (*os.get_exec_path(), "/usr/sbin"))]
    if missing:
        return f"{', '.join(missing)} can't be found; scripts/install-deps.sh test installs it"
    return None if os.geteuid() == 0 else "the tests of containers make networks of their own, which only root may"
