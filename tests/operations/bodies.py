"""Expensive bodies and heads: made from a schema and from a body that is right."""

import copy
import functools
import itertools
import json
import urllib.parse

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
ROOM = 4096  # bytes of a body for what surrounds a field
MANY_VALUES = 9_000  # values in a body in addition to those of the valid one
HEAD_BYTES = 60_000
QUERY_BYTES = 7_000
GAP = "@gap@"  # marks the place of the expensive value

# Characters that make different code slow: escapes, look-alikes, characters of several bytes, and what patterns and
# grammars repeat.
LETTERS = {
    "letters": "a",
    "digits": "7",
    "dots": "a.",
    "hyphens": "a-",
    "slashes": "a/",
    "colons": ":",
    "blanks": " ",
    "escapes": "\\n",
    "unicode escapes": "\\u00e9",
    "emoji": "😀",
    "accents": "e\u0301",
    "look-alikes": "1lI|",
    "right to left": "\u05d0",
}

PARSED = ("letters", "escapes", "unicode escapes", "emoji")  # the ones that matter to a parser


def inlined(schema, document):
    """The schema with each $ref replaced by what it names."""
    if isinstance(schema, list):
        return [inlined(item, document) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    if "$ref" in schema:
        target = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        result = dict(inlined(target, document))
    result.update({key: inlined(value, document) for key, value in schema.items() if key != "$ref"})
    return result


def types_of(schema):
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def fields_of(schema, path=()):
    """Each field, at any depth, with the names that lead to it; items have the number 0."""
    for name, field in schema.get("properties", {}).items():
        yield (*path, name), field
        yield from fields_of(field, (*path, name))
        if "items" in field:
            yield (*path, name, 0), field["items"]
            yield from fields_of(field["items"], (*path, name, 0))


def with_value(valid, path, text):
    """The valid body as JSON, with `text` at the path."""
    body = copy.deepcopy(valid)
    at = body
    for step, following in zip(path, path[1:]):
        empty = [] if following == 0 else {}
        if step == 0:
            if not isinstance(at, list) or not at:
                return None
            at[0] = at[0] if isinstance(at[0], type(empty)) else empty
            at = at[0]
        else:
            if not isinstance(at.get(step), type(empty)):
                at[step] = empty
            at = at[step]
        if following == 0 and not at:
            at.append(None)
    at[path[-1]] = GAP
    return json.dumps(body, ensure_ascii=False).replace(f'"{GAP}"', text)


def filled(unit, size):
    return unit * max(1, size // len(unit.encode()))


@functools.cache
def numbered(form, size, most=None):
    """`form` with 0, 1, 2, … in it, with commas, up to `size` bytes or `most` of them."""
    parts, length, number = [], 0, 0
    while length < size and (most is None or number < most):
        part = form % number
        parts.append(part)
        length += len(part) + 1
        number += 1
    return ",".join(parts)


def lists(size):
    yield "numbers", "[" + filled("1,", size) + "1]"
    yield "empty lists", "[" + filled("[],", size) + "[]]"
    yield "empty objects", "[" + filled("{},", size) + "{}]"
    yield "short texts", "[" + filled('"a",', size) + '"a"]'
    yield "numbers, not too many", "[" + "1," * MANY_VALUES + "1]"
    yield "objects, not too many", "[" + '{"a":1},' * (MANY_VALUES // 2) + "1]"
    yield "texts, not too many", "[" + numbered('"%d"', size, MANY_VALUES) + "]"


def maps(size):
    yield "many names", "{" + numbered('"a%d":1', size) + "}"
    yield "names, not too many", "{" + numbered('"A%d":"b"', size, MANY_VALUES) + "}"
    long = "b" * (size // 50)
    yield "long names", "{" + numbered(f'"A%d{long}":1', size, 49) + "}"
    yield "long texts", "{" + numbered(f'"A%d":"{long}"', size, 49) + "}"
    yield "a long text", '{"A":"' + "b" * size + '"}'
    yield "lists, not too many", "{" + numbered('"A%d":[[1]]', size, MANY_VALUES // 3) + "}"
    yield "deep lists", '{"A":' + "[" * 28 + "]" * 28 + "}"
    yield "attributes", '{"game_type":[' + filled('"a",', size) + '"a"]}'


def texts(schema, size):
    longest = schema.get("maxLength")
    for name, unit in LETTERS.items():
        if longest is None or name in PARSED:
            yield "long, of " + name, '"' + filled(unit, size) + '"'
        if longest is not None:
            plain = filled(unit, longest) if unit.isascii() else unit * longest
            yield "of maxLength, of " + name, '"' + plain + '"'
            if "\\" not in unit:
                yield "of maxLength, ending otherwise, of " + name, '"' + plain[:-1] + 'A"'


def numbers(size):
    yield "long number", "9" * size
    yield "long fraction", "0." + "0" * size + "1"
    yield "long exponent", "1e-" + "9" * size


def of_fields(schema, valid, size):
    for path, field in fields_of(schema):
        where = ".".join(map(str, path))
        types = types_of(field)
        values = []
        if "array" in types:
            values += lists(size)
            most = field.get("maxItems", 10)
            for kind, length in ("long", size // most), ("short", min(size // most, 90)):
                items = numbered('"%d' + "b" * length + '"', size, most)
                values.append((f"as many {kind} items as may be", f"[{items}]"))
        if "object" in types and "properties" not in field:
            values += maps(size)
        if "string" in types:
            values += texts(field, size)
        if "integer" in types or "number" in types:
            values += numbers(size)
        for kind, text in values:
            body = with_value(valid, path, text)
            if body is not None:
                yield f"{where}: {kind}", body


def of_whole(valid, size):
    inside = json.dumps(valid, ensure_ascii=False)[1:-1]
    start = "{" + inside + ("," if inside else "")
    yield "open lists", "[" * size
    yield "open objects", filled('{"a":', size)
    yield "only numbers", "[" + filled("1,", size) + "1]"
    yield "only empty lists", "[" + filled("[],", size) + "[]]"
    yield "only commas", "[" + "," * size
    yield "only blanks", " " * size
    yield "only a text", '"' + "a" * size + '"'
    yield "an open text", '"' + "a" * size
    yield "only control characters", '["' + "a" * size + '\x01"]'
    yield "many unknown names", start + numbered('"a%d":0', size) + "}"
    yield "unknown names, not too many", start + numbered('"a%d":0', size, MANY_VALUES) + "}"
    long = "a" * (size // MANY_VALUES - 16)
    yield "long unknown names", start + numbered(f'"{long}%d":0', size, MANY_VALUES) + "}"
    yield "a long unknown name", start + '"' + "a" * size + '":0}'
    name = '"' + "a" * (size // 2) + '":0'
    yield "a long name twice", start + name + "," + name + "}"
    yield "one name many times", start + filled('"a":1,', size) + '"a":1}'
    yield "many names twice", start + numbered('"a%d":0', size // 2, MANY_VALUES) + ',"a0":0}'
    for kind in PARSED:
        unit = LETTERS[kind]
        yield "an unknown text of " + kind, start + '"a":"' + filled(unit, size) + '"}'
    yield "deep unknown lists", start + '"a":' + "[" * 31 + "]" * 31 + "}"
    yield "wide unknown lists", start + '"a":[' + "[[[1]]]," * (MANY_VALUES // 4) + "1]}"
    for kind, text in numbers(size):
        yield "an unknown " + kind, start + '"a":' + text + "}"


def of_json(schema, valid, size):
    room = size - ROOM
    for kind, text in itertools.chain(of_whole(valid, room), of_fields(schema, valid, room)):
        yield kind, JSON, text.encode()[:size]
    yield "no UTF-8", JSON, b'{"a":"' + b"a" * room + b'\xff"}'
    yield "nothing but broken UTF-8", JSON, b"\xff" * room


def of_form(schema, valid, size):
    room = size - ROOM
    start = urllib.parse.urlencode(valid)
    yield "form of one name", FORM, filled("a=&", room).encode()
    yield "form of many names", FORM, numbered("a%d=", room).replace(",", "&").encode()
    yield "form of separators", FORM, b"&" * room
    yield "form of escapes", FORM, (start + "&a=" + filled("%61", room)).encode()
    yield "form of broken escapes", FORM, (start + "&a=" + filled("%ff", room)).encode()
    yield "form of a long name", FORM, (start + "&" + "a" * room + "=").encode()
    twice = "a" * (room // 2)
    yield "form of a long name twice", FORM, f"{twice}=&{twice}=".encode()
    wide = numbered("a%d=" + "b" * (room // 200), room, 200).replace(",", "&")
    yield "form of long values", FORM, f"{start}&{wide}".encode()
    for name in schema["properties"]:
        others = urllib.parse.urlencode({key: valid[key] for key in valid if key != name})
        yield f"form: long {name}", FORM, f"{others}&{name}={'a' * room}".encode()


def of_crowd(size):
    """What many send at once to make an app: three bodies are read to their end, one isn't."""
    room = size - ROOM
    name = "b" * (room // 50)
    for text in (
        '{"app_name":"' + "x" * room + '"}',
        '{"app_name":"' + filled("\\u00e9", room) + '"}',
        "{" + numbered(f'"A%d{name}":1', room, 49) + "}",
        '{"app_name":"x","redirect_uris":[' + filled("1,", room) + "1]}",
    ):
        yield text.encode()


def heads():
    """Requests without a body: kind, method, path, headers."""
    me, verify = "/api/auth/me", "/api/auth/register"
    for kind, token in {
        "a long token": "a" * HEAD_BYTES,
        "a long JWT": "ey" + "a" * (HEAD_BYTES // 2) + "." + "a" * (HEAD_BYTES // 2) + ".a",
        "a JWT of points": "ey" + "." * HEAD_BYTES,
        # {"alg":"HS256"} and [[[…
        "a JWT of lists": "eyJhbGciOiJIUzI1NiJ9." + "W1tb" * (HEAD_BYTES // 4) + ".a",
        "a long access token": "at_live_" + "a" * HEAD_BYTES,
    }.items():
        yield kind, "GET", me, {"Authorization": "Bearer " + token}
    yield "long Basic", "POST", "/api/oauth/token", {"Authorization": "Basic " + "Og==" * 15_000}
    yield "many fields", "POST", verify, {f"a{number}": "" for number in range(6_000)}
    yield "many cookies", "GET", "/login", {"Cookie": "a=b; " * (HEAD_BYTES // 5)}
    for kind, query in {
        "many parameters": "a=&" * (QUERY_BYTES // 3),
        "one long parameter": "q=" + "a" * QUERY_BYTES,
        "escapes": "q=" + "%61" * (QUERY_BYTES // 3),
    }.items():
        yield "query of " + kind, "GET", me + "?" + query, {}
