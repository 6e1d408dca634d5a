#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pages say what the code does: compares the tables of docs/reference/ with the code, both ways.

    scripts/reference.py            findings, as FILE:LINE: what; exit status 1 if there are any

events.md     every event that the code logs has a row with its levels and fields, and every row its event
json.md       every key that a command writes stands in the first column of its part's tables, and the other way round
run-db.md     likewise the columns of the schema
metrics.md    likewise the figures, parts and scalars
formats.md    the files of a run's folder, the versions of formats, and the metadata keys

Names stand in backquotes. In json.md a name may be a path: `best.epoch`, `devices[].name`; names in capitals are placeholders.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = "docs/reference/"
findings = []


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def sources(folder):
    for path, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
        for name in sorted(names):
            if name.endswith(".c") and not name.endswith("_test.c"):
                yield os.path.relpath(os.path.join(path, name), ROOT)


def complain(place, line, text):
    findings.append("%s:%d: %s" % (place, line, text))


# ---- the code ------------------------------------------------------------------------------------


def without_comments(text):
    """Blanks comments, so that lines stay."""
    def blank(match):
        return match.group(0) if match.group(0)[0] in "\"'" else re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', blank, text, flags=re.S)


def arguments(text, at):
    """The arguments of a call whose opening parenthesis ends at `at`."""
    depth, start, found = 0, at, []
    while True:
        c = text[at]
        if c in "\"'":
            at = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'').match(text, at).end()
            continue
        if c in "([{":
            depth += 1
        elif c in ")]}" and depth > 0:
            depth -= 1
        elif c == ")" or (c == "," and depth == 0):
            found.append(text[start:at].strip())
            start = at + 1
            if c == ")":
                return found
        at += 1


def literal(argument):
    """The text of a string literal, of several in a row; None if it is something else."""
    parts = re.findall(r'"((?:\\.|[^"\\])*)"', argument)
    rest = re.sub(r'"(?:\\.|[^"\\])*"', "", argument)
    return "".join(parts) if parts and not re.sub(r"PRI[a-zA-Z0-9]+", "", rest).strip() else None


def calls(text, names):
    for match in re.finditer(r"\b(%s)\(" % "|".join(names), text):
        yield match.group(1), arguments(text, match.end()), text.count("\n", 0, match.start()) + 1


def listed(name, macro):
    """The names in a list of rows: MACRO(name, ...) or, in an X-macro, X(name, ...)."""
    return re.findall(r"^\s*(?:#define .*)?%s\((\w+)" % macro, read(name), re.M)


def x_macro(name, macro):
    body = re.search(r"#define %s\(X\)((?:.*\\\n)*.*)" % macro, read(name)).group(1)
    return re.findall(r"X\((\w+)", body)


# ---- the pages -----------------------------------------------------------------------------------


def parts(page):
    """The page's parts by their headings: (line, text)."""
    found, name, start, lines = {}, "", 1, []
    for number, line in enumerate(read(PAGES + page).split("\n"), 1):
        if line.startswith("## "):
            found[name] = (start, "\n".join(lines))
            name, start, lines = line[3:], number, []
        lines.append(line)
    found[name] = (start, "\n".join(lines))
    return found


