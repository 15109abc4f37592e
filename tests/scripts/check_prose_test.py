#!/usr/bin/env python3
"""scripts/check_prose.py finds the sentences that it is there for, and leaves good ones alone."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_prose.py"


def check(text):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "page.md"
        file.write_text(text, encoding="utf-8")
        return subprocess.run([SCRIPT, file], capture_output=True, text=True)


class CheckProse(unittest.TestCase):
    def test_bad_sentences_are_found_with_their_line(self):
        for sentence, words in [
            ("Ends the user's sessions; after that he logs in again.", "he"),
            ("// Whoever registered: His mail is sent", "His"),
            ("an operator sees only HER apps", "HER"),
            ("charged at the tier's price of now", "of now"),
            ("the oldest of each subject, at most so many", "at most so many"),
            ("ends with the reason where it doesn't become well", "become well"),
            ("Mending an index takes minutes.", "Mending"),
            ("pages that robots mustn't follow", "robots"),
            ("Of two berthd, one sends each mail.", "two berthd"),
            ("All berthds share a table.", "berthds"),
        ]:
            result = check(f"A good line.\n{sentence}\n")
            self.assertEqual(result.returncode, 1, sentence)
            self.assertIn(f'page.md:2: "{words}": ', result.stdout)

    def test_good_sentences_and_parts_of_words_are_left_alone(self):
        result = check("Users see their own apps. The cache is there, and this_his_name with `hex` is a name.\n"
                       "Two berthd processes recommend what robots.txt says to crawlers, and robots() returns it.\n")
        self.assertEqual((result.returncode, result.stdout), (0, "prose: 0 places to change\n"))

    def test_several_words_of_a_line_are_all_found(self):
        self.assertIn("prose: 3 places to change", check("He gave him his.").stdout)


if __name__ == "__main__":
    unittest.main()
