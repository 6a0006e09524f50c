"""A tiny Pillow that runs every stage of a build within a second: an sdist with its own build backend.

It replaces only external inputs. The backend needs nothing from an index and compiles one file, but uses the given
compiler, flags and options, and prints what Pillow's setup.py prints. Everything else is real: pip, compiler, linker,
auditwheel.
"""

import io
import os
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastinstall.compilers.system import observe_compiler
from fastinstall.index.pip import argv_for
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.recipe import BenchSpec, Expectation, NativeRequirement, Recipe, SourceOrigin
from fastinstall.model.request import LinkMode
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.setup.steps.build import Build
from fastinstall.wheelbuild.build_inputs import BuildRequest

VERSION = "12.1.1.post0"
KERNEL = "ImagingResampleHorizontalConvolution8u4x"

_BACKEND = """
import os, shlex, subprocess, sys, sysconfig, zipfile

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
TAG = "cp%d%d" % sys.version_info[:2]
INFO = "pillow_simd-12.1.1.post0.dist-info"

def run(*words):
    print(shlex.join(words), flush=True)
    subprocess.run(words, check=True)

def build_wheel(directory, config_settings=None, metadata_directory=None):
    flags = lambda name: shlex.split(os.environ.get(name, ""))
    include = "-I" + sysconfig.get_paths()["include"]
    override = open("override").read().split()
    print("override:", *override)
    if "die" in override:
        print(open("message").read())
        raise SystemExit(1)
    compile = [*flags("CC"), *flags("CFLAGS"), *flags("CPPFLAGS"), "-fPIC", include, *override]
    run(*compile, "-c", "src/Resample.c", "-o", "Resample.o")
    run(*flags("LDSHARED"), *flags("LDFLAGS"), "Resample.o", "-o", "core.so", "-lz")
    print("PIL SETUP SUMMARY\\n--- ZLIB (PNG/ZIP) support available\\n*** LIBTIFF support not available")
    name = "pillow_simd-12.1.1.post0-%s-%s-linux_x86_64.whl" % (TAG, TAG)
    tag = "Tag: %s-%s-linux_x86_64\\n" % (TAG, TAG)
    files = {
        "PIL/__init__.py": "from . import _version\\n",
        "PIL/_version.py": '__version__ = "12.1.1.post0"\\n',
        "PIL/_imaging" + SUFFIX: open("core.so", "rb").read(),
        INFO + "/METADATA": METADATA,
        INFO + "/WHEEL": "Wheel-Version: 1.0\\nGenerator: tiny\\nRoot-Is-Purelib: false\\n" + tag,
    }
    files[INFO + "/RECORD"] = "".join(name + ",,\\n" for name in [*files, INFO + "/RECORD"])
    with zipfile.ZipFile(os.path.join(directory, name), "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return name

METADATA = "Metadata-Version: 2.1\\nName: pillow-simd\\nVersion: 12.1.1.post0\\nSummary: tiny\\n\\nbody\\n"
"""

_KERNELS = f"""
#include <Python.h>
#include <zlib.h>
const char *{KERNEL}(void) {{ return zlibVersion(); }}
static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "_imaging", 0, -1, 0}};
"""
_FUNCTIONS = "\n".join(
    f"int scale_{n}(int a, int b) {{ return (a + {n}) * b + a / (b + {n + 1}); }}" for n in range(30)
)
_MODULE = """
PyMODINIT_FUNC PyInit__imaging(void) { return PyModule_Create(&module); }
"""


def tiny_recipe() -> Recipe:
    zlib = NativeRequirement(
        header="zlib.h", link="z", feature="ZLIB (PNG/ZIP)", option="zlib", apt=("zlib1g-dev",), dnf=("zlib-devel",)
    )
    tiff = NativeRequirement(
        header="no_tiff_here.h", link="tiff", feature="LIBTIFF", option="tiff", apt=("libtiff-dev",)
    )
    return Recipe(
        schema=1,
        name="tiny",
        summary="a tiny Pillow",
        replaces=("pillow",),
        package="PIL",
        source=SourceOrigin(pypi="pillow-simd", base_wheel="pillow", label="simd"),
        base_cflags=("-O3",),
        levels=(),
        libraries={"zlib": zlib, "tiff": tiff},
        expect=Expectation(symbols=(KERNEL,)),
        bench=BenchSpec(workload="none"),
    )


def tiny_sdist(directory: Path, *, override: str = "", message: str = "") -> Path:
    """Create the sdist, whose backend adds the flags in `override`; "die" there makes it print `message` and fail."""
    members = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "pillow-simd"\nversion = "{VERSION}"\n',
        "backend.py": _BACKEND,
        "src/Resample.c": _KERNELS + _FUNCTIONS + _MODULE,
        "override": override,
        "message": message,
    }
    path = directory / f"pillow_simd-{VERSION}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(f"pillow_simd-{VERSION}/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def tiny_request(directory: Path, sdist: Path, **changes: Any) -> BuildRequest:
    """Return a request for the interpreter that runs the tests; `changes` are fields of the request or of its step."""
    python = observe_interpreter(Path(sys.executable))
    compiler = observe_compiler((), os.environ)
    assert compiler is not None, "these tests need a C compiler"
    source = Artefact(name="pillow-simd", version=VERSION, filename=sdist.name, url=sdist.as_uri(), sha256="")
    step = Build(
        recipe="tiny",
        source=source,
        base_wheel=None,
        distribution="pillow",
        version="12.1.1+simd.v3",
        targets=(LevelTarget(level="x86-64-v3", cflags=("-O3", "-march=x86-64-v3"), ldflags=("-Wl,-z,x86-64-v3",)),),
        link=LinkMode.BUNDLE,
        libraries=("zlib",),
        jobs=1,
        reason="a test",
    )
    of_step = {
        name: changes.pop(name) for name in list(changes) if name in Build.__dataclass_fields__ and name != "source"
    }
    request = BuildRequest(
        recipe=tiny_recipe(),
        step=replace(step, **of_step),
        interpreter=python,
        source=sdist,
        compiler=compiler,
        cache=directory / "cache",
        offline=True,
        pip=argv_for(python),
        variables=dict(os.environ),
    )
    return replace(request, **changes)
