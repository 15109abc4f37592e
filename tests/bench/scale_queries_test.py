#!/usr/bin/env python3
"""Tests of what scale_queries.py says about plans, and that the statements which it measures are in the sources."""
import sys
import types
import unittest

sys.dont_write_bytecode = True
from scale_queries import found_in_sources, most_used, scanned, short  # noqa: E402


def node(kind, *below, **more):
    return {"Node Type": kind, "Plans": list(below)} | {name.replace("_", " "): value for name, value in more.items()}


def index_scan(**more):
    return node("Index Scan", Relation_Name="large", Index_Name="large_pkey", **more)


class Plans(unittest.TestCase):
    def scanned(self, plan):
        return list(scanned(plan, {"large"}))

    def test_reading_a_whole_table(self):
        self.assertEqual(self.scanned(node("Limit", node("Seq Scan", Relation_Name="large"))), ["large"])
        self.assertEqual(self.scanned(node("Nested Loop", node("Seq Scan", Relation_Name="small"),
                                           node("Seq Scan", Relation_Name="large"))), ["large"])
        self.assertEqual(self.scanned(node("Seq Scan", Relation_Name="small")), [])

    def test_reading_a_whole_index(self):
        self.assertEqual(self.scanned(index_scan(Index_Cond="(id = $1)")), [])
        self.assertEqual(self.scanned(index_scan()), ["large"])
        self.assertEqual(self.scanned(node("Limit", index_scan())), [])
        self.assertEqual(self.scanned(node("Limit", node("Sort", index_scan()))), ["large"])
        bitmap = node("Bitmap Heap Scan", node("Bitmap Index Scan", Index_Name="large_pkey"), Relation_Name="large")
        self.assertEqual(self.scanned(node("Limit", bitmap)), ["large"])

    def test_short_form(self):
        plan = node("Limit", node("Nested Loop", index_scan(), index_scan(), node("Seq Scan", Relation_Name="small")))
        self.assertEqual(short(plan), "Nested Loop; Index Scan large_pkey; Seq Scan small")
        self.assertEqual(short(node("ModifyTable", node("Result"), Operation="Insert", Relation_Name="large")),
                         "Insert large")


class Statements(unittest.TestCase):
    def setUp(self):
        subjects = types.SimpleNamespace(app="", user="", campaigns=[])
        self.statements = most_used(types.SimpleNamespace(end=0, subjects=subjects, account=int))

    def test_statements_are_in_the_sources(self):
        self.assertEqual(len(found_in_sources(self.statements)), len(self.statements))

    def test_missing_statements_are_reported(self):
        self.statements[0].part = "no such text"
        with self.assertRaises(SystemExit):
            found_in_sources(self.statements[:1])


if __name__ == "__main__":
    unittest.main()