def rows(part):
    """(line, cells) of the tables of a part."""
    start, text = part
    for number, line in enumerate(text.split("\n"), start):
        if line.startswith("| `"):
            yield number, [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def names_in(cell):
    """The names in backquotes, a path's members one by one."""
    return {name for quoted in re.findall(r"`([^`]*)`", cell) for name in re.split(r"[^A-Za-z0-9_/]+", quoted)
            if name and not name.isupper()}


def compare(page, title, in_code, everywhere=False):
    """The names in the first column (everywhere: in backquotes) of a part's tables are those of the code."""
    part = parts(page).get(title)
    if part is None:
        complain(PAGES + page, 1, "there is no part \"%s\"" % title)
        return
    documented = {}
    for line, cells in rows(part):
        for cell in cells if everywhere else cells[:1]:
            for name in names_in(cell):
                documented.setdefault(name, line)
    for name in sorted(set(in_code) - set(documented)):
        complain(PAGES + page, part[0], "\"%s\" lacks `%s`, which the code has: add it with its meaning and unit" % (title, name))
    if not everywhere:
        for name in sorted(set(documented) - set(in_code)):
            complain(PAGES + page, documented[name], "the code has no `%s` in \"%s\": remove it" % (name, title))


# ---- events --------------------------------------------------------------------------------------

# Events whose id is not a literal in the call: the file, and the ids (with levels and fields) that it logs.
NAMED_ELSEWHERE = {
    "src/node/coordinator/coordinator.c": lambda: {
        "device." + name: ({"INFO", "WARN"}, {"device", "text"})
        for name in re.findall(r"X\(\w+, \"(\w+)\"\)", read("src/cluster/membership.h"))},
    "src/node/job/train_end.c": lambda: {
        name: ({"WARN"}, {"reason"}) for name in re.findall(r"note_missing\(t, \"([a-z.]+)\"\)", read("src/node/job/train_end.c"))},
}
ID = re.compile(r"^[a-z]+(\.[a-z_]+)+$")


def logged():
    """Event: (levels, fields, where)."""
    found = {}

    def add(event, levels, fields, where):
        before = found.setdefault(event, (set(), set(), where))
        before[0].update(levels)
        before[1].update(fields)

    for name in sources("src"):
        text = without_comments(read(name))
        for _, call, line in calls(text, ["sh_log"]):
            if call[0].startswith("sh_log_level"): # the definition
                continue
            events = [text for text in re.findall(r'"([^"]*)"', call[1]) if ID.match(text)]
            fields = set(re.findall(r"(?:^|\s)(\w+)=", re.sub(r'\\"(?:(?!\\").)*\\"', "", literal(call[2]) or "")))
            levels = set(re.findall(r"SH_LOG_(\w+)", call[0]))
            if not events and name not in NAMED_ELSEWHERE:
                complain(name, line, "an event without a literal id: add the file to NAMED_ELSEWHERE in scripts/reference.py")
            for event in events: # of two in one call each has one of the levels
                add(event, levels, fields, "%s:%d" % (name, line))
        # Those of the database alone have no level.
        kinds = [literal(each) for _, call, _ in calls(text, ["sh_journal_event"]) for each in call if ID.match(literal(each) or "")]
        for event in kinds + re.findall(r'\bkind\[\] = "([a-z]+\.[a-z.]+)"', text):
            add(event, set(), set(), name + ":1")
    for name, make in NAMED_ELSEWHERE.items():
        for event, (levels, fields) in make().items():
            add(event, levels, fields, name + ":1")
    return found


def check_events():
    in_code, page = logged(), PAGES + "events.md"
    documented = {}
    for part in parts("events.md").values():
        for line, cells in rows(part):
            event = cells[0].strip("`")
            if event in documented:
                complain(page, line, "`%s` stands there twice" % event)
            documented[event] = line
            if event not in in_code:
                complain(page, line, "the code logs no `%s`: remove the row" % event)
                continue
            levels, fields, where = in_code[event]
            said = set(re.findall(r"[A-Z]+", cells[1]))
            one_of = event.startswith(("device.", "disk."))
            if said - levels or not (said or not levels) or (levels - said and not one_of):
                complain(page, line, "`%s` is logged as %s (%s)" % (event, ", ".join(sorted(levels)) or "none", where))
            if names_in(cells[2]) != fields and levels:
                complain(page, line, "`%s` has the fields %s (%s)" % (event, ", ".join(sorted(fields)) or "none", where))
    for event in sorted(set(in_code) - set(documented)):
        complain(page, 1, "there is no row for `%s` (%s): add its level, fields and meaning" % (event, in_code[event][2]))


# ---- JSON ----------------------------------------------------------------------------------------

SETTERS = ["set", "set_count", "set_number", "sh_json_set", "json_object_set_new"]


def packed_keys(call):
    """The keys in json_pack(format, ...)."""
    form, rest, keys = literal(call[0]) or "", list(call[1:]), []
    stack, is_key = [], False
    for c in form:
        if c in "{[":
            stack.append(c)
            is_key = c == "{"
        elif c in "}]":
            stack.pop()
            is_key = False
        elif c == ",":
            is_key = bool(stack) and stack[-1] == "{"
        elif c == ":":
            is_key = False
        elif c.isalpha():
            argument = rest.pop(0) if rest else ""
            if is_key and literal(argument):
                keys.append(literal(argument))
            is_key = False
    return keys


def keys_of(name, function=None, more=None):
    """The keys of the objects that a file makes, or some of its functions; `more`: of lists that hold further ones."""
    text = without_comments(read(name))
    if function is not None:
        bodies = re.findall(r"^[a-z][^;\n]*\b(?:%s)\([^;{]*\)\n\{\n.*?^\}" % function, text, re.M | re.S)
        if not bodies:
            complain(name, 1, "there is no %s, which scripts/reference.py looks for" % function)
        text = "\n".join(bodies)
    keys = set()
    for called, call, _ in calls(text, ["json_pack"] + SETTERS):
        if called == "json_pack":
            keys.update(packed_keys(call))
        else:
            keys.update([literal(each) for each in call if literal(each)][:1])
    for pattern in more or []:
        found = re.findall(pattern, text, re.S)
        if not found:
            complain(name, 1, "nothing is like %s, which scripts/reference.py looks for" % pattern)
        for each in found:
            keys.update(re.findall(r'"(\w+)"', each))
    return keys


def check_json():
    rows_json = "src/cli/run_rows.c"
    main_figures = set(re.findall(r'^    \{"(\w+)", "[^"]*", (?:true|false)\},', read("src/cli/figures_output.c"), re.M))
    compared = {
        "shoal train": keys_of("src/cli/summary_output.c") | main_figures,
        "Learning-rate test": keys_of("src/cli/lr_finder.c"),
        "shoal eval": keys_of("src/cli/eval_command.c"),
        "shoal predict": keys_of("src/cli/predict_command.c", more=[r'outputs_json\(t, p, "\w+"\)']),
        "shoal export": keys_of("src/cli/export_command.c"),
        "shoal plan": keys_of("src/cli/plan_command.c"),
        "shoal devices": keys_of("src/cli/device_rows.c") | set(x_macro("include/shoal/device_info.h", "SH_DEVICE_NUMBERS")),
        "shoal bench": keys_of("src/cli/bench_command.c"),
        "shoal sweep": keys_of("src/cli/sweep_command.c") | set(x_macro("include/shoal/sweep.h", "SH_TRIAL_FIGURE_MAP")),
        "shoal report": keys_of("src/report/report_json.c",
                                more=[r"points\[\] = \{(.*?)\}", r"epochs\[\] = \{(.*?)\}"]),
        "shoal runs": keys_of(rows_json, "sh_run_about_json") | keys_of("src/cli/runs_command.c"),
        "shoal top": keys_of(rows_json, "device_json|sh_run_snapshot_json", more=[r"numbers\[\] = \{(.*?)\n    \};"]),
        "shoal data": (keys_of("src/data/survey.c") | keys_of("src/node/job/data.c") | keys_of("src/cli/data_command.c") |
                       keys_of("src/data/examples.c", more=[r'add_ranking\(root, "\w+"'])),
        "shoal models": keys_of("src/cli/models_command.c"),
        "shoal version": keys_of("src/cli/version_command.c"),
        "Files of a run's folder": keys_of("src/node/job/summary_file.c") | keys_of("src/node/record/worst_pictures.c"),
    }
    stream = "src/cli/event_stream.c"
    kinds = set(re.findall(r'\[SH_EVENT_\w+\] = "(\w+)"', read(stream)))
    compared["Events"] = keys_of(stream) | kinds
    for title, keys in compared.items():
        compare("json.md", title, keys)
    for name in sources("src/cli"):
        if re.search(r"\bjson_pack\(|\bsh_json_set\(", read(name)) and name not in JSON_FILES:
            complain(name, 1, "it makes JSON, and scripts/reference.py does not compare it with %sjson.md" % PAGES)


JSON_FILES = {"src/cli/%s.c" % name for name in (
    "summary_output", "lr_finder", "eval_command", "predict_command", "export_command", "plan_command", "bench_command", "sweep_command",
    "run_rows", "device_rows", "runs_command", "data_command", "models_command", "version_command", "event_stream", "json_file")}


# ---- tables, figures, formats --------------------------------------------------------------------


def tables(name):
    """The columns of each table in a schema, without those that other lists give."""
    text = without_comments(read(name))
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    sql = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', re.search(r"schema\[\] =(.*?);\n", text, re.S).group(1))).replace("\\n", "\n")
    for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n?\)(?: WITHOUT ROWID)?;", sql, re.S):
        columns = [part.split()[0] for part in re.split(r",(?![^(]*\))", body) if part.split()]
        yield table, {name for name in columns if re.match(r"^[a-z]\w*$", name) and name not in ("set_", "_us")}
    for view, body in re.findall(r"CREATE VIEW (\w+) AS(.*?);", sql, re.S):
        yield view, set(re.findall(r"AS (\w+)", body))


