#!/usr/bin/env python3
"""Checks that no folder includes a header that docs/architecture.md does not allow it.

An entry of ALLOWED is a folder, or one header.
"""

import pathlib
import re
import sys

ALLOWED = {
    "core": set(),
    "models": {"core", "hardware_profiles/capabilities.hpp"},
    "hardware_profiles": {"core"},
    "sim": {"core", "models", "hardware_profiles"},
    "runtime": {"core", "models"},
    "validate": {"core", "models", "hardware_profiles", "sim"},
    "cli": {"core", "models", "hardware_profiles", "sim", "validate"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"(([a-z_]+)/[^"]*)"')


def faults(root: pathlib.Path) -> list[str]:
    """Each include that no arrow allows, as "file:line: …"."""
    found = []
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".hpp", ".cpp", ".cu", ".cuh"}:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match and not (allowed | {folder}) & {match[1], match[2]}:
                    place = path.relative_to(root)
                    found.append(f"{place}:{number}: {folder}/ must not depend on {match[1]}")
    return found


def main() -> int:
    found = faults(pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(found) if found else "folder dependencies: as docs/architecture.md allows")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
