"""What the wizard says of conda's plugin."""

from pathlib import Path

import pytest

from fastinstall.cli.wizard.plugin_offer import offer_conda_plugin

CHECKOUT = Path("/srv/fast install")


def _base(root: Path, python: str) -> Path:
    (root / "conda-meta").mkdir()
    (root / f"conda-meta/python-{python}-h1234567_0_cpython.json").touch()
    return root


def test_the_checkout_is_installed_by_condas_own_python(tmp_path: Path) -> None:
    offer = offer_conda_plugin(_base(tmp_path, "3.12.4"), CHECKOUT)
    assert offer == f"{tmp_path}/bin/python -m pip install '/srv/fast install'"
    assert offer_conda_plugin(tmp_path, None).endswith(" -m pip install fastinstall")


@pytest.mark.parametrize("python", ["3.10.14", "3.9.1"])
def test_a_conda_whose_python_is_too_old_gets_no_offer(tmp_path: Path, python: str) -> None:
    assert offer_conda_plugin(_base(tmp_path, python), CHECKOUT) == ""


def test_a_conda_that_has_the_plugin_gets_no_offer(tmp_path: Path) -> None:
    (_base(tmp_path, "3.12.4") / "lib/python3.12/site-packages/fastinstall-0.1.0.dist-info").mkdir(parents=True)
    assert offer_conda_plugin(tmp_path, CHECKOUT) == ""
