#!/usr/bin/env python3
"""Counts how far an operator's meaning stands in its row only: names elsewhere, switches, forms in C, derivatives.

    count_names.py [--files N]      from the root of the tree

names outside   string literals that are an operator's name or dotted name, in mdf_c and functions, outside the file whose table has the row
                (words that are ordinary ones too, as "size", count where they are the whole literal)
switches        over codes of the lowered form, and over kinds of conditions
lines           of product code: mdf_c, functions, schemas
forms           of the operators' names, those whose row has an element or that mdf_c/source has a row for, and those with a derivative
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


def rows():
    """Operators' names to the files that have their rows."""
    home = collections.defaultdict(set)
    for path in sources():
        text = without_comments(read(path))
        if path.endswith("elements.def"):
            for name in re.findall(r'ONNX(?:_GIVEN)?\("(\w+)"', text):
                home[name].add(path)
        for table in re.findall(r"struct mdf_operator mdf_operators_\w+\[\] = \{(.*?)\n?\s*\{NULL", text, re.S):
            for name in re.findall(r'(?:\{|\w+\()\s*"([\w.]+)"', table):
                home[name].add(path)
    return home


def names_outside(home):
    found = collections.Counter()
    for path in sources():
        text = re.sub(r"^\s*#\s*include.*$", "", without_comments(read(path)), flags=re.M)
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


def rows_of(pattern, path):
    return set(re.findall(pattern, without_comments(read(path))))


def forms(home):
    """Names with a form in C, and with a derivative."""
    source, derived = set(), set()
    for path in sources():
        text = without_comments(read(path))
        if path.startswith("mdf_c/source/"):
            for literal in STRING.findall(text):
                source.update(word for word in literal.split() if word in home)
        if path.endswith("derivatives.c"):
            derived.update(re.findall(r'(?:BY|MOVES|IS_FLAT|ROW|\{)\(?"([\w.]+)"', text))
    definitions = without_comments(read("functions/elements/elements.def")) if glob.glob("functions/elements/elements.def") else ""
    base = dict(re.findall(r"FUNCTION\((\w+), (\w+),", definitions))
    base.update((name, name) for name in re.findall(r"^LIBRARY\((\w+),", definitions, re.M))
    rules = set(re.findall(r"^(?:DERIVATIVE|FLAT)\((\w+)", definitions, re.M))
    elements = dict(re.findall(r'ONNX(?:_GIVEN)?\("(\w+)", \d+, (\w+)\)', definitions))
    for path in sources():
        if path.startswith("functions/elements/"):
            elements.update(re.findall(r'ROW\("(\w+)",[^\n]* (\w+)\)', read(path)))
            source.update(re.findall(r'\{"(\w+)"[^{}]*\.element_of', read(path)))
        elements.update(re.findall(r'"([\w.]+)"[^"\n]*(?:"[^"\n]*"[^"\n]*)?MDF_ELEMENT\((\w+)\)', read(path)))
    for name, element in elements.items():
        source.add(name)
        if element in rules or base.get(element) in rules:
            derived.add(name)
    return source & set(home), derived & set(home)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=0, help="show so many files with most names")
    options = parser.parse_args()
    home = rows()
    found = names_outside(home)
    expressions = {name for name, paths in home.items() if any("/python/" in path for path in paths)}
    source, derived = forms(home)
    lowered, conditions = switches()
    lines = sum(read(path).count("\n") for folder in ("mdf_c", "functions", "schemas") for ending in ("c", "h", "inc", "def")
                for path in glob.glob(f"{folder}/**/*.{ending}", recursive=True))
    print(f"names of operators outside their row's file: {sum(found.values())} in {len(found)} files")
    for path, count in found.most_common(options.files):
        print(f"  {count:5} {path}")
    print(f"switches over codes of the lowered form: {lowered}; over kinds of conditions: {conditions}")
    print(f"lines of product code: {lines}")
    for title, names in (("of ONNX", set(home) - expressions), ("of expressions", expressions)):
        print(f"names {title}: {len(names)}; a form in C: {len(names & source)}; a derivative: {len(names & derived)}")


if __name__ == "__main__":
    main()
