#!/usr/bin/env python3
"""unity_test.py BUILD: files of a library don't have the same local names.

The release preset compiles more files of a library together than the preset of the tests does (CMAKE_UNITY_BUILD), so
two constants of one name in two anonymous namespaces would break it where no test notices. Names are read by
universal-ctags. Libraries whose files are grouped by hand (UNITY_GROUP) are grouped the same way by each preset, and
compile or don't with the tests."""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BY_GROUPS = {"berth_api"}
ANONYMOUS = re.compile(r"(?:::)?__anon\w+$")


def sources_of_libraries(build):
    """The library's name -> its files that are compiled together with others."""
    sources = collections.defaultdict(set)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        library = re.search(r"CMakeFiles/([^/]+)\.dir/Unity/", entry["file"])
        if library and library[1] not in BY_GROUPS:
            text = pathlib.Path(entry["file"]).read_text()
            sources[library[1]] |= {path for path in re.findall(r'#include "([^"]+)"', text)
                                    if pathlib.Path(path).is_relative_to(ROOT)
                                    and not pathlib.Path(path).is_relative_to(ROOT / "tests")}
    return {library: files for library, files in sources.items() if len(files) > 1}


def local_names(files):
    """(namespace, name, types of the parameters) -> the files that define it in an anonymous namespace."""
    command = ["ctags", "-f", "-", "--output-format=json", "--fields=+{signature}{scope}{scopeKind}",
               "--kinds-c++=fvsguce", *sorted(files)]
    found = collections.defaultdict(set)
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        tag = json.loads(line)
        scope = tag.get("scope", "")
        if tag.get("scopeKind") == "namespace" and ANONYMOUS.search(scope):
            parameters = re.sub(r"\s+\w+(?=[,)])", "", tag.get("signature", "")) if tag["kind"] == "function" else ""
            found[ANONYMOUS.sub("", scope), tag["name"], parameters].add(tag["path"])
    return found


def main():
    if not shutil.which("ctags"):
        print("universal-ctags isn't installed, so this isn't tested")
        return 77
    libraries = sources_of_libraries(pathlib.Path(sys.argv[1]))
    count = 0
    twice = []
    for library, files in sorted(libraries.items()):
        names = local_names(files)
        count += len(names)
        twice += [f"{library}: {scope}::{name}{parameters} is in {' and '.join(sorted(where))}"
                  for (scope, name, parameters), where in names.items() if len(where) > 1]
    print(f"{count} local names in {len(libraries)} libraries")
    print("\n".join(twice))
    return 1 if twice or count < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
