#!/usr/bin/env python3
"""Shows that each check of checks.py finds what it is for in a log, or a state, that was forged."""
import copy
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import checks  # noqa: E402


def entry(key, kind, status="ok", **more):
    return {"key": key, "kind": kind, "status": status, "account": "ada", "app": "shop", "attempts": [200],
            "body": {"of": key}, **more}


LOG = [entry("a", "spend", amount=5), entry("b", "transfer", amount=3, to="bob", attempts=[503, 200]),
       entry("c", "spend", "refused", amount=1_000), entry("d", "spend", "unknown", amount=2),
       entry("e", "transfer", "unknown", amount=4, to="bob"), entry("f", "deployment"), entry("g", "deployment", "refused"),
       entry("h", "campaign", amount=1), entry("r", "read"),
       entry("i", "refresh", client=1, token="one", next="two"), entry("j", "refresh", client=1, token="two", next="three")]
HISTORIES = {"ada": [("a", -5), ("b", -3), ("e", -4)], "bob": [("b", 3), ("e", 4)]}
KINDS = ("spend", "transfer", "read", "deployment", "campaign", "refresh")


class Effects(unittest.TestCase):
    def found(self, change=lambda histories: None):
        histories = copy.deepcopy(HISTORIES)
        change(histories)
        return checks.effects_are_the_answers(LOG, histories)

    def test_sound(self):
        self.assertEqual(self.found(), [])

    def test_an_answered_spend_is_lost(self):
        self.assertIn("the spend a was answered, and took effect 0 times",
                      self.found(lambda histories: histories["ada"].remove(("a", -5))))

    def test_an_answered_spend_took_effect_twice(self):
        self.assertIn("the spend a was answered, and took effect 2 times",
                      self.found(lambda histories: histories["ada"].append(("a", -5))))

    def test_an_answered_transfer_is_lost_at_its_receiver(self):
        self.assertIn("the transfer b took effect on one side only",
                      self.found(lambda histories: histories["bob"].remove(("b", 3))))

    def test_a_spend_has_another_amount(self):
        def change(histories):
            histories["ada"][0] = ("a", -6)
        self.assertEqual(len(self.found(change)), 2)

    def test_a_refused_spend_took_effect(self):
        self.assertIn("the spend c was refused, and took effect",
                      self.found(lambda histories: histories["ada"].append(("c", -1_000))))

    def test_a_spend_in_doubt_took_effect_twice(self):
        self.assertIn("the spend d wasn't answered, and took effect 2 times",
                      self.found(lambda histories: histories["ada"].extend([("d", -2)] * 2)))

    def test_something_that_nobody_asked_for(self):
        self.assertIn("nobody asked for z of -1 at bob", self.found(lambda histories: histories["bob"].append(("z", -1))))

    def test_a_key_was_given_out_twice(self):
        self.assertIn("the key a was given out twice", checks.effects_are_the_answers(LOG + LOG[:1], HISTORIES))


class Others(unittest.TestCase):
    def test_balances(self):
        openings, balances = {"ada": 100, "bob": 10}, {"ada": 88, "bob": 17}
        self.assertEqual(checks.balances_are_the_sums(openings, HISTORIES, balances), [])
        for wrong in ({"ada": 93, "bob": 17}, {"ada": 88, "bob": 20}):
            self.assertEqual(len(checks.balances_are_the_sums(openings, HISTORIES, wrong)), 1)

    def test_names(self):
        self.assertEqual(checks.names_are_the_answers(LOG, "deployment", {"shop": ["f"]}), [])
        for wrong in ([], ["f", "f"], ["f", "g"], ["f", "z"]):
            self.assertEqual(len(checks.names_are_the_answers(LOG, "deployment", {"shop": wrong})), 1, wrong)
        self.assertEqual(checks.names_are_the_answers(LOG, "campaign", {"shop": ["h"]}), [])
        self.assertNotEqual(checks.names_are_the_answers(LOG, "campaign", {"other": ["h"]}), [])

    def test_apps(self):
        self.assertEqual(checks.apps_have_what_they_got(LOG, {"shop": 10}, {"shop": 14}), [])
        self.assertEqual(len(checks.apps_have_what_they_got(LOG, {"shop": 10}, {"shop": 15})), 1)

    def test_refresh_tokens(self):
        self.assertEqual(checks.refresh_tokens_work_once(LOG, lambda app, token: token == "three"), [])
        lost = checks.refresh_tokens_work_once(LOG, lambda app, token: False)
        self.assertEqual(lost, ["client 1 was answered a refresh token that doesn't work"])
        doubled = checks.refresh_tokens_work_once(LOG, lambda app, token: True)
        self.assertEqual(doubled, ["a refresh token of client 1 works a second time"])
        twice = LOG + [entry("k", "refresh", client=1, token="two", next="four")]
        self.assertIn("a refresh token of client 1 was exchanged twice",
                      checks.refresh_tokens_work_once(twice, lambda app, token: token == "four"))

    def test_answers(self):
        self.assertEqual(checks.answers_are_kept(LOG, {"a": (200, {"of": "a"}), "c": (422, {"of": "c"})}), [])
        self.assertEqual(len(checks.answers_are_kept(LOG, {"a": (200, {"of": "b"})})), 1)
        self.assertEqual(len(checks.answers_are_kept(LOG, {"c": (200, {"of": "c"})})), 1)

    def test_everything_was_tried(self):
        self.assertEqual(checks.everything_was_tried(LOG, KINDS), [])
        for left_out in ("read", "campaign"):
            log = [one for one in LOG if one["kind"] != left_out]
            self.assertEqual(checks.everything_was_tried(log, KINDS), [f"no {left_out} was ok"])
        self.assertIn("no operation was repeated",
                      checks.everything_was_tried([{**one, "attempts": [200]} for one in LOG], KINDS))
        self.assertIn("no spend was refused",
                      checks.everything_was_tried([one for one in LOG if one["key"] != "c"], KINDS))


if __name__ == "__main__":
    unittest.main()
