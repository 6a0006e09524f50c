"""What makes two builds of the same inputs the same bytes, whenever and wherever they run.

The rest is done where it arises: a wheel is packed in order and without dates (wheel), its statements hold
neither times nor paths of the machine (provenance, bill), and static libraries are archived without dates (statics).
No `-frandom-seed`: C without link-time optimisation has no names for it to seed.

Source: https://reproducible-builds.org/docs/ and GCC's manual on `-ffile-prefix-map`.
"""

from pathlib import Path

FIXED_VARIABLES = {
    "SOURCE_DATE_EPOCH": "1577836800",  # 2020-01-01: a date that a zip archive can hold
    "PYTHONHASHSEED": "0",  # a build script that walks a set does it in the same order
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}


def path_flags(*directories: Path) -> tuple[str, ...]:
    """Compiler flags after which these directories do not show in what it makes, nor in its debug information.

    Where one lies in another, the inner one counts: GCC takes the last map that fits.
    """
    outermost_first = sorted(directories, key=lambda directory: len(directory.parts))
    return tuple(f"-ffile-prefix-map={directory}=." for directory in outermost_first)
