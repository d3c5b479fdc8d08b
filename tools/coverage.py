#!/usr/bin/env python3
"""Prints which share of lines and branches of the sources was reached, by folder, from the counts that programs built with --coverage leave.

    coverage.py BUILD [--files FOLDER]...    --files: the files of a folder too, those with most left first
    coverage.py BUILD --missed FILE          lines that were not reached, and those with a branch that was not
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess


def read_counts(path):
    """What gcov says of one object, as [(file, [(line, count, branch counts)])]."""
    text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", str(path)],
                          capture_output=True, check=False).stdout
    found = []
    for document in text.decode().splitlines():
        for file in json.loads(document)["files"]:
            lines = [(line["line_number"], line["count"], [branch["count"] for branch in line["branches"]]) for line in file["lines"]]
            found.append((file["file"], lines))
    return found


class Coverage:
    """Counts by file and line, of all objects that a file went into."""

    def __init__(self):
        self.lines = collections.defaultdict(collections.Counter)
        self.branches = collections.defaultdict(collections.Counter)

    def add(self, file, lines):
        seen = collections.Counter()  # a line stands once for each function that it became part of
        for line, count, branches in lines:
            self.lines[file][line] += count
            for branch in branches:
                self.branches[file][line, seen[line]] += branch
                seen[line] += 1

    def share(self, counts, files):
        values = [count for file in files for count in counts[file].values()]
        return sum(value > 0 for value in values), len(values)


def percent(part):
    reached, all_of_them = part
    return f"{100 * reached / all_of_them:6.1f}%" if all_of_them else "      -"


def print_rows(coverage, groups):
    print(f"{'':32} {'lines':>8} {'reached':>8} {'branches':>9} {'taken':>8}")
    for name, files in groups:
        lines, branches = coverage.share(coverage.lines, files), coverage.share(coverage.branches, files)
        print(f"{name:32} {lines[1]:8} {percent(lines):>8} {branches[1]:9} {percent(branches):>8}")


def print_missed(coverage, file):
    source = pathlib.Path(file).read_text().splitlines()
    for line in sorted(coverage.lines[file]):
        branches = [count for (at, _), count in sorted(coverage.branches[file].items()) if at == line]
        if coverage.lines[file][line] == 0 or 0 in branches:
            mark = "line  " if coverage.lines[file][line] == 0 else "branch"
            print(f"{mark} {line:5} {source[line - 1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--files", action="append", default=[])
    parser.add_argument("--missed", action="append", default=[])
    arguments = parser.parse_args()
    coverage = Coverage()
    objects = sorted(pathlib.Path(arguments.build, "objects").rglob("*.gcda"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(read_counts, objects):
            for file, lines in found:
                if file.startswith(("mdf_c/", "functions/", "schemas/")):
                    coverage.add(file, lines)
    for file in arguments.missed:
        print_missed(coverage, file)
    if arguments.missed:
        return
    folders = collections.defaultdict(list)
    for file in sorted(coverage.lines):
        folders[os.path.dirname(file)].append(file)
    print_rows(coverage, list(folders.items()) + [("all", list(coverage.lines))])
    for folder in arguments.files:
        def left(file):
            reached, all_of_them = coverage.share(coverage.branches, [file])
            return reached - all_of_them
        print_rows(coverage, [(os.path.basename(file), [file]) for file in sorted(folders[folder], key=left)])


if __name__ == "__main__":
    main()