def check_tables():
    for table, columns in tables("src/store/schema.c"):
        compare("run-db.md", table, columns)
    of_sweep = set()
    for table, columns in tables("src/store/sweep_schema.c"):
        of_sweep |= {table} | columns
    compare("run-db.md", "sweep.db", of_sweep)


def check_metrics():
    compare("metrics.md", "Figures of a device", listed("src/monitor/figures.def", "SH_FIGURE"))
    compare("metrics.md", "Parts of a step", listed("src/monitor/parts.def", "SH_PART"))
    scalars = re.findall(r'"((?:train|val)/\w+|samples_per_second)"', read("src/node/record/scalars.c"))
    compare("metrics.md", "Scalars for TensorBoard", scalars)
    assessment = "src/node/record/assessment.c"
    made = keys_of(assessment)
    compare("metrics.md", "How good a model is", made, everywhere=True)
    part = parts("metrics.md").get("How good a model is", (1, ""))
    for line, cells in rows(part):
        for name in sorted(names_in(cells[0]) - made):
            complain(PAGES + "metrics.md", line, "%s makes no `%s`: remove it" % (assessment, name))


# The row of formats.md, and where its version stands.
VERSIONS = [
    ("checkpoint", "src/store/checkpoint.h", r"#define SH_CHECKPOINT_FORMAT (\d+)"),
    ("`run.db`", "src/store/schema.c", r"\.version = (\d+)"),
    ("`sweep.db`", "src/store/sweep_schema.c", r"\.version = (\d+)"),
    ("packed set", "src/data/packed_head.c", r"#define VERSION (\d+)"),
    ("manifest of data", "src/data/manifest.c", r"#define VERSION (\d+)"),
    ("`device.json`", "src/plan/device_file.c", r"#define VERSION (\d+)"),
    ("control messages", "src/net/message.h", r"#define SH_MESSAGE_PROTOCOL (\d+)"),
    ("ONNX in", "src/onnx/onnx_types.h", r"#define SH_ONNX_OPSET_(?:FIRST|LAST) (\d+)"),
    ("ONNX out", "src/onnx/from_graph.h", r"#define SH_FROM_GRAPH_(?:OPSET|IR) (\d+)"),
    ("report as JSON", "src/report/report_json.c", r'"report", json_integer\((\d+)\)'),
]


