#!/usr/bin/env python3
"""Checks the words of comments, messages and documents: CONTRIBUTING.md, "The style in one page".

  check_prose.py [FILE…]      default: all files that git tracks

Run by `make lint`. Prints a sentence for each word that isn't allowed, and ends with 1 if there is one.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What isn't allowed, and what to write instead.
BANNED = [
    (r"he|him|his|himself|she|her|hers|herself", 'a user is "they", or has the name of their role'),
    (r"of (?:now|then)", 'say "current", or which moment is meant'),
    (r"at most so (?:many|much|long)|for so long|so long before|the last so many",
     "name the limit, or the constant that holds it"),
    (r"(?:become|becomes|became) well", "say which state is reached"),
    (r"mend|mends|mended|mending", 'say "fix"'),
    (r"robots(?=\s|[,;:]\s|\.\s|\.?$)", 'say "crawlers"'),
    (r"berthds(?!-)|(?:so many|many|several|two|three|more|further|all|both|other) berthd(?! process|\s*$)",
     'a program has processes: "several berthd processes"'),
]
# This file and its test quote the words. The others are nobody's prose.
SKIPPED = re.compile(r"scripts/check_prose\.py|tests/scripts/check_prose_test\.py|LICENSE|.*/package-lock\.json"
                     r"|tests/fuzz/corpus/.*")


def tracked():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True, text=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file() and not SKIPPED.fullmatch(path)]


def findings(text):
    """Yields (number of the line, the words, advice) for each place of `text` that isn't allowed."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, advice in BANNED:
            # A part of an identifier isn't a word.
            for match in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", line, re.IGNORECASE):
                yield number, match[0], advice


def main(files):
    found = 0
    for path in files or tracked():
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not a text
        for number, words, advice in findings(text):
            found += 1
            print(f'{path}:{number}: "{words}": {advice}')
    print(f"prose: {found} places to change")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
