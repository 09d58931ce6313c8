"""Run all benchmarks, one after the other: every program in this folder.

    python benchmarks/run.py [--quick]

A benchmark is a file here that takes ``--quick`` and prints its tables.  Each runs in a
process of its own, so that none starts with what another left behind.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def programs() -> list[Path]:
    return sorted(path for path in HERE.glob("*.py") if path.name != "run.py")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run all benchmarks.")
    parser.add_argument("--quick", action="store_true", help="measure less, for a first look")
    options = parser.parse_args()

    failed = []
    for program in programs():
        command = [sys.executable, str(program)]
        command += ["--quick"] if options.quick else []
        if subprocess.run(command, check=False).returncode != 0:
            failed.append(program.name)
    if failed:
        print(f"did not run to the end: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
