"""Finds the SQL statements in C++ sources, those that are composed of several constants included.

A statement is a string that begins with SELECT, INSERT, UPDATE, DELETE or WITH. It stands in the source as one literal,
or as a sum of literals and of constants that are defined so themselves. Whatever has SQL in it and is composed in
another way (by a call, a parameter, a condition) is reported, because nobody can tell what would be prepared.
"""
import collections
import re

BEGINS_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE(?! /)|WITH)\s")
TOKEN = re.compile(r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | R"(?P<fence>\w*)\((?P<raw>.*?)\)(?P=fence)"
  | "(?P<plain>(?:\\.|[^"\\])*)"
  | '(?:\\.|[^'\\])+'
  | (?P<number>\d[\w'.]*)
  | (?P<name>[A-Za-z_]\w*(?:::\w+)*)
  | (?P<sign>\S)""", re.VERBOSE | re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t"}
COPIES = ("std::string", "std::string_view")  # calls that leave the text as it is
RUNS = ("query", "query_later", "execute", "execute_later", "require_change", "lock", "number")  # the functions of db::Tx that take a statement

Token = collections.namedtuple("Token", "kind text line")
# What one expression is made of. `parts`: tokens; `opaque`: something stands between them that can't be evaluated.
Sum = collections.namedtuple("Sum", "parts opaque begin end")
Statement = collections.namedtuple("Statement", "file line text is_raw")
Problem = collections.namedtuple("Problem", "file line text")


def tokens_of(source):
    tokens, line, counted = [], 1, 0
    for match in TOKEN.finditer(source):
        line += source.count("\n", counted, match.start())
        counted = match.start()
        kind = match.lastgroup
        if kind == "comment":
            continue
        if match["raw"] is not None:
            tokens.append(Token("raw", match["raw"], line))
        elif match["plain"] is not None:
            text = re.sub(r"\\(.)", lambda escaped: ESCAPES.get(escaped[1], escaped[1]), match["plain"])
            tokens.append(Token("plain", text, line))
        else:
            tokens.append(Token(kind or "char", match[0], line))
    return tokens + [Token("end", "", line)] * 3


class File:
    """The constants and the expressions of one source file."""

    def __init__(self, name, source):
        self.name, self.tokens = name, tokens_of(source)
        self.uses_database = "db::" in source  # where a raw literal has SQL in it
        self.sums, self.definitions = [], collections.defaultdict(list)
        at = 0
        while self.tokens[at].kind != "end":
            found = self.sum_at(at)
            if found:
                self.sums.append(found)
                name = self.defined_by(found)
                if name:
                    self.definitions[name].append(found)
            at = found.end if found else at + 1

    def sign(self, at, text):
        return self.tokens[at].kind == "sign" and self.tokens[at].text == text

    def operand_at(self, at):
        """Returns the operand's parts, whether something in it can't be evaluated, and the index after it; None if no
        operand begins here."""
        token = self.tokens[at]
        if token.kind in ("raw", "plain"):
            return [token], False, at + 1
        if token.kind != "name":
            return None
        if token.text in COPIES and self.sign(at + 1, "("):
            inner = self.sum_at(at + 2)
            return (inner.parts, inner.opaque, inner.end + 1) if inner and self.sign(inner.end, ")") else None
        if any(self.sign(at + 1, text) for text in "([.") or (self.sign(at + 1, "-") and self.sign(at + 2, ">")):
            return [token], True, at + 1
        return [token], False, at + 1

    def sum_at(self, at):
        begin, first = at, self.operand_at(at)
        if not first:
            return None
        parts, opaque, at = first
        parts, opaque = list(parts), opaque or (begin > 0 and self.sign(begin - 1, "+"))
        while True:
            if self.tokens[at].kind in ("raw", "plain") and self.tokens[at - 1].kind in ("raw", "plain"):
                following = self.operand_at(at)
            elif self.sign(at, "+") and not self.sign(at + 1, "+") and not self.sign(at + 1, "="):
                following = self.operand_at(at + 1)
                if not following:
                    return Sum(parts, True, begin, at + 1)
            else:
                opaque = opaque or (self.sign(at, "+") and self.sign(at + 1, "="))
                return Sum(parts, opaque, begin, at)
            parts, opaque, at = parts + following[0], opaque or following[1], following[2]

    def defined_by(self, found):
        """Returns the name of the constant that the expression defines; None if it defines none."""
        before = found.begin - 1
        is_whole = self.sign(found.end, ";") or (self.sign(found.end, "}") and self.sign(found.end + 1, ";"))
        if not is_whole or before < 1 or not (self.sign(before, "=") or self.sign(before, "{")):
            return None
        return self.tokens[before - 1].text if self.tokens[before - 1].kind == "name" else None

    def is_run(self, found):
        """Returns whether the expression is the first argument of one of these functions."""
        return self.sign(found.begin - 1, "(") and self.tokens[found.begin - 2].text in RUNS


class Sources:
    def __init__(self, files):
        """`files` contains pairs of a file's name and its text."""
        self.files = [File(name, source) for name, source in files]
        self.everywhere = collections.defaultdict(list)
        for file in self.files:
            for name, found in file.definitions.items():
                self.everywhere[name] += [(file, one) for one in found]
        self.operands = {id(constant) for file in self.files for found in file.sums if len(found.parts) > 1
                         for constant in self.constants_in(file, found)}

    def constant(self, file, found, name):
        """Returns the last definition before the expression in its own file, or otherwise the only one in other
        files."""
        own = [one for one in file.definitions.get(name, []) if one.begin < found.begin]
        if own:
            return file, own[-1]
        name = name.rsplit("::")[-1]
        elsewhere = [one for one in self.everywhere.get(name, []) if one[0] is not file]
        # Two files can each have a local variable that is set from another one of the same name.
        if len(elsewhere) != 1 or any(part.text == name for part in elsewhere[0][1].parts):
            return None
        return elsewhere[0]

    def constants_in(self, file, found):
        named = [self.constant(file, found, part.text) for part in found.parts if part.kind == "name"]
        return [one[1] for one in named if one]

    def text_of(self, file, found):
        """Returns the text, and whether all of it is known."""
        text, known = "", not found.opaque
        for part in found.parts:
            if part.kind != "name":
                text += part.text
                continue
            constant = self.constant(file, found, part.text)
            piece, is_known = self.text_of(*constant) if constant else ("", False)
            text, known = text + piece, known and is_known
        return text, known

    def literals_in(self, file, found):
        """Returns the expression's own literals and those of the constants in it."""
        for part in found.parts:
            if part.kind != "name":
                yield part
            elif constant := self.constant(file, found, part.text):
                yield from self.literals_in(*constant)

    def statements(self):
        """Returns all statements, and the problems because of which others can't be found."""
        for file in self.files:
            for found in file.sums:
                yield from self.look_at(file, found)

    def look_at(self, file, found):
        literals = list(self.literals_in(file, found))
        if len(found.parts) == 1 and found.parts[0].kind == "name":
            # Elsewhere its definition is looked at, unless that is taken for a part of others.
            is_part = any(id(one) in self.operands for one in self.constants_in(file, found))
            if not is_part or not file.is_run(found):
                return
        if not any(BEGINS_STATEMENT.match(part.text) or (part.kind == "raw" and file.uses_database)
                   for part in literals):
            return
        line = file.tokens[found.begin].line
        text, known = self.text_of(file, found)
        if not known:
            yield Problem(file.name, line, "is composed of more than literals and constants of the sources")
        elif not BEGINS_STATEMENT.match(text):
            if id(found) not in self.operands:
                yield Problem(file.name, line, "is no statement and part of none that can be found")
        elif id(found) not in self.operands:
            yield Statement(file.name, line, text, all(part.kind == "raw" for part in literals))
