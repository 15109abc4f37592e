"""Reads Markdown as far as the tests of the documents need it: headings, links, blocks of code."""
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# The reasons why a shell block isn't run, by the word behind `sh`.
NOT_RUN = {
    "build": "it compiles for minutes; the continuous integration runs these commands themselves",
    "cluster": "it needs a real Kubernetes cluster",
    "root": "it needs root, or installs something",
    "browser": "it needs a person with a browser",
    "elsewhere": "it needs a host, a mail server or a domain of the reader's own",
}
# Runs until something is printed, because the command follows a stream and doesn't end by itself.
ENDLESS = "endless"


def markdown_files():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                           check=True, capture_output=True, text=True).stdout.split()
    return [ROOT / name for name in sorted(names) if (ROOT / name).exists()]


class Block:
    def __init__(self, info, line):
        self.info = info.split()
        self.line = line
        self.code = ""

    @property
    def language(self):
        return self.info[0] if self.info else ""

    @property
    def is_shell(self):
        return self.language in ("sh", "bash", "shell", "console")

    @property
    def runs(self):
        return self.info in (["sh"], ["sh", ENDLESS])

    @property
    def endless(self):
        return ENDLESS in self.info


class Section:
    def __init__(self, title):
        self.title = title
        self.blocks = []


class Page:
    """`sections` are those of level 2; what stands above the first is one without a title."""

    def __init__(self, file):
        self.file = file
        self.sections = [Section("")]
        self.headings = []
        self.text = []  # pairs of a line number and the text of the line without code
        block = None
        for number, line in enumerate(file.read_text().splitlines(), 1):
            fence = re.match(r"\s*```\s*(.*)$", line)
            if fence and block is None:
                block = Block(fence[1], number)
                self.sections[-1].blocks.append(block)
            elif fence:
                block = None
            elif block is not None:
                block.code += line + "\n"
            else:
                self._read(number, line)

    def _read(self, number, line):
        heading = re.match(r"(#+) (.*)$", line)
        if heading:
            self.headings.append(heading[2])
            if len(heading[1]) == 2:
                self.sections.append(Section(heading[2]))
        self.text.append((number, re.sub(r"`[^`]*`", "`", line)))

    def anchors(self):
        """The names by which GitHub and GitLab link to headings."""
        found = set()
        for heading in self.headings:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
            name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count, anchor = 0, name
            while anchor in found:
                count += 1
                anchor = f"{name}-{count}"
            found.add(anchor)
        return found

    def links(self):
        for number, line in self.text:
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                yield number, target
