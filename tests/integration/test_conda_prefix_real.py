"""Conda environments made by real engines: what fastinstall reads from their files matches the engines' reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel
from support.conda.environments import OLD, USUAL, NewEnvironment, installed, simd_wheel
from support.conda.real_conda import RealConda
from support.sandbox import UV, NewSandbox, Sandbox, run

from fastinstall.model.conda import Conda, CondaClaim, CondaClash
from fastinstall.model.facts import Interpreter
from fastinstall.observe.conda.channels import read_configured_channels
from fastinstall.observe.conda.executable import find_conda
from fastinstall.observe.conda.prefix import observe_conda
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.observe.stack import observe_distributions

pytest_plugins = ("support.conda.fixtures",)
REPLACED = ("pillow", "pil", "pillow-simd")
HEADERS = ("include/jconfig.h", "include/jmorecfg.h", "include/jpeglib.h")


@pytest.fixture(scope="module")
def usual(conda_environment: NewEnvironment, new_sandbox: NewSandbox) -> Iterator[Path]:
    """Yield an environment like that of a conda-forge user; no test changes it."""
    with new_sandbox() as sandbox:
        yield conda_environment(sandbox.root / "usual", *USUAL)


def _interpreter(prefix: Path) -> Interpreter:
    return observe_interpreter(prefix / "bin/python")


def _observe(prefix: Path, *, thorough: bool = True) -> Conda:
    interpreter = _interpreter(prefix)
    known = observe_distributions(Path(interpreter.site_packages))
    distributions = tuple(each for each in known if each.name in REPLACED)
    return observe_conda(prefix, interpreter, REPLACED, {}, distributions=distributions, thorough=thorough)


def _claims(conda: Conda) -> dict[str, CondaClaim]:
    return {claim.dist: claim for claim in conda.claims}


def _clashes(conda: Conda) -> dict[str, CondaClash]:
    return {clash.path: clash for clash in conda.clashes}


@pytest.mark.parametrize("thorough", [True, False])
def test_an_environment_fresh_from_an_engine_has_no_problems(usual: Path, *, thorough: bool) -> None:
    conda = _observe(usual, thorough=thorough)
    assert [claim.dist.rsplit("-", 2)[0] for claim in conda.claims] == ["libjpeg-turbo", "libtiff", "pillow"]
    assert not any(claim.missing or claim.altered for claim in conda.claims)
    assert (conda.unreadable, conda.clashes, conda.debris, conda.stale, conda.is_base) == ({}, (), (), (), False)
    (created,) = conda.revisions
    assert (created.number, created.at, created.unlinked) == (0, "2026-01-02 03:04:05", ())
    assert {dist.rsplit("-", 2)[0] for dist in created.linked} == {"libjpeg-turbo", "libtiff", "pillow"}


def test_packages_are_what_py_rattler_reads(usual: Path) -> None:
    packages = {package.record: package for package in _observe(usual).packages}
    records = {record.file_name.replace(".conda", ".json"): record for record in installed(usual)}
    assert packages.keys() == records.keys()
    for name, record in records.items():
        package = packages[name]
        assert (package.name, package.version) == (record.name.normalized, str(record.version))
        assert package.build == str(record.build)
        assert (package.build_number, package.subdir, package.url) == (record.build_number, record.subdir, record.url)
        assert (package.depends, package.constrains) == (tuple(record.depends), tuple(record.constrains))
        assert record.sha256 is not None
        assert package.sha256 == record.sha256.hex()


def test_a_library_conda_gave_to_another_package_belongs_to_it(
    conda_environment: NewEnvironment, conda: RealConda, channel: CondaChannel, sandbox: Sandbox
) -> None:
    prefix = conda_environment(sandbox.root / "env", *OLD)
    conda.install(prefix, "--no-deps", "libjpeg-turbo=2.1.5.1")
    found = _observe(prefix)
    jpeg, turbo = (package for package in found.packages if package.name in ("jpeg", "libjpeg-turbo"))
    clashes = _clashes(found)
    assert {"lib/libjpeg.so", *HEADERS} <= clashes.keys()
    assert {(clash.claimants, clash.holder) for clash in clashes.values()} == {((jpeg.dist, turbo.dist), turbo.dist)}
    assert _claims(found)[turbo.dist].altered == ()
    assert {"lib/libjpeg.so", *HEADERS} <= {*_claims(found)[jpeg.dist].altered}
    assert (turbo.channel, found.revisions[-1].number) == (channel.url, 1)
    assert (found.revisions[-1].linked, found.revisions[-1].unlinked) == ((turbo.dist,), ())
    assert "libjpeg-turbo=2.1.5.1" in found.revisions[-1].command


def test_what_py_rattler_put_aside_is_told(new_environment: NewEnvironment, sandbox: Sandbox) -> None:
    prefix = new_environment(sandbox.root / "env", "python", "jpeg", "libjpeg-turbo=2.1.5.1")
    found = _observe(prefix)
    assert (found.debris, found.unreadable, found.revisions) == ((), {}, ())
    assert not any(claim.missing or claim.altered for claim in found.claims)
    assert {"lib/libjpeg.so", *HEADERS} <= _clashes(found).keys()
    for clash in found.clashes:
        aside = [claim.dist for claim in found.claims if any(each.endswith(f"/{clash.path}") for each in claim.files)]
        assert [clash.holder, *aside] in (list(clash.claimants), list(reversed(clash.claimants)))


def test_pips_wheel_over_condas_package_is_another_claimant(
    channel: CondaChannel, conda_environment: NewEnvironment, sandbox: Sandbox
) -> None:
    prefix = conda_environment(sandbox.root / "env", *USUAL)
    into = ("--python", prefix / "bin/python", "--no-deps", "--no-index", "--link-mode", "copy")
    done = run((UV, "pip", "install", *into, simd_wheel(channel.wheel, sandbox.root)), sandbox.variables())
    assert done.exit_code == 0, done.text
    found = _observe(prefix)
    pillow = found.named("pillow")
    assert pillow is not None
    core = next(path for path in _clashes(found) if "/PIL/_imaging." in path)
    simd = f"pip: pillow-simd {channel.pillow}"
    assert _clashes(found)[core] == CondaClash(path=core, claimants=(pillow.dist, simd), holder=simd)


def test_the_conda_executable_is_found_with_version_and_settings(usual: Path, conda: RealConda) -> None:
    tool = find_conda(conda.variables, usual)
    assert tool is not None
    assert (tool.command, tool.version, tool.found_by) == ((str(conda.executable),), conda.version, "CONDA_EXE")
    said = conda.run("config", "--show", "channels", "solver", "--json").document
    assert (list(read_configured_channels(conda.variables, usual, Path(tool.root))), tool.solver) == (
        said["channels"],
        said["solver"],
    )
