"""Checks that the commands and pages which docs/reference/operations.md names exist.

`berthd reference operations` prints which command and which page serve each operation of the API, as its row in the
table of routes says. The commands are held against the reference of the client, the pages against a running berthd.
"""
import re
import urllib.error
import urllib.request

TITLE = """# Operations

Every operation of the document that berthd publishes (`/.well-known/openapi.json`), with the command of
[the client](client.md) and the page that do the same. `berth api METHOD PATH` calls each of them. The role is the least
that a person needs in the app ([who may do what](../guides/operators.md#members)). Where there is neither a command nor a
page, the last column says why.

"""


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


def rows(table):
    """Yields (operation, command, page, why) for each row of the tables before that of the roles."""
    for line in table.split("\n## Roles of admins\n")[0].splitlines():
        if line.startswith("| ") and not line.startswith(("| operation |", "| --- |")):
            name, _, _, command, page, why = (part.strip(" `") for part in line.strip("|").split("|"))
            yield name, command, page, why


def check(table, address, client_reference):
    """Raises ValueError if the table doesn't fit the programs."""
    commands = set(re.findall(r"^### `(berth(?: [a-z-]+)+)", client_reference, re.MULTILINE))
    known = list(rows(table))
    wrong = [f"{name} needs either a command or a page, or else a reason" for name, command, page, why in known
             if bool(why) == bool(command or page)]
    wrong += [f"{name}: there is no command {command}" for name, command, _, _ in known
              if command and command not in commands]
    wrong += [f"there is no page {path}" for path in sorted({page for _, _, page, _ in known if page})
              if not is_page(address, path)]
    if wrong or not known:
        raise ValueError("operations:\n" + "\n".join(wrong))
