#!/usr/bin/env python3
"""Writes a source that includes several files of tests, so that the compiler reads their headers once:
  tests/together.py OUTPUT FILE…      the files are named from the folder of the project
Each file of tests gets a namespace of its own there, so that its local names and its `using namespace` stay its own. The
headers are included before, outside of these namespaces, and are not read again because of their `#pragma once`. A file
that defines something in a namespace with a name can't have one around it, and comes last.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMED = re.compile(r"^(namespace [\w:]+ \{|template <>|extern )", re.MULTILINE)


def main():
    output, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    includes, apart, last = {}, [], []
    for name in names:
        text = (ROOT / name).read_text()
        if NAMED.search(text):
            last.append(f'#include "{name}"\n')
            continue
        includes.update(dict.fromkeys(re.findall(r"^#include .*$", text, re.MULTILINE)))
        space = re.sub(r"\W", "_", name.removesuffix(".cpp"))
        apart.append(f'namespace {space} {{\n#include "{name}"\n}}\n')
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("".join(include + "\n" for include in includes) + "".join(apart + last))


main()
