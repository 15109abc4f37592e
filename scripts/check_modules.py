#!/usr/bin/env python3
"""Checks that each folder of the sources includes only what the folder may use.

The linker enforces most of this (see berth_layer in cmake/layers.cmake), but it doesn't notice the include of a header
that defines everything inline. The folders at the top use one another in one direction only. Run by `make lint` and by
ctest. Prints a sentence for each include that isn't allowed and ends with 1 if there is one.
"""
import graphlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOMAIN = "controller/domain"

# The folders that each folder may include from, besides itself. The modules of the domain are added from
# controller/domain/CMakeLists.txt, where their targets are linked by the same names. If several folders contain a file,
# the longest path counts.
ALLOWED = {
    "controller/base": [],
    "controller/db": ["controller/base"],
    "berthd": ["controller", "api", "reconcilers", "manifests"],
    "manifests": ["controller/base", "controller/db", DOMAIN],
    "controller/transport": ["controller/base"],
    "api/gate": ["controller/base", "controller/db", DOMAIN, "controller/transport"],
    "api/resources": ["controller/base", "controller/db", DOMAIN, "controller/transport", "api/gate"],
    "api/pages": ["controller/base", "controller/db", DOMAIN, "controller/transport", "api/gate", "api/resources"],
    "api/console": ["controller/base", "controller/transport", "api/gate", "api/resources", "api/pages"],
    "reconcilers/kube": ["controller/base"],
    "reconcilers/dns": ["controller/base"],
    "reconcilers/registry": ["controller/base"],
    "reconcilers/cluster": ["controller/base", "controller/db", DOMAIN, "manifests", "reconcilers/kube", "reconcilers/dns",
                            "reconcilers/registry"],
    "reconcilers/loops": ["controller/base", "controller/db", DOMAIN],
    "reconcilers/embedded": ["controller/base", "controller/db", "controller/transport"],
    "reconcilers/builds": ["controller/base", "controller/db", DOMAIN, "reconcilers/embedded"],
    "cli": ["controller/base"],
}
WHY = {
    "*_rows.h": "describes how a module stores its rows; call a function that the module declares in another header",
    "upwards": "depends on a folder that its own may not use; move the code there, or hand it in as a parameter",
}


def domain_modules():
    """Returns the USES lists of controller/domain/CMakeLists.txt: folder -> the folders that it may use."""
    text = (ROOT / DOMAIN / "CMakeLists.txt").read_text()
    for name, uses in re.findall(r"^berth_module\((\w+)\s+USES\s+([^)]*)\)", text, re.M):
        modules = re.findall(r"berth_(\w+)", uses)
        yield f"{DOMAIN}/{name}", ["controller/base", "controller/db"] + [
            f"{DOMAIN}/{module}" for module in modules if module != "db"]


def folder_of(path, folders):
    found = [folder for folder in folders if path.startswith(folder + "/")]
    return max(found, key=len, default=None)


def circles(allowed):
    """Yields a sentence if the folders at the top of the source use one another in a circle."""
    top = {}
    for folder, others in allowed.items():
        name = folder.split("/")[0]
        top.setdefault(name, set()).update({other.split("/")[0] for other in others} - {name})
    try:
        graphlib.TopologicalSorter(top).prepare()
    except graphlib.CycleError as circle:
        yield "these folders use one another in a circle: " + ", ".join(circle.args[1])


def main():
    allowed = dict(ALLOWED) | dict(domain_modules())
    wrong = list(circles(allowed))
    for top in ("berthd", "controller", "api", "manifests", "reconcilers", "cli"):
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix not in (".h", ".cpp"):
                continue
            path = str(file.relative_to(ROOT))
            home = folder_of(path, allowed)
            if home is None:
                wrong.append(f"{path}: stands in no folder that scripts/check_modules.py knows")
                continue
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = re.match(r'#include "([^"]+)"', line)
                if match is None:
                    continue
                included = match[1]
                target = folder_of(included, allowed)
                if included.endswith("_rows.h") and target != home:
                    wrong.append(f"{path}:{number}: {included} {WHY['*_rows.h']}")
                elif target != home and not any(included.startswith(folder + "/") for folder in allowed[home]):
                    wrong.append(f"{path}:{number}: {included} {WHY['upwards']}")
    for sentence in wrong:
        print(sentence)
    print(f"includes between folders: {len(wrong)} not allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
