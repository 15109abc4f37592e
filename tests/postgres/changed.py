#!/usr/bin/env python3
"""Says in a sentence whether something has changed for which the tests have to run on the second engine in full: SQL, an
engine, a migration, or tests of the second engine. Nothing has changed if they passed in full on this machine with the
same texts before (`changed.py --passed` notes it), or if the files are those of the commit at which the branch left main
(or of BASE, if that is set). Without either, everything counts as changed.

Ends with 0 if they have to run, and with 3 if they don't.
"""
import collections
import functools
import glob
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/sql"))
sys.dont_write_bytecode = True
from prepare import FOLDERS  # noqa: E402
from statements import Sources  # noqa: E402

NOT_NEEDED = 3
ENGINES = ("controller/db/", "tests/postgres/", "tests/store.", "tests/bench/postgresql.py")
TAG = "[.postgres]"  # of cases that run on the second engine only
SERVERS = "/usr/lib/postgresql/*/bin/postgres"
# The fingerprints with which the tests passed, one in a line, the newest last.
PASSED = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "berth/second-engine"
MOST_PASSED = 50


def git(*arguments, text=True):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True, text=text).stdout


def base():
    """Returns the commit to compare with, or None."""
    if "BASE" in os.environ:
        return os.environ["BASE"]
    found = subprocess.run([ROOT / "scripts/left-main"], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def statements(sources):
    """Counts the texts of the SQL in the sources: pairs of a name and a text."""
    return collections.Counter(found.text for found in Sources(sources).statements())


def is_source(name):
    return name.endswith((".h", ".cpp"))


def sources_then(commit):
    folders = git("ls-tree", "--name-only", commit, "--", *FOLDERS).split()
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, *folders, text=False))) as archive:
        return [(member.name, archive.extractfile(member).read().decode()) for member in archive
                if member.isfile() and is_source(member.name)]


def sources_now():
    return [(str(file.relative_to(ROOT)), file.read_text()) for folder in FOLDERS
            for file in sorted((ROOT / folder).rglob("*")) if file.is_file() and is_source(file.name)]


def reason(changed, then, now, text_of):
    """Returns why the tests have to run, or None. `changed` are names of files, `then` and `now` the sources, and
    text_of(name) returns a changed file's present text."""
    for name in changed:
        if name.startswith(ENGINES):
            return f"{name} has changed"
        if name.startswith("tests/") and is_source(name) and TAG in text_of(name):
            return f"{name} has changed, which has cases for it alone"
    before, after = statements(then), statements(now)
    different = sum(((before - after) + (after - before)).values())
    return f"SQL has changed ({different} statements differ)" if different else None


@functools.cache
def fingerprint():
    """Returns a hash of all that decides how the tests end on PostgreSQL, as far as it isn't tested on SQLite, too."""
    files = sorted(git("ls-files", "--cached", "--others", "--exclude-standard").split())
    parts = [(name, text_of(name)) for name in files
             if name.startswith(ENGINES) or name.startswith("tests/") and is_source(name) and TAG in text_of(name)]
    parts += sorted(statements(sources_now()).items()) + sorted(glob.glob(SERVERS))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def passed():
    return PASSED.read_text().split() if PASSED.is_file() else []


def note_passed():
    """Notes that the tests passed in full, if there is a PostgreSQL with which they ran."""
    if not glob.glob(SERVERS):
        return
    now = fingerprint()
    PASSED.parent.mkdir(parents=True, exist_ok=True)
    lines = ([line for line in passed() if line != now] + [now])[-MOST_PASSED:]
    PASSED.write_text("\n".join(lines) + "\n")


def text_of(name):
    file = ROOT / name
    return file.read_text() if file.is_file() else ""


def decide():
    if fingerprint() in passed():
        return None
    commit = base()
    if commit is None:
        return "the history doesn't say what has changed since main"
    changed = git("diff", "--name-only", commit).split() + git("ls-files", "--others", "--exclude-standard").split()
    return reason(changed, sources_then(commit), sources_now(), text_of)


def main():
    if sys.argv[1:] == ["--passed"]:
        note_passed()
        return 0
    try:
        why = decide()
    except subprocess.CalledProcessError as failure:
        why = f"git failed: {failure.stderr if isinstance(failure.stderr, str) else failure}".strip()
    if why:
        print(f"second engine: all tests that run on PostgreSQL run there, because {why}")
        return 0
    print("second engine: only its own tests run, because neither SQL nor an engine nor a migration has changed since they "
          "passed")
    return NOT_NEEDED


if __name__ == "__main__":
    sys.exit(main())
