#!/usr/bin/env python3
"""Compares the texts of pages and mails with those of each language: check_messages.py [FOLDER].

The English texts are in the sources: in [[…]] of the pages' templates, in calls of say(), and in the errors that the
pages show. controller/domain/kernel/messages/LANGUAGE.yaml has the same texts in another language. Prints what a
language lacks, what nobody uses any more, and what differs in its values or its markup. Ends with 1 if there is any.
"""
import collections
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
CATALOGUES = "controller/domain/kernel/messages"
# Where say() is called.
CALLERS = ("api/console", "api/pages", "api/resources", "controller/domain")
PASS_ON = ("messages.cpp", "templates.cpp")  # which get texts from others
# Where the errors come from that a form of a page can end in.
REFUSERS = (
    "api/gate/login_throttle.cpp",
    "api/gate/write_guard.cpp",
    "api/pages",
    "api/resources/accounts/sign_in.cpp",
    "api/resources/email_changes.cpp",
    "controller/base/crypto.cpp",
    "controller/base/mail_address.cpp",
    "controller/base/visible_text.cpp",
    "controller/db/postgres/database.cpp",
    "controller/domain/accounts/account_mail.cpp",
    "controller/domain/accounts/accounts.cpp",
    "controller/domain/accounts/admin_roles.cpp",
    "controller/domain/accounts/email_changes.cpp",
    "controller/domain/accounts/given_up_names.cpp",
    "controller/domain/accounts/passkeys.cpp",
    "controller/domain/accounts/sessions.cpp",
    "controller/domain/accounts/two_factor.cpp",
    "controller/domain/accounts/webauthn.h",
    "controller/domain/apps/app_scopes.cpp",
    "controller/domain/kernel/disk_room.cpp",
    "controller/domain/kernel/write_budgets.cpp",
    "controller/domain/lifecycle/app_deletion.cpp",
    "controller/domain/lifecycle/passwords.cpp",
    "controller/domain/oauth/connections.cpp",
    "controller/domain/oauth/devices.cpp",
)

STRING = r'"(?:[^"\\]|\\.)*"'
LITERAL = rf"({STRING}(?:\s*{STRING})*)"
# A value that is added to a literal: a name or a call.
VALUE = r"[\w.:*>-]+(?:\((?:[^()]|\([^()]*\))*\))?"
REFUSALS = (
    re.compile(rf"\bError(?: \w+)?\(\s*Code::\w+,\s*{LITERAL}"),
    re.compile(rf"\b(?:invalid_field|take_up)\(\s*(?:{STRING}|field),\s*{LITERAL}"),
    re.compile(rf"\brefused_token\(\s*{LITERAL}"),
    re.compile(rf"\b(?:too_many|refusal)\(\s*{LITERAL}"),
    re.compile(rf"\bstd::unexpected\(\s*{LITERAL}"),
    re.compile(rf"\bstd::string_view not_an_address = {LITERAL}"),
    re.compile(rf"\bconstexpr (?:webauthn::)?Wrong \w+ = {LITERAL}"),
    re.compile(rf"\btaken\[{STRING}\] = {{{LITERAL}"),
)
# What these files return are reasons, or the value in one.
RETURNS = ("controller/base/visible_text.cpp", "controller/domain/lifecycle/passwords.cpp")
RETURNED = re.compile(rf"\breturn (?:[^;\"]*\? kind : kind \+ )?{LITERAL};")
FIELDS = re.compile(rf"(?:\binvalid_field\(|\bcheck_free\(tx, |\btaken\[)\s*({STRING})")


def value_of(literal):
    """Returns the text of C++ literals that stand side by side."""
    parts = re.findall(STRING, literal)
    return "".join(part[1:-1].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\") for part in parts)


def sources(places, *endings):
    for place in places:
        path = ROOT / place
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            if file.suffix in endings:
                yield file.relative_to(ROOT), file.read_text(encoding="utf-8")


def said():
    """Yields the texts of templates and of say(), and each call of say() that has no literal."""
    for file, text in sources(["api/pages/html"], ".mustache"):
        for found in re.findall(r"\[\[(.*?)\]\]", text, re.S):
            yield file, found
    for file, text in sources(CALLERS, ".cpp"):
        for call in re.finditer(r"\bsay\(\s*", text):
            rest = text[call.end():]
            if re.match(r"Language\b|std::string_view", rest) or file.name in PASS_ON:
                continue
            literal = re.match(rf"(?:[\w.>()-]+,\s*)?{LITERAL}", rest)
            yield file, value_of(literal[1]) if literal else None


def refusals():
    """Yields the reasons of errors and the fields that they are about. {} stands for a value in a reason."""
    for file, text in sources(REFUSERS, ".cpp", ".h"):
        for pattern in REFUSALS:
            for found in pattern.finditer(text):
                reason = value_of(found[1])
                rest = text[found.end():]
                while more := re.match(rf"\s*\+\s*(?:{LITERAL}|{VALUE})", rest):
                    reason += value_of(more[1]) if more[1] else "{}"
                    rest = rest[more.end():]
                yield "reasons", file, reason
        if str(file) in RETURNS:
            for found in RETURNED.finditer(text):
                yield "reasons", file, ("{}" if "kind +" in found[0] else "") + value_of(found[1])
        for found in FIELDS.finditer(text):
            yield "fields", file, value_of(found[1])


def marks(text):
    """Returns the values and the markup in a text, which a translation has to have as well."""
    return collections.Counter(re.findall(r"\{\{.*?\}\}|\{\w*\}|</?\w+|\b(?:href|class)=\"[^\"]*\"", text))


def unnamed(text):
    return re.sub(r"\{\w*\}", "{}", text)


def problems():
    texts, reasons, fields = {}, {}, {}
    for file, text in said():
        if text is None:
            yield f"{file}: say() needs a literal"
        else:
            texts.setdefault(text, file)
    for kind, file, text in refusals():
        (reasons if kind == "reasons" else fields).setdefault(text, file)
    catalogues = sorted((ROOT / CATALOGUES).glob("*.yaml"))
    if not catalogues:
        yield f"{CATALOGUES} has no catalogue"
    for path in catalogues:
        language, name = path.stem, path.relative_to(ROOT)
        catalogue = yaml.safe_load(path.read_text(encoding="utf-8"))
        for section, used in (("texts", texts), ("reasons", reasons)):
            entries = catalogue[section]
            there = collections.Counter(entry["en"] for entry in entries)
            yield from (f"{name}: twice: {text}" for text, times in there.items() if times > 1)
            key = unnamed if section == "reasons" else str
            has = {key(text) for text in there}
            yield from (f"{file}: not in {name}: {text}" for text, file in used.items() if key(text) not in has)
            wanted = {key(text) for text in used}
            yield from (f"{name}: nobody uses: {text}" for text in there if key(text) not in wanted)
            for entry in entries:
                text = entry.get(language)
                if not text:
                    yield f"{name}: no text for: {entry['en']}"
                elif marks(text) != marks(entry["en"]):
                    yield f"{name}: other values or markup: {text}"
        yield from (f"{file}: the field isn't in {name}: {field}" for field, file in fields.items()
                    if field not in catalogue["fields"])
        yield from (f"{name}: nobody uses the field {field}" for field in catalogue["fields"]
                    if field not in fields)


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found))
    sys.exit(1 if found else 0)
