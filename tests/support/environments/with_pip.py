"""Virtual environments with pip inside for the price of a copy: `python -m venv` takes seconds to put it there."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.made_once import key_of, made_once


def add_pip(prefix: Path, python: Path, cache: Path, variables: Mapping[str, str]) -> None:
    """Put into an environment without pip what `python -m venv` would have installed there.

    Args:
        prefix: the environment, made by `python -m venv --without-pip`.
        python: the interpreter that it was made from.
        cache: fastinstall's, for the environment that it is copied from, which is made once.
        variables: the environment variables to make that one with.
    """

    def make(directory: Path) -> None:
        subprocess.run((python, "-m", "venv", directory), env=variables, check=True, capture_output=True)

    made = made_once(cache / "testbed" / f"venv-{key_of(str(python))}", make)
    (site,) = made.glob("lib/python3*/site-packages")
    shutil.copytree(site, prefix / site.relative_to(made), dirs_exist_ok=True)
    for script in made.glob("bin/pip*"):
        own = prefix / "bin" / script.name
        own.write_text(script.read_text(encoding="utf-8").replace(str(made), str(prefix)), encoding="utf-8")
        own.chmod(0o755)
