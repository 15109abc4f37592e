"""The page of docs/reference that says which command and which page serve each operation of the API.

What serves which operation is written down in operations.txt. It is held against the document that berthd publishes,
the commands that the client prints, and the pages that berthd serves.
"""
import json
import re
import urllib.error
import urllib.request
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "operations.txt"
METHODS = ("get", "put", "post", "patch", "delete")
REASONS = {
    "app": "An app calls it, with a token for its user; on the command line nobody plays.",
    "play": "Games and sites build it into their own pages, where players meet.",
    "site": "A site that presents the operators shows it.",
    "market": "The console shows the same with another operation.",
    "twin": "`berth apps` shows the same with another operation.",
    "discovery": "OAuth clients read it by themselves.",
    "backup": "`berthd backup` calls it, beside the program whose data it saves.",
    "refused": "It always refuses.",
}
TITLE = """# Operations

Every operation of the document that berthd publishes (`/.well-known/openapi.json`), with the command of
[the client](client.md) and the page that do the same. `berth api METHOD PATH` calls each of them. Where there is neither
a command nor a page, the last column says why.

"""


def entries():
    """Returns operation -> (command, page, why)."""
    found = {}
    for line in SOURCE.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, command, page, why = (part.strip() for part in line.split("|"))
        if name in found:
            raise ValueError(f"{SOURCE.name} has two lines for {name}")
        if bool(why) == bool(command or page):
            raise ValueError(f"{SOURCE.name}: {name} needs either a command or a page, or else a reason")
        found[name] = (command, page, REASONS[why] if why else "")
    return found


def operations(address):
    """Returns (tag, operation, method, path) for each operation, in the document's order of tags and paths."""
    with urllib.request.urlopen(f"http://{address}/.well-known/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    return sorted((row["tags"][0], path, METHODS.index(method), row["operationId"])
                  for path, methods in paths.items() for method, row in methods.items() if method in METHODS)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def is_page(address, path):
    request = urllib.request.Request(f"http://{address}{path}", headers={"Accept": "text/html"})
    try:
        urllib.request.build_opener(NoRedirect).open(request).close()
    except urllib.error.HTTPError as error:
        return error.code != 404
    return True


def page(address, client_reference):
    """Returns the Markdown. Raises ValueError if operations.txt doesn't fit the programs."""
    known, listed = entries(), operations(address)
    names = {name for _, _, _, name in listed}
    commands = set(re.findall(r"^### `(berth(?: [a-z-]+)+)", client_reference, re.MULTILINE))
    wrong = [f"{name} has no line" for name in sorted(names - known.keys())]
    wrong += [f"{name} isn't an operation" for name in sorted(known.keys() - names)]
    wrong += [f"{name}: there is no command {command}" for name, (command, _, _) in known.items()
              if command and command not in commands]
    wrong += [f"there is no page {path}" for path in sorted({path for _, path, _ in known.values() if path})
              if not is_page(address, path)]
    if wrong:
        raise ValueError(f"{SOURCE.name}:\n" + "\n".join(wrong))
    text, tag = TITLE, None
    for group, path, method, name in listed:
        if group != tag:
            text += ("\n" if tag else "") + f"## {group}\n\n"
            text += "| operation | request | command | page | why there is neither |\n| --- | --- | --- | --- | --- |\n"
            tag = group
        command, hosted, why = known[name]
        quoted = [f"`{part}`" if part else "" for part in (f"{METHODS[method].upper()} {path}", command, hosted)]
        text += f"| {name} | " + " | ".join(quoted) + f" | {why} |\n"
    return text
