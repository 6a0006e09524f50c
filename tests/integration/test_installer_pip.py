import os
import re
import sys
import venv
from pathlib import Path

import pytest

from fastinstall.core.errors import FailedError
from fastinstall.core.process import run
from fastinstall.index.pip import pip_settings


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return a virtual environment without pip, at a path with a space and accents."""
    directory = tmp_path / "env é ü"
    venv.create(directory, with_pip=False, symlinks=True)
    return directory


def variables(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {**kept, "PIP_CONFIG_FILE": os.devnull, **changes}


def add_distribution(prefix: Path, name: str, requires: str = "") -> None:
    site = next(prefix.glob("lib/python3*/site-packages"))
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    requirement = f"Requires-Dist: {requires}\n" if requires else ""
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requirement}")
    (metadata / "RECORD").write_text("")


def test_variables_are_read_as_pip_reads_them(prefix: Path) -> None:
    given = variables(
        PIP_INDEX_URL="https://mirror.example/simple", PIP_EXTRA_INDEX_URL="https://a.example https://b.example"
    )

    settings = pip_settings(prefix / "bin" / "python", given)

    assert settings.index_url == "https://mirror.example/simple"
    assert settings.extra_index_urls == ("https://a.example", "https://b.example")


def test_the_targets_own_configuration_is_read(prefix: Path) -> None:
    given = variables()
    del given["PIP_CONFIG_FILE"]
    (prefix / "pip.conf").write_text("[global]\ntrusted-host = mirror.example\n[install]\nfind-links = /srv/wheels\n")

    settings = pip_settings(prefix / "bin" / "python", given)

    assert settings.trusted_hosts == ("mirror.example",)
    assert settings.find_links == ("/srv/wheels",)


def test_a_configuration_pip_cannot_read_fails_in_pips_words(prefix: Path, tmp_path: Path) -> None:
    broken = tmp_path / "pip.conf"
    broken.write_text("no section\n")

    with pytest.raises(FailedError, match="cannot read its configuration") as failed:
        pip_settings(prefix / "bin" / "python", variables(PIP_CONFIG_FILE=str(broken)))

    assert any("no section" in line for line in failed.value.details)


def told_by_pip(python: Path, given: dict[str, str]) -> dict[str, str]:
    """Return the locations that a real pip says it searches, by kind ("indexes", "links")."""
    words = ("install", "--dry-run", "--retries", "0", "--no-deps", "nothing-of-that-name")
    done = run((sys.executable, "-m", "pip", "--python", str(python), *words), environment=given, check=False)
    return dict(re.findall(r"^Looking in (\w+): (.*)$", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("named", [False, True])
def test_the_settings_are_those_that_pip_itself_tells(
    prefix: Path,
    tmp_path: Path,
    named: bool,  # noqa: FBT001 (a row)
) -> None:
    home, shared, further = tmp_path / "home", tmp_path / "shared", tmp_path / "further.conf"
    given = variables(HOME=str(home), XDG_CONFIG_DIRS=str(shared), PIP_PROXY="http://of-a-variable:1")
    given.pop("XDG_CONFIG_HOME", None)
    del given["PIP_CONFIG_FILE"]
    for number, file in enumerate(
        (shared / "pip/pip.conf", home / ".pip/pip.conf", home / ".config/pip/pip.conf", prefix / "pip.conf", further)
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        own = f"index-url = http://127.0.0.1:9/{number}\nfind_links =\n  {tmp_path}/a{number}\n  {tmp_path}/b\n"
        file.write_text(
            f"[global]\n{own}--timeout = {number + 1}\n[install]\ntrusted-host = h{number}\n[x]\nproxy = no\n"
        )
        if named and file == further:
            given["PIP_CONFIG_FILE"] = str(further)
        ours, theirs = pip_settings(prefix / "bin/python", given), told_by_pip(prefix / "bin/python", given)
        assert (ours.index_url, ", ".join(ours.find_links)) == (theirs["indexes"], theirs["links"])
        counted = 3 if file == further and not named else number
        assert (ours.trusted_hosts, ours.timeout, ours.proxy) == (
            (f"h{counted}",),
            counted + 1,
            "http://of-a-variable:1",
        )


def test_the_tools_own_interpreter_is_a_target_like_any_other() -> None:
    assert pip_settings(Path(sys.executable), variables(PIP_PROXY="http://p.example:1")).proxy == "http://p.example:1"
