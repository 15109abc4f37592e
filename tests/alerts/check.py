#!/usr/bin/env python3
"""Tests of the alerts and dashboards of the chart.

usage: check.py names | rules

names   each alert has a section in docs/runbooks/alerts.md and a case in cases.py, and every metric that the rules and
        the dashboards use is one that berthd has (docs/reference/metrics.md)
rules   promtool finds the rules and the dashboards' queries valid, and each alert fires when it should and not
        otherwise (cases.py). Ends with 77 (skipped) if promtool isn't installed; `scripts/install-deps.sh test` installs it.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cases import CASES, UP

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "charts/berth/files/alerts.yaml"
DASHBOARDS = ROOT / "charts/berth/files/dashboards"
RUNBOOKS = ROOT / "docs/runbooks/alerts.md"
METRICS = ROOT / "docs/reference/metrics.md"
RUNBOOK_URL = "https://berth.example.org/docs/runbooks/alerts#"
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
# What Grafana puts in the place of its variables.
VARIABLES = {"$namespace": ".*", "$job": "berth", "$__rate_interval": "5m"}
SKIPPED = 77


def metrics_of_berthd():
    """Returns the names of all series: a histogram has three."""
    names = {"up"}
    for name, kind in re.findall(r"^\| `(\w+)` \| (\w+) \|", METRICS.read_text(), re.MULTILINE):
        names |= {name + ending for ending in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return names


def alerts(text):
    """Yields (name, the rule's text) for each alert."""
    for rule in re.split(r"^      - alert: ", text, flags=re.MULTILINE)[1:]:
        name, _, body = rule.partition("\n")
        yield name, body


def expressions(dashboard):
    """Yields each query of a dashboard, also of panels within rows, and of its variables."""
    if isinstance(dashboard, dict):
        for key, value in dashboard.items():
            if key in ("expr", "query") and isinstance(value, str) and value != "prometheus":
                yield value
            else:
                yield from expressions(value)
    elif isinstance(dashboard, list):
        for one in dashboard:
            yield from expressions(one)


def unknown_metrics(where, text, known):
    used = re.findall(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{", text) + re.findall(r"label_values\((\w+),", text)
    if not used:
        yield f"{where}: names no metric with its labels: {text}"
    for name in used:
        if name not in known:
            yield f"{where}: berthd has no metric {name}"


def name_problems():
    known = metrics_of_berthd()
    sections = re.findall(r"^## (\w+)$", RUNBOOKS.read_text(), re.MULTILINE)
    rules = dict(alerts(RULES.read_text()))
    for name, body in rules.items():
        expression = body[:body.index("labels: {severity")]
        yield from unknown_metrics(name, re.sub(r"#.*", "", expression), known)
        for selector in re.findall(r"\{([^}]*)\}", expression):
            if 'job="berth"' not in selector:
                yield f"{name}: {{{selector}}} would also select what isn't berthd's"
        if f"runbook_url: {RUNBOOK_URL}{name.lower()}\n" not in body:
            yield f"{name}: runbook_url must lead to its section"
        if name not in sections:
            yield f"{name}: docs/runbooks/alerts.md has no section of that name"
        if name not in (case[0] for case in CASES):
            yield f"{name}: cases.py has no case"
    for name in set(sections) - set(rules):
        yield f"docs/runbooks/alerts.md: there is no alert {name}"
    dashboards = sorted(DASHBOARDS.glob("*.json"))
    if len(rules) < 10 or len(dashboards) < 2:
        yield "the alerts or dashboards aren't where they were"
    for file in dashboards:
        for expression in expressions(json.loads(file.read_text())):
            yield from unknown_metrics(file.name, expression, known)
            yield from unknown_operations(file.name, expression)


def unknown_operations(where, text):
    for names in re.findall(r'route=~?"([^"]*)"', text):
        for name in names.split("|"):
            if f'"{name}"' not in "".join(file.read_text() for file in ROOT.glob("api/resources/*.cpp")):
                yield f"{where}: there is no operation {name}"


def test_of(alert, series, minutes, fires):
    if alert != "BerthDown":
        series = {**UP, **series}
    return {
        "name": f"{alert} {'fires' if fires else 'does not fire'}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{
            "expr": FIRING, "eval_time": f"{minutes}m",
            "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if fires else [],
        }],
    }


def dashboard_queries():
    for file in DASHBOARDS.glob("*.json"):
        for query in expressions(json.loads(file.read_text())):
            for variable, value in VARIABLES.items():
                query = query.replace(variable, value)
            if not query.startswith("label_values("):  # those are Grafana's own
                yield query


def promtool(*arguments):
    ended = subprocess.run([shutil.which("promtool"), *arguments], capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(ended.stdout + ended.stderr)


def check_rules():
    if not shutil.which("promtool"):
        print("promtool isn't installed")
        sys.exit(SKIPPED)
    promtool("check", "rules", str(RULES))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tests.yaml"  # JSON is YAML, too
        file.write_text(json.dumps({
            "rule_files": [str(RULES)], "evaluation_interval": "1m",
            "tests": [test for alert, fires, rests, minutes in CASES
                      for test in (test_of(alert, fires, minutes, True), test_of(alert, rests, minutes, False))]}))
        promtool("test", "rules", str(file))
        queries = Path(folder) / "queries.yaml"
        queries.write_text(json.dumps({"groups": [{"name": "queries", "rules": [
            {"record": f"query{number}", "expr": query} for number, query in enumerate(dashboard_queries())]}]}))
        promtool("check", "rules", str(queries))
    print(f"{len(CASES)} cases, each with what fires and what doesn't")


def main():
    if sys.argv[1:] == ["rules"]:
        check_rules()
    elif sys.argv[1:] == ["names"]:
        problems = list(name_problems())
        print("\n".join(problems))
        sys.exit(1 if problems else 0)
    else:
        sys.exit(__doc__)


main()