def check_formats():
    page = "formats.md"
    start, text = parts(page).get("Versions", (1, ""))
    lines = {line.strip("|").split("|")[0].strip(): (number, line.split("|")[2])
             for number, line in enumerate(text.split("\n"), start) if line.startswith("| ")}
    for row, name, pattern in VERSIONS:
        found = re.findall(pattern, read(name))
        if not found or row not in lines:
            complain(PAGES + page, start, "no version of %s (%s)" % (row, name))
        elif re.findall(r"`(\d+)`", lines[row][1]) != found:
            complain(PAGES + page, lines[row][0], "the version of %s is %s (%s)" % (row, " to ".join(found), name))
    files = re.findall(r'#define SH_RUN_(?!CHECKPOINTS)\w+ "([^"]+)"', read("src/store/run.h"))
    start, text = parts(page).get("A run's folder", (1, ""))
    for name in files:
        if "`%s`" % name not in text:
            complain(PAGES + page, start, "the files of a run's folder lack `%s` (src/store/run.h)" % name)
    keys = {key for name in ("src/train/snapshot.c", "src/store/checkpoint.h", "src/store/safetensors.h", "src/node/job/trained_file.h",
                             "src/onnx/onnx_file.h") for key in re.findall(r'#define \w+ +"(shoal\.\w+)"', read(name))}
    for key in sorted(keys):
        if "`%s`" % key not in read(PAGES + page):
            complain(PAGES + page, 1, "there is no row for the metadata `%s`" % key)


def main():
    check_events()
    check_json()
    check_tables()
    check_metrics()
    check_formats()
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
