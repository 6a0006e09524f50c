"""Virtual environments with pip, copied, because `python -m venv` takes seconds to install pip."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.made_once import key_of, made_once


def add_pip(prefix: Path, python: Path, cache: Path, variables: Mapping[str, str]) -> None:
    """Copy into an environment without pip what `python -m venv` would have installed.

    Args:
        prefix: the environment, created by `python -m venv --without-pip`.
        python: the interpreter that it was created with.
        cache: fastinstall's cache, which keeps the environment to copy from.
        variables: the environment variables for the creation of that environment.
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
