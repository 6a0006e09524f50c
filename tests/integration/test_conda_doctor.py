"""Doctor in real conda environments: no findings in healthy ones, and the damage that the classic recipe causes.

Needs a package index and a C compiler for the local channel. Downloads and built packages are kept in
FASTINSTALL_TEST_CACHE if it is set.
"""

from collections.abc import Iterator
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.conda.channel import CondaChannel
from support.conda.environments import USUAL, NewEnvironment, classic_recipe, rattler_environment, simd_wheel
from support.conda.packed_stack import labelled_wheel, packed_stack
from support.conda.real_conda import RealConda
from support.environments.verdicts import Finding, alarms, examined, messages
from support.machine.needs import require_system
from support.sandbox import NewSandbox, Sandbox, Venv

pytest_plugins = ("support.conda.fixtures",)

OLD = ("python", "pip", "pillow=9.5.0", "jpeg", "libtiff", "imgtool", "puretool=1.0")
"""An environment from the time when Pillow was linked to IJG's libjpeg, with a tool that accepts any Pillow."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """An environment, and doctor's findings on it."""

    prefix: Path
    findings: tuple[Finding, ...]

    def said(self, check: str, status: str) -> Finding:
        """Return the only finding of a check with this status."""
        (found,) = (each for each in self.findings if (each["check"], each["status"]) == (check, status))
        return found


@pytest.fixture(scope="module")
def classic(
    conda_environment: NewEnvironment, conda: RealConda, channel: CondaChannel, new_sandbox: NewSandbox
) -> Iterator[Examined]:
    """Yield an old environment in which the classic recipe was followed, and doctor's findings on it."""
    with new_sandbox() as sandbox:
        prefix = conda_environment(sandbox.root / "old", *OLD)
        classic_recipe(conda, prefix, simd_wheel(channel.wheel, sandbox.root))
        yield Examined(prefix=prefix, findings=examined(sandbox, "--prefix", prefix))


def beside_conda(prefix: Path, sandbox: Sandbox) -> Venv:
    """Return the conda environment as a virtual environment: pip and uv treat it as one."""
    return Venv(prefix=prefix, variables=sandbox.variables())


def lines(finding: Finding) -> str:
    return "\n".join(finding["evidence"])


@pytest.mark.parametrize("maker", ["conda_environment", "new_environment"])
def test_a_fresh_environment_gives_no_alarm(request: pytest.FixtureRequest, sandbox: Sandbox, maker: str) -> None:
    make: Any = request.getfixturevalue(maker)
    prefix = make(sandbox.root / "env", *USUAL)
    findings = examined(sandbox, "--prefix", prefix)
    assert alarms(findings) == {}
    (owner,) = messages(findings, "pillow-owner", "ok")
    assert "conda's pillow 12.1.1 (" in owner
    (jpeg,) = messages(findings, "jpeg-library", "ok")
    assert "this conda environment's libjpeg-turbo-3." in jpeg
    assert messages(findings, "conda-records", "ok")


def test_a_fresh_environment_with_our_packages_gives_no_alarm(
    channel: CondaChannel, unpacked: Path, sandbox: Sandbox
) -> None:
    ours = packed_stack(labelled_wheel(channel.wheel, sandbox.root), sandbox.root / "ours", "x86-64-v2", "x86-64-v3")
    specs = ("python", "pip", "pillow", "fastinstall-guard", "imgtool")
    prefix = rattler_environment([ours.url, channel.url], sandbox.root / "env", specs, unpacked)
    findings = examined(sandbox, "--prefix", prefix)
    assert set(alarms(findings)) == {"simd-active"}, "the core is a stand-in: Pillow's own"
    (owner,) = messages(findings, "pillow-owner", "ok")
    assert f"conda's pillow 12.1.1 ({ours.package.build} of " in owner
    (libraries,) = messages(findings, "pillow-files", "ok")
    assert "files match " in libraries


def test_the_recipes_last_line_leaves_pillow_with_two_owners(classic: Examined) -> None:
    owner = classic.said("pillow-owner", "error")
    for package in ("conda's pillow 9.5.0", "pillow-simd 12.1.1"):
        assert package in owner["message"]
    of_conda, of_pip = owner["evidence"]
    assert ", by `conda install --yes" in of_conda
    assert " jpeg libtiff` at " in of_conda
    assert of_conda.endswith("is its own")
    assert of_pip.endswith("is not its own")
    assert owner["remedy"]["command"] == f"fastinstall setup --prefix {classic.prefix}"


def test_the_recipe_leaves_libjpegs_headers_and_name_to_the_ijg(classic: Examined) -> None:
    (loaded,) = (found for found in classic.findings if found["check"] == "jpeg-library")
    headers = classic.said("conda-records", "warning")
    assert loaded["message"].startswith("the core loads IJG libjpeg 9e, not libjpeg-turbo")
    assert "it is this conda environment's jpeg-9e-" in lines(loaded)
    assert headers["observed"].startswith("jpeg-9e-")
    assert "include/jpeglib.h" in headers["evidence"]
    assert headers["remedy"]["command"] == f"fastinstall doctor --fix --prefix {classic.prefix}"
    assert (classic.prefix / "lib/libjpeg.so").readlink() == Path("libjpeg.so.9")


def test_the_systems_libtiff_is_named_where_condas_was_removed(
    conda_environment: NewEnvironment, conda: RealConda, sandbox: Sandbox
) -> None:
    require_system(find_library("tiff") == "libtiff.so.6", "libtiff.so.6")
    prefix = conda_environment(sandbox.root / "env", *USUAL)
    conda.remove(prefix, "--force", "libtiff")
    tiff = Examined(prefix=prefix, findings=examined(sandbox, "--prefix", prefix)).said("libraries-resolve", "warning")
    assert tiff["message"].startswith("libtiff.so.6 comes from outside")
    assert "conda's libtiff is not installed: " in lines(tiff)


def test_pip_over_conda_is_reported_and_so_is_pips_uninstall(
    conda_environment: NewEnvironment, channel: CondaChannel, sandbox: Sandbox
) -> None:
    prefix = conda_environment(sandbox.root / "env", *USUAL)
    venv = beside_conda(prefix, sandbox)
    assert venv.pip("install", "--no-deps", "--no-index", "--force-reinstall", str(channel.wheel)).exit_code == 0
    contested = Examined(prefix=prefix, findings=examined(sandbox, "--quick", "--prefix", prefix))
    message = contested.said("pillow-owner", "error")["message"]
    assert " pillow 12.1.1 and conda's pillow" in message
    assert venv.pip("uninstall", "--yes", "pillow").exit_code == 0
    dangling = Examined(prefix=prefix, findings=examined(sandbox, "--quick", "--prefix", prefix))
    message = dangling.said("pillow-owner", "error")["message"]
    assert message.startswith("conda's pillow 12.1.1 is listed")
    assert message.endswith("files are missing")
