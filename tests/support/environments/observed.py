"""Real environments to observe: created by venv or uv, with Pillow's official wheel."""

import subprocess
import sys
from pathlib import Path

PILLOW = "12.1.1"
UV = Path(sys.executable).with_name("uv")


def make_environment(prefix: Path, python: Path, *, tool: str = "uv") -> Path:
    """Create a virtual environment without pip, and return its interpreter."""
    own = {"uv": (UV, "venv", "--quiet", "--python", python), "venv": (python, "-m", "venv", "--without-pip")}
    subprocess.run((*own[tool], prefix), check=True, capture_output=True)
    return prefix / "bin/python"


def install_wheel(python: Path, requirement: str) -> None:
    """Install wheels from the package index, copied rather than linked, so that a test may damage them."""
    options = ("--quiet", "--only-binary", ":all:", "--link-mode", "copy", "--python", str(python))
    subprocess.run((UV, "pip", "install", *options, requirement), check=True, capture_output=True)


def site_packages(python: Path) -> Path:
    """Return the site-packages directory of an environment."""
    return next(python.parent.parent.glob("lib/python3*/site-packages"))
