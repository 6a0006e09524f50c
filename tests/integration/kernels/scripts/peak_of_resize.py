"""Script for one PIL: prints by how many megabytes a resize to one row raises the peak of the address space."""

import sys
from pathlib import Path

from PIL import Image


def main() -> None:
    """Print the growth in megabytes."""
    picture = Image.new("RGB", (3000, 2000))
    before = read_peak()
    picture.resize((1500, 1), Image.Resampling.LANCZOS)
    sys.stdout.write(f"{(read_peak() - before) // 1024}\n")


def read_peak() -> int:
    """Return the peak of the address space so far, in kB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmPeak:"))


if __name__ == "__main__":
    main()
