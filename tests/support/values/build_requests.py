"""A build request for tests, independent of this machine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from support.values.builders import healthy_facts, recipe

from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.machine import Compiler
from fastinstall.model.recipe import NativeRequirement, Recipe
from fastinstall.model.request import LinkMode
from fastinstall.setup.steps.build import Build
from fastinstall.wheelbuild.build_inputs import BuildRequest

JPEG = NativeRequirement(
    header="jpeglib.h", link="jpeg", feature="JPEG", option="jpeg", apt=("libjpeg-dev",), dnf=("libjpeg-turbo-devel",)
)
ZLIB = NativeRequirement(header="zlib.h", link="z", feature="ZLIB (PNG/ZIP)", option="zlib", apt=("zlib1g-dev",))
TIFF = NativeRequirement(
    header="tiffio.h", link="tiff", feature="LIBTIFF", option="tiff", apt=("libtiff-dev",), conda=("libtiff",)
)
WEBP = NativeRequirement(header="webp/decode.h", link="webp", feature="WEBP", option="webp", core=False)
V3 = LevelTarget(level="x86-64-v3", cflags=("-O3", "-march=x86-64-v3"), ldflags=("-Wl,-z,x86-64-v3",))


def build_recipe() -> Recipe:
    return replace(recipe(), libraries={"jpeg": JPEG, "zlib": ZLIB, "tiff": TIFF, "webp": WEBP})


def build_step(**changes: Any) -> Build:
    source = Artefact(
        name="pillow-simd",
        version="12.1.1.post0",
        filename="pillow_simd-12.1.1.post0.tar.gz",
        url="https://index.test/pillow_simd-12.1.1.post0.tar.gz",
        sha256="5d15" * 16,
    )
    step = Build(
        recipe="pillow-simd",
        source=source,
        base_wheel=None,
        distribution="pillow",
        version="12.1.1+simd.v3",
        targets=(V3,),
        link=LinkMode.BUNDLE,
        libraries=("jpeg", "zlib", "webp"),
        jobs=3,
        reason="a test",
    )
    return replace(step, **changes)


def build_request(directory: Path, **changes: Any) -> BuildRequest:
    """Return a request whose sdist exists; `changes` are fields of the request."""
    source = directory / "pillow_simd-12.1.1.post0.tar.gz"
    source.write_bytes(b"not unpacked by these tests")
    request = BuildRequest(
        recipe=build_recipe(),
        step=build_step(),
        interpreter=healthy_facts().interpreter,
        source=source,
        compiler=Compiler(command=("cc",), version="cc 12.2.0", accepts=()),
        cache=directory / "cache",
        pip=("/srv/tool/python", "-m", "pip", "--python", "/srv/images/env/bin/python"),
        variables={"PATH": "/usr/bin", "HOME": "/home/someone"},
    )
    return replace(request, **changes)


def wheel_tree(directory: Path, *, platform: str = "linux_x86_64") -> Path:
    """Write a small unpacked wheel, in the form that a build backend produces."""
    metadata = directory / "pillow_simd-12.1.1.post0.dist-info"
    package = directory / "PIL"
    package.mkdir(parents=True)
    metadata.mkdir()
    (package / "__init__.py").write_text("from . import _version\n")
    (package / "_version.py").write_text('__version__ = "12.1.1.post0"\n')
    core = package / "_imaging.cpython-311-x86_64-linux-gnu.so"
    core.write_bytes(b"\x7fELF and so on")
    core.chmod(0o755)
    (metadata / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: setuptools (84.2.1)\nRoot-Is-Purelib: false\nTag: cp311-cp311-{platform}\n"
    )
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: pillow-simd\nVersion: 12.1.1.post0\nSummary: Imaging (fork)\n"
        "Requires-Dist: furo; extra == 'docs'\n\nPillow\n======\n\nName: this line is prose\n"
    )
    (metadata / "RECORD").write_text("stale,,\n")
    return directory


def offer_programs(directory: Path, *programs: str) -> dict[str, str]:
    """Create programs that do nothing; return environment variables with which only these programs are found."""
    for program in programs:
        path = directory / program
        path.write_text("#!/bin/false\n")
        path.chmod(0o755)
    return {"PATH": str(directory)}
