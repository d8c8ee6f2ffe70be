"""How long a person waits for the shortest commands: `--help`, and `validate` of the sample fleet."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("gitops-vg")


def seconds(*arguments: str, runs: int = 9) -> float:
    """Median wall time of whole processes."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run([PROGRAM, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return median(times)


def bare_python() -> float:
    """An interpreter that does nothing: the bound below which no Python program gets."""
    times = []
    for _ in range(9):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append(time.perf_counter() - started)
    return median(times)


def main() -> None:
    print(f"python -c pass: {bare_python():.3f} s (the bound)")
    print(f"--help: {seconds('--help'):.3f} s (target ≤ 0.2 s)")
    print(f"validate of the sample fleet: {seconds('validate', '-C', str(ROOT)):.3f} s (target ≤ 0.6 s)")


if __name__ == "__main__":
    main()
