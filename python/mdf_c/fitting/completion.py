"""What bash, zsh and fish need to complete the options of a command line, from its table of options (as mdf_c/cli/completion.c does)."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def _follower(option: argparse.Action) -> str:
    """What stands behind an option: "" nothing, words, "FILE" a file, "?" anything else."""
    if option.nargs == 0:
        return ""
    return " ".join(option.choices) if option.choices else "FILE" if option.metavar == "FILE" else "?"


def _bash(program: str, options: list[argparse.Action]) -> str:
    cases = "".join(
        f"    {'|'.join(option.option_strings)}) "
        + {"FILE": 'mapfile -t COMPREPLY < <(compgen -f -- "$word")', "?": "COMPREPLY=()"}.get(
            _follower(option), f'mapfile -t COMPREPLY < <(compgen -W "{_follower(option)}" -- "$word")'
        )
        + "; return;;\n"
        for option in options
        if _follower(option)
    )
    names = " ".join(option.option_strings[-1] for option in options)
    name = "_" + program.replace("-", "_")
    return (
        f"{name}()\n{{\n    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n\n    case $before in\n{cases}    esac\n"
        f'    if [[ $word == -* ]]; then\n        mapfile -t COMPREPLY < <(compgen -W "{names}" -- "$word")\n'
        f'    else\n        mapfile -t COMPREPLY < <(compgen -f -- "$word")\n    fi\n}}\ncomplete -o filenames -F {name} {program}\n'
    )


def _zsh(program: str, options: list[argparse.Action]) -> str:
    rows = [f"#compdef {program}\n_arguments -s"]
    for option in options:
        names, follower = option.option_strings, _follower(option)
        name = names[0] if len(names) == 1 else ""
        behind = {"": "", "FILE": ":FILE:_files", "?": f":{option.metavar}:"}.get(follower, f":{option.metavar}:({follower})")
        rows.append(f"'{name}{behind}'" if name else f"'({' '.join(names)})'{{{','.join(names)}}}'{behind}'")
    return " \\\n    ".join([*rows, "'*:file:_files'"]) + "\n"


def _fish(program: str, options: list[argparse.Action]) -> str:
    lines = []
    for option in options:
        letters = "".join(f" -s {name[1:]}" for name in option.option_strings if not name.startswith("--"))
        follower = _follower(option)
        behind = {"": "", "FILE": " -r -F", "?": " -x"}.get(follower, f" -x -a '{follower}'")
        lines.append(f"complete -c {program} -l {option.option_strings[-1][2:]}{letters}{behind}\n")
    return "".join(lines)


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The text that the shell reads."""
    options = [action for action in parser._actions if action.option_strings]
    text = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](parser.prog, options)
    head, _, rest = text.partition("\n") if shell == "zsh" else ("", "", text)
    return f"{head}\n# made by {parser.prog} --completion {shell}\n{rest}".lstrip("\n")
