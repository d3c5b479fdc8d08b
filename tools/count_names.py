#!/usr/bin/env python3
"""Counts how far an operator's meaning stands in its row only: names elsewhere, switches, forms in C, derivatives.

    count_names.py [--files N]      from the root of the tree

names outside   string literals that are an operator's name or dotted name, in mdf_c and functions, outside the file whose table has the row
                (words that are ordinary ones too, as "size", count where they are the whole literal)
switches        over codes of the lowered form, and over kinds of conditions
lines           of product code: mdf_c, functions, schemas
forms           of the operators' names, those with a form in C and those with a derivative, as docs/operators.md has them
"""
import argparse
import collections
import glob
import re

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources():
    return sorted(path for folder in ("mdf_c", "functions") for ending in ("c", "h", "inc", "def")
                  for path in glob.glob(f"{folder}/**/*.{ending}", recursive=True))


def without_comments(text):
    return COMMENT.sub(" ", text)


def without_meanings(table):
    """A text without MDF_MEANING(...) and its STEP(...), whose names are of values within it."""
    parts = re.split(r"\b(?:MDF_MEANING|STEP)\(", table)
    for i, part in enumerate(parts[1:], 1):
        depth, end = 1, 0
        while depth > 0 and end < len(part):
            depth += {"(": 1, ")": -1}.get(part[end], 0)
            end += 1
        parts[i] = part[end:]
    return "".join(parts)


def rows():
    """Operators' names to the files that have their rows."""
    home = collections.defaultdict(set)
    for path in sources():
        text = without_comments(read(path))
        if path.endswith(".def"):
            for name in re.findall(r'(?:ONNX(?:_GIVEN)?|REDUCTION)\("(\w+)"', text):
                home[name].add(path)
        for table in re.findall(r"struct mdf_operator mdf_operators_\w+\[\] = \{(.*?)\n?\s*\{NULL", text, re.S):
            of_derivatives = {"dy", "y", "x0", "x1", "x2", "axis", "2"}
            for name in set(re.findall(r'(?:\{|\w+\()\s*"([\w.]+)"', without_meanings(table))) - of_derivatives:
                home[name].add(path)
        for table in re.findall(r"struct onnx_definition \w+\[\] = \{(.*?)\n?\s*\{NULL", text, re.S):
            for name in re.findall(r'\{"[\w.]*",\s*"(\w+)"', table):  # a domain and an operator
                home[name].add(path)
    return home


def names_outside(home):
    found = collections.Counter()
    for path in sources():
        text = without_meanings(re.sub(r"^\s*#\s*include.*$", "", without_comments(read(path)), flags=re.M))
        for literal in STRING.findall(text):
            # lists of names between blanks count each
            for word in literal.split() if literal.startswith(" ") and literal.endswith(" ") else [literal]:
                if word in home and path not in home[word]:
                    found[path] += 1
    return found


def switches():
    lowered = conditions = 0
    for path in sources():
        for body in re.findall(r"switch \([^\n]*\) \{(.*?)(?=\n[a-z}]|\Z)", read(path), re.S):
            lowered += bool(re.search(r"case MDF_LOWERED_|MDF_LOWERED_CASES", body))
            conditions += bool(re.search(r"case MDF_CONDITION_", body))
    return lowered, conditions


def columns(title):
    """Of the tables of docs/operators.md, which a test compares with the rows: how many there are, have a form in C, a derivative."""
    tables = re.split(r"^## ", read("docs/operators.md"), flags=re.M)[1:]
    rows_there = [line.strip("|\n ").split(" | ") for table in tables if ("unctions" in table.split("\n")[0]) == (title != "")
                  for line in table.split("\n") if line.startswith("| ") and not re.match(r"\| (operator|function) \|", line)]
    if title == "":
        rows_there = [[row[0]] + row[2:5] for row in rows_there]
    return len(rows_there), sum(row[2] == "yes" for row in rows_there), sum(row[3] != "no" for row in rows_there)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=0, help="show so many files with most names")
    options = parser.parse_args()
    home = rows()
    found = names_outside(home)
    lowered, conditions = switches()
    lines = sum(read(path).count("\n") for folder in ("mdf_c", "functions", "schemas") for ending in ("c", "h", "inc", "def")
                for path in glob.glob(f"{folder}/**/*.{ending}", recursive=True))
    print(f"names of operators outside their row's file: {sum(found.values())} in {len(found)} files")
    for path, count in found.most_common(options.files):
        print(f"  {count:5} {path}")
    print(f"switches over codes of the lowered form: {lowered}; over kinds of conditions: {conditions}")
    print(f"lines of product code: {lines}")
    for title, section in (("of ONNX", ""), ("of expressions", "Functions of expressions")):
        print("names {}: {}; a form in C: {}; a derivative: {}".format(title, *columns(section)))


if __name__ == "__main__":
    main()
