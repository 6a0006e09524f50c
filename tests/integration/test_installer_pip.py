import os
import sys
import venv
from pathlib import Path

import pytest
from guarded import python_at_hand

from fastinstall.core.errors import FailedError
from fastinstall.core.process import CommandError, run
from fastinstall.index.pip import pip_environment, pip_settings

OLDER_THAN_OUR_PIP = "3.9"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A virtual environment without pip, at a path that is not easy."""
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


def test_a_configuration_that_pip_cannot_read_is_a_failure_with_pips_words(prefix: Path, tmp_path: Path) -> None:
    broken = tmp_path / "pip.conf"
    broken.write_text("no section\n")

    with pytest.raises(FailedError, match="cannot read its configuration") as failed:
        pip_settings(prefix / "bin" / "python", variables(PIP_CONFIG_FILE=str(broken)))

    assert any("no section" in line for line in failed.value.details)


def test_a_directory_named_pip_where_we_stand_is_not_run(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__init__.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)

    given = variables(PIP_INDEX_URL="https://mirror.example/simple")
    assert pip_settings(prefix / "bin" / "python", given).index_url == "https://mirror.example/simple"


def test_a_target_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nowhere/python: cannot be started: No such file"):
        pip_settings(tmp_path / "nowhere" / "python", variables())


def test_a_target_older_than_our_pip_is_served_by_its_own_or_by_ours(tmp_path: Path) -> None:
    python = python_at_hand(OLDER_THAN_OUR_PIP)
    if python is None:
        pytest.skip(f"no Python {OLDER_THAN_OUR_PIP} at hand")
    for name, flags in (("with", ()), ("without", ("--without-pip",))):
        run((python, "-m", "venv", *flags, tmp_path / name), environment=pip_environment(os.environ))
    given = variables(PIP_INDEX_URL="https://mirror.example/simple")

    for name in ("with", "without"):
        assert pip_settings(tmp_path / name / "bin" / "python", given).index_url == "https://mirror.example/simple"


def test_the_tools_own_interpreter_is_a_target_like_any_other() -> None:
    assert pip_settings(Path(sys.executable), variables(PIP_PROXY="http://p.example:1")).proxy == "http://p.example:1"
