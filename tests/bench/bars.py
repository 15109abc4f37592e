"""Bars of the tables that the benchmarks print, as SVG. Each group of bars is a row of a table, and its longest bar is
the largest value of that row, since the rows of one table often differ by orders of magnitude."""
import html
import re

WIDTH, LABELS, VALUES = 760, 250, 110  # of the picture, and of what stands left and right of the bars
BAR, GAP, HEAD = 15, 12, 34  # heights
COLOURS = ("#1f6feb", "#8b949e", "#bf8700", "#1a7f37")


def tables_in(text):
    """Returns the Markdown tables of a text, each as a list of rows without the line below the head."""
    tables, rows = [], []
    for line in text.splitlines() + [""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif rows:
            tables.append([row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)])
            rows = []
    return tables


def number_in(cell):
    """Returns the first number of a cell, such as 1234.5 of "1,234.5/s"; nothing if there is none."""
    found = re.search(r"\d[\d,]*(?:\.\d+)?", cell)
    return float(found[0].replace(",", "")) if found else None


def groups_of(text, columns, rows="."):
    """Returns (label, [(column, cell, number)]) for each row whose first cell `rows` finds, in the first table that has
    all of these columns."""
    for table in tables_in(text):
        head = table[0]
        if not all(name in head for name in columns):
            continue
        beside = head.index("connections") if "connections" in head[1:3] else None
        groups = []
        for row in table[1:]:
            bars = [(name, row[head.index(name)], number_in(row[head.index(name)])) for name in columns
                    if head.index(name) < len(row)]
            bars = [bar for bar in bars if bar[2] is not None]
            if bars and re.search(rows, row[0]):
                label = row[0] if head[0] != "connections" else f"{row[0]} connections"
                groups.append((label if beside is None else f"{label}, {row[beside]} connections", bars))
        return groups
    return []


def drawn(title, groups, columns):
    """Returns the SVG."""
    colours = dict(zip(columns, COLOURS))
    parts, y = [], HEAD
    x = LABELS
    for name in columns:
        parts.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{colours[name]}"/>'
                     f'<text x="{x + 15}" y="17">{html.escape(name)}</text>')
        x += 25 + 7 * len(name)
    for label, bars in groups:
        longest = max(value for _, _, value in bars) or 1
        middle = y + len(bars) * BAR / 2 + 4
        parts.append(f'<text x="{LABELS - 8}" y="{middle:.0f}" text-anchor="end">{html.escape(label)}</text>')
        for name, cell, value in bars:
            length = max(1, (WIDTH - LABELS - VALUES) * value / longest)
            parts.append(f'<rect x="{LABELS}" y="{y}" width="{length:.0f}" height="{BAR - 2}" fill="{colours[name]}"/>'
                         f'<text x="{LABELS + length + 5:.0f}" y="{y + BAR - 4}">'
                         f'{html.escape(cell.split("<br>")[0])}</text>')
            y += BAR
        y += GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
            f'role="img" font-family="sans-serif" font-size="12"><title>{html.escape(title)}</title>'
            f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>' + "\n".join(parts) + "</svg>\n")
