#!/usr/bin/env python3
"""Checks the Markdown files: the target of every relative link and anchor exists, every shell block is either run by a
test or says why it isn't, every document can be reached from README.md, every Python block compiles, and the test cases
that docs/security.md names exist."""
import re
import sys

from pages import ENDLESS, NOT_RUN, ROOT, Page, markdown_files


def has_part(file, name):
    """Returns whether the file marks a part of that name, which the served documentation shows
    (console/documentation/samples.mjs)."""
    lines = [line.strip().lstrip("/# ") for line in file.read_text().splitlines()]
    return lines.count(f"[{name}]") == 1 and lines.count(f"[/{name}]") == 1


def link_problems(page, pages):
    for line, target in page.links():
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.file.parent / path).resolve() if path else page.file
        if not file.exists():
            yield line, f"{target} leads nowhere"
        elif anchor and file in pages and anchor not in pages[file].anchors():
            yield line, f"{target}: {file.name} has no such heading"
        elif anchor and file not in pages and not has_part(file, anchor):
            yield line, f"{target}: {file.name} has no lines [{anchor}] and [/{anchor}]"


def is_pasted(file):
    """Returns whether a test runs the page's commands (tests/CMakeLists.txt)."""
    return file == ROOT / "README.md" or ROOT / "docs" in file.parents


def block_problems(page):
    allowed = [[word] for word in NOT_RUN] + ([[], [ENDLESS]] if is_pasted(page.file) else [])
    for block in (block for section in page.sections for block in section.blocks):
        if not block.language:
            yield block.line, "a block of code without a language"
        elif block.is_shell and (block.language != "sh" or block.info[1:] not in allowed):
            yield block.line, ("a shell block is `sh`, or `sh` and one of " + ", ".join((ENDLESS, *NOT_RUN)) +
                               "; no test pastes those outside of README.md and docs/")
        elif block.language == "python":
            try:
                compile(block.code, str(page.file), "exec")
            except SyntaxError as error:
                yield block.line, f"this Python doesn't compile: {error}"


def test_problems(page):
    """Returns an error message for each test case that docs/security.md names but that doesn't exist."""
    sources = "".join(file.read_text() for file in sorted((ROOT / "tests").rglob("*.cpp")))
    names = re.sub(r'"\s*\n\s*"', "", sources)  # a name may continue in the next line
    for line, text in page.text:
        for name in re.findall(r'"([^"]+)"', text) if text.startswith("|") else []:
            if f'TEST_CASE("{name}"' not in re.sub(r'TEST_CASE\(\s+', "TEST_CASE(", names):
                yield line, f"no test case is called \"{name}\""


def unreachable(pages):
    """Returns the pages of docs/ that can't be reached by links from README.md."""
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        file = waiting.pop()
        if file in reached or file not in pages:
            continue
        reached.add(file)
        waiting += [(file.parent / target.partition("#")[0]).resolve() for _, target in pages[file].links()]
    return [file for file in pages if ROOT / "docs" in file.parents and file not in reached]


def main():
    pages = {file: Page(file) for file in markdown_files()}
    if ROOT / "README.md" not in pages or len(pages) < 10:
        sys.exit("the documents aren't where they were")
    problems = [(page.file, *problem) for page in pages.values()
                for problem in (*link_problems(page, pages), *block_problems(page))]
    security = ROOT / "docs" / "security.md"
    problems += [(security, *problem) for problem in test_problems(pages[security])]
    problems += [(file, 1, "no chain of links leads here from README.md") for file in unreachable(pages)]
    for file, line, problem in problems:
        print(f"{file.relative_to(ROOT)}:{line}: {problem}")
    sys.exit(1 if problems else 0)


main()
