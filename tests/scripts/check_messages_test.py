#!/usr/bin/env python3
"""Tests of scripts/check_messages.py, on small folders with one fault each."""
import pathlib
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_messages.py"
PAGE = 'std::string page() { return say(in, "Hello " "{name}"); }\n'
TEMPLATE = "<p>[[Log in to <b>{{app}}</b>]]</p>\n"
RULE = 'void check() { throw invalid_field("username", "must have " + std::to_string(most) + " letters"); }\n'
CATALOGUE = """
texts:
  - {en: 'Hello {name}', de: 'Hallo {name}'}
  - {en: 'Log in to <b>{{app}}</b>', de: 'Bei <b>{{app}}</b> anmelden'}
reasons:
  - {en: 'must have {most} letters', de: 'Das muss {most} Buchstaben haben'}
fields: {username: Benutzername}
"""


def found(page=PAGE, template=TEMPLATE, rule=RULE, catalogue=CATALOGUE):
    """Returns what the check prints about these sources."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (("api/pages/a.cpp", page), ("api/pages/html/a.mustache", template),
                           ("controller/domain/accounts/accounts.cpp", rule),
                           ("controller/domain/kernel/messages/de.yaml", catalogue)):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        done = subprocess.run([str(CHECK), folder], capture_output=True, text=True, check=False)
        assert (done.returncode == 0) == (done.stdout.strip() == ""), done.stderr
        return done.stdout.strip()


class CheckMessages(unittest.TestCase):
    def test_complete_texts_pass(self):
        self.assertEqual(found(), "")

    def test_a_missing_text_of_a_call_a_template_or_an_error_is_found(self):
        self.assertIn("not in", found(page=PAGE.replace("Hello", "Goodbye")))
        self.assertIn("not in", found(template=TEMPLATE + "[[Log out]]"))
        self.assertIn("must have {} digits", found(rule=RULE.replace("letters", "digits")))
        self.assertIn("the field isn't in", found(rule=RULE.replace("username", "email")))

    def test_an_unused_text_is_found(self):
        self.assertIn("nobody uses: Hello {name}", found(page=""))
        self.assertIn("nobody uses: must have {most} letters", found(rule=""))

    def test_other_values_and_markup_are_found(self):
        self.assertIn("other values or markup", found(catalogue=CATALOGUE.replace("Hallo {name}", "Hallo {nam}")))
        self.assertIn("other values or markup", found(catalogue=CATALOGUE.replace("Bei <b>{{app}}</b>", "Bei {{app}}")))
        self.assertIn("no text for", found(catalogue=CATALOGUE.replace("'Hallo {name}'", "''")))

    def test_a_text_that_is_no_literal_is_found(self):
        self.assertIn("needs a literal", found(page=PAGE + "auto x = say(in, text);\n"))


if __name__ == "__main__":
    unittest.main()
