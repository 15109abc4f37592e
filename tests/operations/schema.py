"""Checks responses against the part of JSON Schema that the published OpenAPI document uses."""

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def is_of(value, name):
    if name != "boolean" and isinstance(value, bool):
        return False
    return isinstance(value, TYPES[name])


def resolved(value, document):
    """Returns what a reference refers to; everything else as it is."""
    if "$ref" not in value:
        return value
    target = document
    for step in value["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return target


def mistakes(value, schema, document, where="answer"):
    """Yields a sentence for each part of `value` that the schema doesn't allow."""
    if "$ref" in schema:
        yield from mistakes(value, resolved(schema, document), document, where)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_of(value, name) for name in types):
        yield f"{where} is {value!r} and not of {types}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r} and not one of {schema['enum']}"
    for part in schema.get("allOf", []):
        yield from mistakes(value, part, document, where)
    if "oneOf" in schema and sum(not any(mistakes(value, part, document, where)) for part in schema["oneOf"]) != 1:
        yield f"{where} is {value!r} and not exactly one of {schema['oneOf']}"
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from mistakes(item, schema.get("items", {}), document, f"{where}[{number}]")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where} has no {name}"
        for name, field in schema.get("properties", {}).items():
            if name in value:
                yield from mistakes(value[name], field, document, f"{where}.{name}")
