#!/usr/bin/env python3
"""Run each command of README.md and docs/*.md that needs no measurement, and compare its output.

usage: documented_examples.py PROGRAM SOURCE

A block is indented by four blanks and begins with "$ "; a line that ends in a backslash goes on in
the next.  What is printed must be what stands there; "…" alone on a line leaves out what follows.
Commands that run or compare real training depend on the machine and are listed, not run.  JSON
blocks (```json) with a "schema" are checked by `paceline check`.
"""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

MEASURED = re.compile(r"paceline-rt|mpirun|measured|docs/examples/digits|this_machine|run ")


def blocks(text: str) -> list[tuple[str, list[str]]]:
    """Commands with the lines that stand below them."""
    found: list[tuple[str, list[str]]] = []
    inside = False
    goes_on = False
    for line in text.splitlines():
        if line.startswith("    $ "):
            inside, goes_on = True, line.endswith("\\")
            found.append((line[6:].rstrip("\\"), []))
        elif inside and goes_on:
            goes_on = line.endswith("\\")
            command, shown = found[-1]
            found[-1] = (command + " " + line.strip().rstrip("\\"), shown)
        elif inside and (line.startswith("    ") or not line.strip()):
            found[-1][1].append(line[4:])
        else:
            inside = False
    return found


def without_tail(lines: list[str]) -> list[str]:
    """Up to a line that is "…", without blank lines at the end."""
    if "…" in lines:
        lines = lines[: lines.index("…")]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return [line.rstrip() for line in lines]


def main() -> int:
    program, source = sys.argv[1], pathlib.Path(sys.argv[2])
    environment = dict(os.environ, COLUMNS="100", LC_ALL="C.UTF-8", NO_COLOR="1")
    environment["PATH"] = f"{pathlib.Path(program).parent}:{environment['PATH']}"
    environment["XDG_DATA_HOME"] = tempfile.mkdtemp()
    faults = 0
    ran = measured = checked = 0
    for page in [source / "README.md", *sorted((source / "docs").glob("*.md"))]:
        text = page.read_text()
        for command, shown in blocks(text):
            if MEASURED.search(command) or not command.startswith("paceline "):
                measured += 1
                continue
            done = subprocess.run(shlex.split(command), cwd=source, env=environment, text=True,
                                  capture_output=True, check=False)
            ran += 1
            expected = without_tail(shown)
            printed = [line.rstrip() for line in done.stdout.splitlines()][: len(expected)]
            if done.returncode != 0 or printed != expected:
                faults += 1
                print(f"{page.name}: $ {command}\nexit {done.returncode} {done.stderr}")
                for stands, prints in zip(expected, printed + [""] * len(expected)):
                    if stands != prints:
                        print(f"  stands  {stands}\n  prints  {prints}")
        for block in re.findall(r"```json\n(.*?)```", text, re.S):
            if '"schema"' not in block:
                continue
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(block)
                file.flush()
                done = subprocess.run([program, "check", file.name], text=True,
                                      capture_output=True, env=environment, check=False)
            checked += 1
            if done.returncode != 0:
                faults += 1
                print(f"{page.name}: a JSON block is no valid file: {done.stdout}{done.stderr}")
    print(f"{ran} commands ran, {checked} JSON blocks checked, {measured} depend on the machine")
    if ran == 0:
        print("no command ran: the blocks are not found")
        return 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
