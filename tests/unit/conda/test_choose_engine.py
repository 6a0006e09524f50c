"""Which conda engine is chosen, and the environment variables with which conda is run."""

import sys
from pathlib import Path

import pytest

from fastinstall.conda.engines.choose import open_engine
from fastinstall.conda.engines.command import make_conda_variables
from fastinstall.core.errors import RefusedError
from fastinstall.model.conda import CondaInstaller, CondaTool

CACHE = Path("/cache")
TOOL = CondaTool(command=("/conda",), version="24.7.1", root=Path("/opt/conda"), solver="classic", found_by="PATH")


def test_engines_say_what_they_are() -> None:
    assert open_engine(CondaInstaller.CONDA, TOOL, {}, CACHE).description == "conda 24.7.1, classic solver"
    rattler = open_engine(CondaInstaller.RATTLER, None, {}, CACHE)
    assert (rattler.name, rattler.description.partition(" ")[0]) == (CondaInstaller.RATTLER, "py-rattler")


def test_without_a_conda_the_other_engine_is_named() -> None:
    with pytest.raises(RefusedError) as caught:
        open_engine(CondaInstaller.CONDA, None, {}, CACHE)
    assert "--engine rattler" in (caught.value.hint or "")


def test_without_the_extra_the_command_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rattler", None)  # rattler cannot be imported, as if it were not installed
    with pytest.raises(RefusedError) as caught:
        open_engine(CondaInstaller.RATTLER, None, {}, CACHE)
    assert (caught.value.hint or "").endswith("-m pip install 'fastinstall[conda]'")


@pytest.mark.parametrize("engine", [CondaInstaller.AUTO, CondaInstaller.PIP])
def test_what_installs_no_conda_packages_is_no_engine(engine: CondaInstaller) -> None:
    with pytest.raises(ValueError, match="installs no conda packages"):
        open_engine(engine, TOOL, {}, CACHE)


def test_variables_of_the_user_stay_but_for_those_that_mislead() -> None:
    given = {
        "PATH": "/bin",
        "CONDARC": "/rc",
        "CONDA_OVERRIDE_ARCHSPEC": "haswell",
        "CONDA_PINNED_PACKAGES": "numpy=1",
        "CONDA_DRY_RUN": "1",
        "CONDA_SHLVL": "2",
        "PYTHONPATH": "/x",
        "CONDA_AUTO_UPDATE_CONDA": "true",
    }
    made = make_conda_variables(given, CONDA_PREFIX="/env")
    assert {name: made.get(name) for name in given} == {
        "PATH": "/bin",
        "CONDARC": "/rc",
        "CONDA_OVERRIDE_ARCHSPEC": "haswell",
        "CONDA_PINNED_PACKAGES": "numpy=1",
        "CONDA_DRY_RUN": None,
        "CONDA_SHLVL": None,
        "PYTHONPATH": None,
        "CONDA_AUTO_UPDATE_CONDA": "false",
    }
    assert (made["CONDA_PREFIX"], made["FASTINSTALL_GUARD"]) == ("/env", "0")
