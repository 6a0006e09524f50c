"""The hook when another PIL is found first: by PYTHONPATH, beside the program, or in the working directory."""

import json
from pathlib import Path

import pytest
from support.environments.guarded import Guarded, make_guarded, python_at_hand, warnings

from fastinstall.journal.layout import EVENTS

pytestmark = pytest.mark.main

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
IMPORT = "import PIL; print(PIL.__version__)"


@pytest.fixture(params=VERSIONS)
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Guarded:
    python = python_at_hand(request.param)
    if python is None:
        pytest.skip(f"Python {request.param} is not on this machine")
    return make_guarded(tmp_path, python, name="env with späces")


def _put_other(directory: Path) -> Path:
    package = directory / "PIL"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = 'other'\n")
    return package


def _story(guarded: Guarded, place: Path) -> str:
    return f"fastinstall: the fast Pillow 12.1.1.post0 in {guarded.prefix} is hidden by {place}"


def test_a_pil_of_pythonpath_is_told_with_its_place(guarded: Guarded, tmp_path: Path) -> None:
    place = _put_other(tmp_path / "other")
    result = guarded.run("-c", IMPORT, PYTHONPATH=str(tmp_path / "other"))
    told, hint = result.stderr.splitlines()
    assert (result.stdout, told) == ("other\n", _story(guarded, place))
    assert hint == f"hint: fastinstall doctor --prefix '{guarded.prefix}'"
    events = [json.loads(line) for line in (guarded.prefix / EVENTS).read_text().splitlines()]
    assert [event["change"] for event in events] == [f"is hidden by {place}"]
    assert guarded.run("-I", "-c", "import PIL", PYTHONPATH=str(tmp_path / "other")).stderr == ""


def test_a_module_beside_the_program_is_reported_via_a_link_too(guarded: Guarded, tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "PIL.py").write_text("__version__ = 'other'\n")
    (scripts / "program.py").write_text(IMPORT)
    told = [_story(guarded, scripts / "PIL.py")]
    assert warnings(guarded.run(scripts / "program.py")) == told
    elsewhere = tmp_path / "link.py"
    elsewhere.symlink_to(scripts / "program.py")
    assert warnings(guarded.run(elsewhere)) == told


def test_a_pil_in_the_cwd_is_reported_for_dash_c_and_dash_m(guarded: Guarded, tmp_path: Path) -> None:
    place = _put_other(guarded.temporary)
    (guarded.temporary / "module.py").write_text(IMPORT)
    (tmp_path / "program.py").write_text(IMPORT)
    assert warnings(guarded.run("-c", IMPORT)) == [_story(guarded, place)]
    assert warnings(guarded.run("-m", "module")) == [_story(guarded, place)]
    assert guarded.run(tmp_path / "program.py").stderr == ""


def test_a_directory_without_init_hides_nothing(guarded: Guarded, tmp_path: Path) -> None:
    (tmp_path / "other/PIL").mkdir(parents=True)
    assert guarded.run("-c", IMPORT, PYTHONPATH=str(tmp_path / "other")).stderr == ""


def test_site_packages_itself_in_pythonpath_hides_nothing(guarded: Guarded) -> None:
    assert guarded.run("-c", IMPORT, PYTHONPATH=str(guarded.site)).stderr == ""


def test_a_program_that_imports_no_pil_is_told_nothing(guarded: Guarded, tmp_path: Path) -> None:
    _put_other(tmp_path / "other")
    assert guarded.run("-c", "pass", PYTHONPATH=str(tmp_path / "other")).stderr == ""


def test_a_replaced_stack_is_told_before_a_hidden_one(guarded: Guarded, tmp_path: Path) -> None:
    _put_other(tmp_path / "other")
    guarded.swap(tool="uv", version="13.0.0")
    told = warnings(guarded.run("-c", IMPORT, PYTHONPATH=str(tmp_path / "other")))
    assert len(told) == 1
    assert "was replaced with Pillow 13.0.0 by uv" in told[0]
