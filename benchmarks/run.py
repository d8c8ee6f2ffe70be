"""Runs every benchmark of this folder, one after the other, each in a process of its own.

A benchmark prints lines `name: measured (target …)`; nothing here judges them, because machines differ.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_LONGEST = 600
"""Seconds after which a benchmark is stopped: something hangs."""


def main() -> int:
    failed = []
    wanted = sys.argv[1:]
    for path in sorted(HERE.glob("bench_*.py")):
        if wanted and path.stem.removeprefix("bench_") not in wanted:
            continue
        print(f"\n== {path.stem.removeprefix('bench_')}", flush=True)
        try:
            code = subprocess.run([sys.executable, str(path)], check=False, timeout=_LONGEST).returncode
        except subprocess.TimeoutExpired:
            code = -1
        if code:
            failed.append(path.stem)
    if failed:
        print(f"\nfailed to run: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
