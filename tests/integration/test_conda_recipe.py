"""The recipes for rattler-build: it builds and tests packages from them, which are then installed.

The wheel comes from a wheelhouse; other tests cover building it. A fake package stands in for conda-forge's
`_x86_64-microarch-level`, with the same dependencies.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rattler_build import Stage0Recipe, ToolConfiguration, VariantConfig
from support.conda.channel import CondaChannel, local_channel
from support.conda.environments import builds, rattler_environment
from support.conda.packed_stack import labelled_wheel
from support.conda.processors import LEVELS, processors
from support.sandbox import NewSandbox, Sandbox, run

from fastinstall.core.directories import recipes_directory
from fastinstall.model.conda import CondaPackage as Package
from fastinstall.model.conda_packages import GUARD, GUARD_VERSION, is_our_package, preference

pytest_plugins = ("support.conda.fixtures",)

RECIPES = recipes_directory() / "conda"
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
BUILD = f"simd_v2_py{MINOR.replace('.', '')}_0"


@pytest.fixture(scope="module")
def urls(new_sandbox: NewSandbox, channel: CondaChannel, unpacked: Path) -> Iterator[list[str]]:
    """Yield the URLs of two channels: of the packages built here, and of the packages that they were built with."""
    with new_sandbox() as sandbox:
        (sandbox.root / "rattler").mkdir()
        (sandbox.root / "rattler/pkgs").symlink_to(unpacked)
        wheel = labelled_wheel(channel.wheel, sandbox.root, "simd.v2")
        of_processors = local_channel(sandbox.root / "processors", *processors())
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RATTLER_CACHE_DIR", str(sandbox.root / "rattler"))
            patch.setenv("FASTINSTALL", f"{sys.executable} -m fastinstall")
            patch.setenv("FASTINSTALL_OPTIONS", f"--wheelhouse {wheel.parent} --offline")
            variant = {"pillow_version": [channel.pillow], "microarch_level": ["2"], "python": [MINOR]}
            _built("pillow", VariantConfig(variant), sandbox, [channel.url, of_processors])
            _built(GUARD, VariantConfig(), sandbox, [channel.url])
        yield [(sandbox.root / "out").as_uri(), channel.url, of_processors]


def test_what_it_builds_is_installed_and_runs(
    urls: list[str], sandbox: Sandbox, channel: CondaChannel, unpacked: Path
) -> None:
    prefix = rattler_environment(urls, sandbox.root / "env", ("python", "pip", "imgtool", "pillow", GUARD), unpacked)
    assert builds(prefix)["pillow"] == f"{channel.pillow} {BUILD}"
    assert builds(prefix)[GUARD].startswith(f"{GUARD_VERSION} ")
    assert run((prefix / "bin/python", RECIPES / "pillow/test_operations.py"), sandbox.variables()).exit_code == 0
    assert run((prefix / "bin/python", "-m", "pip", "check"), sandbox.variables()).exit_code == 0
    assert list(prefix.glob("etc/conda/activate.d/fastinstall.sh"))


def test_the_guard_of_the_recipe_keeps_the_stack(
    urls: list[str], sandbox: Sandbox, channel: CondaChannel, unpacked: Path
) -> None:
    from rattler.exceptions import SolverError

    prefix = rattler_environment(urls, sandbox.root / "env", ("python", "pillow", GUARD), unpacked)
    with pytest.raises(SolverError, match=GUARD):
        rattler_environment(urls[1:], prefix, (f"pillow={channel.newer_pillow}",), unpacked)


def test_each_level_is_numbered_and_named_as_in_fastinstall() -> None:
    variants = VariantConfig.from_file(RECIPES / "pillow/variants.yaml")
    rendered = [
        each.recipe.to_dict() for each in Stage0Recipe.from_file(RECIPES / "pillow/recipe.yaml").render(variants)
    ]
    found = {(each["build"]["string"], each["build"]["number"]) for each in rendered}
    pythons = ("310", "311", "312", "313")
    levels = {f"simd_{level[-2:]}": preference((level,)) for level in LEVELS}
    assert found == {(f"{name}_py{python}_0", number) for name, number in levels.items() for python in pythons}
    assert all(is_our_package(Package(name="pillow", version="13.0.0", build=string)) for string, _number in found)


def _built(name: str, variant: VariantConfig, sandbox: Sandbox, channels: list[str]) -> None:
    """Build a recipe, and have rattler-build run the recipe's own tests."""
    Stage0Recipe.from_file(RECIPES / name / "recipe.yaml").run_build(
        variant_config=variant,
        tool_config=ToolConfiguration(test_strategy="native"),
        output_dir=sandbox.root / "out",
        channels=channels,
        package_format="conda:1",
        no_include_recipe=True,
    )
