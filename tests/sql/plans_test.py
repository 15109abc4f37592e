#!/usr/bin/env python3
"""Tests of what plans.py says about statements."""
import sqlite3
import unittest

from plans import what_is_wrong


class Plans(unittest.TestCase):
    def setUp(self):
        self.database = sqlite3.connect(":memory:")
        self.database.executescript("""
            CREATE TABLE large (id INTEGER PRIMARY KEY, owner TEXT, at INTEGER);
            CREATE INDEX large_by_owner ON large (owner, at);
            CREATE TABLE small (name TEXT PRIMARY KEY);""")

    def wrong(self, sql):
        return what_is_wrong(self.database, sql, {"large", "small"}, {"small"})

    def test_scans_of_tables_that_grow(self):
        self.assertEqual(self.wrong("SELECT id FROM large WHERE at > $1"), "SCAN large")
        self.assertEqual(self.wrong("SELECT l.id FROM large l"), "SCAN l")
        self.assertEqual(self.wrong("SELECT l.id FROM small s, large AS l"), "SCAN l")
        self.assertEqual(self.wrong("SELECT id, owner FROM large WHERE at > $1"), "SCAN large")
        self.assertEqual(self.wrong("DELETE FROM large WHERE at = $1"), "SCAN large")
        self.assertIn("SCAN large", self.wrong("UPDATE large SET at = $1 WHERE at = $2"))
        self.assertIn("SCAN large", self.wrong("SELECT count(*) FROM (SELECT 1 AS one FROM large LIMIT $1) counted"))

    def test_columns_with_few_values(self):
        def wrong(sql):
            return what_is_wrong(self.database, sql, {"large", "small"}, {"small"}, {"large.owner"})

        self.assertIn("SEARCH large", wrong("SELECT sum(id) FROM large WHERE owner = $1"))
        self.assertIn("SEARCH l ", wrong("SELECT l.id FROM small s JOIN large l ON l.owner = s.name WHERE s.name = $1"))
        self.assertEqual(wrong("SELECT id FROM large WHERE owner = $1 AND at = $2"), "")
        self.assertEqual(wrong("SELECT id FROM large WHERE owner = $1 LIMIT 1"), "")
        self.assertEqual(wrong("SELECT max(at) FROM large WHERE owner = $1"), "")

    def test_references_to_deleted_rows(self):
        self.database.executescript("""
            CREATE TABLE parents (id INTEGER PRIMARY KEY);
            CREATE TABLE children (parent INTEGER REFERENCES parents (id), is_used INTEGER);
            CREATE INDEX children_used ON children (parent) WHERE is_used = 1;""")

        def wrong():
            return what_is_wrong(self.database, "DELETE FROM parents WHERE id = $1", {"parents", "children"}, set())

        self.assertEqual(wrong(), "looks for children.parent without an index")
        self.database.execute("CREATE INDEX children_by_parent ON children (parent) WHERE parent IS NOT NULL")
        self.assertEqual(wrong(), "")

    def test_sorting_of_what_no_index_has_in_order(self):
        self.assertIn("TEMP B-TREE", self.wrong("SELECT id FROM large WHERE owner = $1 ORDER BY id DESC"))
        self.assertEqual(self.wrong("SELECT id FROM large WHERE owner = $1 ORDER BY at DESC LIMIT $2"), "")

    def test_what_is_found_by_an_index_or_is_small(self):
        self.assertEqual(self.wrong("SELECT id FROM large WHERE owner = $1 AND at < $2"), "")
        self.assertEqual(self.wrong("SELECT name FROM small ORDER BY name"), "")
        # The subquery has a step of its own, by an index.
        self.assertEqual(
            self.wrong("SELECT count(*) FROM (SELECT 1 AS one FROM large WHERE owner = $1 LIMIT $2) counted"), "")


if __name__ == "__main__":
    unittest.main()
