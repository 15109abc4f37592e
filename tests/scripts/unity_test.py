#!/usr/bin/env python3
"""unity_test.py BUILD: files of a library don't have the same local names.

The presets for sanitizers compile more files of a library together than the one of the tests does (CMAKE_UNITY_BUILD),
so two constants of one name in two anonymous namespaces would break them where no test notices. So would a local function
that hides one of a namespace which another file uses whole (`using namespace`). Names are read by universal-ctags. Libraries whose files are grouped by hand (UNITY_GROUP) are grouped the same way by each preset, and
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
JSON = re.compile(r"\b(?:nlohmann::)?(?:json|Json|Object)\b")  # names of one type


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
            parameters = JSON.sub("json", parameters)
            found[ANONYMOUS.sub("", scope), tag["name"], parameters].add(tag["path"])
    return found


def functions_of_headers():
    """The function's name -> the namespaces in which headers declare it."""
    headers = subprocess.run(["git", "-C", ROOT, "ls-files", "*.h"], capture_output=True, text=True, check=True).stdout.split()
    command = ["ctags", "-f", "-", "--output-format=json", "--fields=+{scope}{scopeKind}", "--kinds-c++=fp",
               *(str(ROOT / header) for header in headers if not header.startswith("tests/"))]
    found = collections.defaultdict(set)
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        tag = json.loads(line)
        if tag.get("scopeKind") == "namespace":
            found[tag["name"]].add(tag["scope"])
    return found


def hidden(names, files, declared):
    """Yields (scope, name, where it is local, where another one is meant)."""
    texts = {path: pathlib.Path(path).read_text() for path in files}
    for (scope, name, _), where in names.items():
        others = {namespace.rpartition("::")[2] for namespace in declared[name] if namespace != scope}
        for path in files - where:
            if any(f"using namespace {other};" in texts[path] for other in others) and \
                    re.search(rf"(?<![\w:.>]){name}\(", texts[path]):
                yield scope, name, where, path


def main():
    if not shutil.which("ctags"):
        print("universal-ctags isn't installed, so this isn't tested")
        return 77
    libraries = sources_of_libraries(pathlib.Path(sys.argv[1]))
    declared = functions_of_headers()
    count = 0
    twice = []
    for library, files in sorted(libraries.items()):
        names = local_names(files)
        count += len(names)
        twice += [f"{library}: {scope}::{name}{parameters} is in {' and '.join(sorted(where))}"
                  for (scope, name, parameters), where in names.items() if len(where) > 1]
        twice += [f"{library}: {scope}::{name} is a function in {' and '.join(sorted(where))}, and something else in {other}"
                  for (scope, name, parameters), where in names.items() if parameters
                  for other in sorted(names.get((scope, name, ""), set()) - where)]
        twice += [f"{library}: {scope}::{name} of {' and '.join(sorted(where))} hides another one in {path}"
                  for scope, name, where, path in hidden(names, files, declared)]
    print(f"{count} local names in {len(libraries)} libraries")
    print("\n".join(twice))
    return 1 if twice or count < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
