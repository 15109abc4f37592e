#!/usr/bin/env python3
"""What decides whether the tests run on the second engine in full (tests/postgres/changed.py)."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/postgres"))
sys.dont_write_bytecode = True
import changed  # noqa: E402
from changed import reason  # noqa: E402

QUERY = 'db::Tx& tx; tx.query(R"(SELECT id FROM users)");'


def why(changed=(), then=QUERY, now=QUERY, text=""):
    return reason(changed, [("a.cpp", then)], [("b.cpp", now)], lambda _: text)


class SecondEngine(unittest.TestCase):
    def test_what_it_depends_on(self):
        for name in ("controller/db/postgres/connection.cpp", "controller/db/sqlite/migrations/0002_notes.sql",
                     "controller/db/database.h", "tests/postgres/run", "tests/store.cpp"):
            self.assertIn(name, why([name]))
        self.assertIn("cases for it alone", why(["tests/process/replicas_test.cpp"], text='TEST_CASE("x", "[.postgres]")'))

    def test_sql_that_changes(self):
        for now in (QUERY.replace("id", "email"), QUERY + QUERY, ""):
            self.assertIn("SQL has changed", why(now=now))

    def test_what_it_does_not_depend_on(self):
        self.assertIsNone(why())
        self.assertIsNone(why(["README.md", "api/resources/points.cpp", "tests/domain/points/points_test.cpp"]))
        self.assertIsNone(why(now="// A comment.\nint unrelated = 1;\n" + QUERY))

    def test_what_has_passed_does_not_run_again(self):
        with tempfile.TemporaryDirectory() as folder:
            changed.PASSED = pathlib.Path(folder, "cache/second-engine")
            for _ in range(2):
                changed.note_passed()
            if not changed.PASSED.exists():
                self.skipTest("no PostgreSQL is installed")
            self.assertEqual(changed.passed(), [changed.fingerprint()])
            self.assertIsNone(changed.decide())
            changed.PASSED.write_text("0" * 64)
            self.assertNotIn(changed.fingerprint(), changed.passed())


if __name__ == "__main__":
    unittest.main()
