"""Runs with one PIL: by how many megabytes a resize to one row raises the largest address space of the process."""

import sys
from pathlib import Path

from PIL import Image


def main() -> None:
    """Print the megabytes."""
    picture = Image.new("RGB", (3000, 2000))
    before = read_peak()
    picture.resize((1500, 1), Image.Resampling.LANCZOS)
    sys.stdout.write(f"{(read_peak() - before) // 1024}\n")


def read_peak() -> int:
    """Return the largest address space so far, in kB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmPeak:"))


if __name__ == "__main__":
    main()
