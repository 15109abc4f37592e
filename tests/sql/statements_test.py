#!/usr/bin/env python3
"""What statements.py finds in C++."""
import unittest

from statements import Problem, Sources, Statement


def found(*sources):
    return list(Sources([(f"{i}.cpp", source) for i, source in enumerate(sources)]).statements())


def texts(*sources):
    return [one.text for one in found(*sources) if isinstance(one, Statement)]


class Finding(unittest.TestCase):
    def test_a_raw_literal_wherever_it_stands(self):
        self.assertEqual(texts('tx.execute(R"(DELETE FROM a)", id); for (auto s : {R"(SELECT 1)", R"(SELECT 2)"})'),
                         ["DELETE FROM a", "SELECT 1", "SELECT 2"])

    def test_sums_of_constants_as_often_as_they_are_used(self):
        self.assertEqual(texts('const std::string all = R"(SELECT a FROM t )";'
                               'void f() { static const std::string sql = all + R"(WHERE a = $1)"; tx.query(sql); }'
                               'void g() { static const std::string sql = all + R"(LIMIT 1)"; tx.query(sql, 1); }'),
                         ["SELECT a FROM t WHERE a = $1", "SELECT a FROM t LIMIT 1"])

    def test_constants_of_other_files(self):
        self.assertEqual(texts('const std::string columns = R"(a, b)";',
                               'static const std::string sql = R"(SELECT )" + rows::columns + R"( FROM t)";'),
                         ["SELECT a, b FROM t"])

    def test_a_constant_that_is_run_and_continued(self):
        self.assertEqual(texts('const std::string all = R"(SELECT a FROM t)";'
                               'tx.query(all); const std::string one = all + R"( LIMIT 1)"; tx.query(one);'),
                         ["SELECT a FROM t", "SELECT a FROM t LIMIT 1"])

    def test_which_literals_are_raw(self):
        plain, raw = found('tx.query("SELECT 1 " "FROM t"); tx.query(R"(SELECT 1)");')
        self.assertEqual((plain.text, plain.is_raw, raw.is_raw), ("SELECT 1 FROM t", False, True))

    def test_what_is_no_sql(self):
        self.assertEqual(found('f("a" + b); // "SELECT 1"\n throw Error("can\'t UPDATE it"); return 10\'000;'), [])


class Refusing(unittest.TestCase):
    def refuses(self, source):
        problems = [one for one in found(source) if isinstance(one, Problem)]
        self.assertTrue(problems, source)

    def test_texts_that_only_a_run_can_tell(self):
        for source in ('tx.query(R"(SELECT )" + what + R"( FROM t)");',
                       'tx.query(R"(SELECT * FROM t WHERE a IN )" + list(ids));',
                       'tx.query(R"(SELECT 1 )" + (all ? x : y));',
                       'const std::string t = R"(SELECT 1 )"; auto f(std::string w) { return tx.query(t + w); }',
                       'void f(db::Tx&) { sql += R"(LIMIT 1)"; }'):
            self.refuses(source)

    def test_fragments_that_nothing_uses(self):
        self.refuses('void f(db::Tx&) { find(tx, R"(WHERE a = $1)"); }')
        self.refuses('const std::string where = R"(WHERE a = $1)"; void f(db::Tx&);')


if __name__ == "__main__":
    unittest.main()
