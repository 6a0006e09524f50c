"""Values for tests: a healthy environment, one with official Pillow, an empty one, and changes to these.

They are not observed on a machine; captured facts are in tests/cases/.
"""

from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TypeVar

from fastinstall.core.codec import decode, encode
from fastinstall.core.file_url import file_url
from fastinstall.elf.cpu import Cpu
from fastinstall.elf.description import (
    Binding,
    Codec,
    Confidence,
    CoreLevel,
    ImagingCore,
    IsaScan,
    Linkage,
    LoadedFile,
    LoadedLibrary,
)
from fastinstall.model.advisories import Advisory, Severity
from fastinstall.model.conda import Conda, CondaClaim, CondaPackage, CondaStack, CondaTool
from fastinstall.model.facts import (
    Dependant,
    Distribution,
    Environment,
    EnvironmentKind,
    Facts,
    InstalledStack,
    Interpreter,
    OperationResult,
    Owner,
    Runtime,
)
from fastinstall.model.guards import GuardState
from fastinstall.model.machine import Compiler, NativeLibrary, Toolchain
from fastinstall.model.receipt import BuiltCore, Receipt
from fastinstall.model.recipe import BenchSpec, Expectation, Level, NativeRequirement, Recipe, SourceOrigin
from fastinstall.model.request import LinkMode, Request

PREFIX = Path("/srv/images/env")
SITE_PACKAGES = PREFIX / "lib/python3.11/site-packages"
SUFFIX = ".cpython-311-x86_64-linux-gnu.so"
_SITE = "lib/python3.11/site-packages"
_CONDA_PILLOW = (f"{_SITE}/PIL/Image.py", f"{_SITE}/pillow-12.1.1.dist-info/METADATA")
COPIES = ("x86-64-v2", "x86-64-v3")
PYTHON = Path("/usr/local/bin/python3.11")
LIBC = PurePosixPath("/lib/x86_64-linux-gnu/libc.so.6")
_CORE = SITE_PACKAGES / f"PIL/_imaging{SUFFIX}"
_WEBP = SITE_PACKAGES / f"PIL/_webp{SUFFIX}"
_LIBS = SITE_PACKAGES / "pillow.libs"
CORE_SHA256 = "c0de" * 16
STOCK_SHA256 = "57ac" * 16
SYMBOLS = ("ImagingResampleHorizontalConvolution8u4x", "ImagingFilter3x3f_4u8", "ImagingFilter5x5f_4u8")
FEATURES = {"jpg": "3.1.3", "zlib": "1.3.1.zlib-ng", "libtiff": "4.7.1", "webp": "1.6.0", "libjpeg_turbo": "3.1.3"}

T = TypeVar("T")


def environment() -> Environment:
    """Return a virtual environment."""
    return Environment(prefix=PREFIX, kind=EnvironmentKind.VENV, python=PREFIX / "bin/python")


def healthy_facts() -> Facts:
    """Return the facts of an environment after a setup; `receipt()` is its receipt."""
    return Facts(
        environment=environment(),
        active={"VIRTUAL_ENV": PREFIX},
        tool_prefix=PurePosixPath("/opt/fastinstall"),
        writable=True,
        cpu=_cpu(),
        interpreter=_interpreter(),
        distributions=(_distribution("pillow", "12.1.1+simd.v3", "fastinstall"),),
        stack=_stack(),
        guard=GuardState(installed=True, version="1"),
        linkage=linkage(_CORE),
        isa=(scan(_CORE, "x86-64-v3"),),
        runtime=_runtime("12.1.1.post0"),
        toolchain=_toolchain(),
    )


def stock_facts() -> Facts:
    """Return the facts of an environment that fastinstall has never changed, with Pillow's official wheel."""
    sha256, version = STOCK_SHA256, "12.1.1"
    changes = {
        "distributions": [encode(_distribution("pillow", version, "pip"))],
        "stack": {
            "version": version,
            "owners": [encode(_owner(_distribution("pillow", version, "pip"), sha256))],
            "core": {"sha256": sha256, "version": version, "simd_symbols": [], "isa_note": None, "switches": []},
        },
        "guard": {"installed": False, "version": ""},
        "isa": [encode(scan(_CORE, "x86-64-v1"))],
        "runtime": {"version": version},
    }
    return changed(healthy_facts(), changes)


def empty_facts() -> Facts:
    """Return the facts of an environment without any Pillow."""
    nothing: dict[str, Any] = {"directory": None, "has_init": False, "version": None, "core": None}
    nothing |= {"owners": [], "dependants": []}
    missing = {
        "imported": False,
        "error": "ModuleNotFoundError: No module named 'PIL'",
        "version": "",
        "location": "",
        "core": "",
        "features": {"$replace": {}},
        "operations": [],
    }
    changes: dict[str, Any] = {
        "distributions": [],
        "stack": nothing,
        "guard": {"installed": False, "version": ""},
        "linkage": None,
        "isa": [],
        "runtime": missing,
    }
    return changed(healthy_facts(), changes)


def levelled_facts() -> Facts:
    """Return the healthy facts with two copies of the core, the better one loaded; see `levelled_receipt()`."""
    copies = [encode(copy(level, loaded=level == "x86-64-v3")) for level in COPIES]
    running = copy("x86-64-v3").path
    core: dict[str, Any] = {"levels": copies}
    changes: dict[str, Any] = {
        "stack": {"core": core},
        "linkage": encode(linkage(running)),
        "isa": [encode(scan(copy(level).path, level)) for level in COPIES],
        "runtime": {"core": str(running)},
    }
    return changed(healthy_facts(), changes)


def conda_facts() -> Facts:
    """Return the facts of an environment of today's conda-forge, with Pillow linked with libjpeg-turbo and libtiff."""
    pillow = conda_package("pillow 12.1.1 py311h07c5bb8_0", depends=("python >=3.11,<3.12.0a0", "libjpeg-turbo"))
    tiff = conda_package("libtiff 4.7.1 h9d88235_1", depends=("libjpeg-turbo >=3.1.0,<4.0a0",))
    others = (
        conda_package("python 3.11.7 hab00c5b_1_cpython"),
        conda_package("python_abi 3.11 8_cp311"),
        conda_package("libjpeg-turbo 3.1.2 hb03c661_0", constrains=("jpeg <0.0.0a",)),
        conda_package("zlib 1.3.1 hb9d3cd8_2"),
        conda_package("imageio 2.37.0 pyhfb79c49_0", depends=("pillow >=8.3.2", "python >=3.9")),
    )
    return _in_conda(stock_facts(), _conda((pillow, tiff, *others), _CONDA_PILLOW), "conda")


def old_conda_facts() -> Facts:
    """Return the facts of an environment of the old `defaults`: IJG's libjpeg, and a libtiff linked with it."""
    channel, needs_jpeg = "defaults", ("jpeg >=9e,<10a",)
    pillow = conda_package("pillow 9.4.0 py311h6a678d5_0", channel, depends=(*needs_jpeg, "libtiff >=4.1.0,<5.0a0"))
    others = (
        conda_package("python 3.11.5 h955ad1f_0", channel),
        conda_package("jpeg 9e h5eee18b_1", channel),
        conda_package("libtiff 4.5.1 h6a678d5_0", channel, depends=needs_jpeg),
        conda_package("zlib 1.2.13 h5eee18b_0", channel),
    )
    packages = (pillow, *others)
    facts = _in_conda(stock_facts(), _conda(packages, _CONDA_PILLOW), "conda")
    renamed = {"version": "9.4.0", "metadata": "Pillow-9.4.0.dist-info"}
    owner = {"distribution": renamed, "entries": ["PIL", "Pillow-9.4.0.dist-info"]}
    claim = {"files": [f"{_SITE}/PIL/Image.py", f"{_SITE}/Pillow-9.4.0.dist-info/METADATA"]}
    changes = {"stack": {"version": "9.4.0", "owners": {"0": owner}}, "conda": {"claims": {"0": claim}}}
    return changed(facts, changes)


def healthy_conda_facts() -> Facts:
    """Return the facts of a conda environment after a setup; see `conda_receipt()`."""
    stack = conda_stack()
    assert stack.guard is not None
    facts = conda_facts()
    assert facts.conda is not None
    others = tuple(package for package in facts.conda.packages if package.name != "pillow")
    files = (f"{_SITE}/PIL/Image.py", f"{_SITE}/pillow-12.1.1+simd.v3.dist-info/METADATA")
    conda = _conda((stack.package, stack.guard, *others), files)
    return _in_conda(healthy_facts(), replace(conda, channels=(stack.package.channel,)), "conda")


def conda_stack() -> CondaStack:
    """Return the conda packages that the setup behind `healthy_conda_facts()` created."""
    channel = file_url(PREFIX / "share/fastinstall/channel")
    package = conda_package("pillow 12.1.1 simd_v3_py311_0", channel, constrains=("pillow-simd <0.0.0a",))
    guard = conda_package("fastinstall-guard 1 0123abc_0", channel, constrains=("pillow * simd_*",))
    return CondaStack(package=package, guard=guard, channel=PREFIX / "share/fastinstall/channel")


def conda_receipt() -> Receipt:
    """Return the receipt of the setup behind `healthy_conda_facts()`."""
    changes = {"engine": "conda", "conda": encode(conda_stack()), "environment": {"kind": "conda"}}
    return changed(receipt(), changes)


def conda_package(
    words: str, channel: str = "conda-forge", *, depends: tuple[str, ...] = (), constrains: tuple[str, ...] = ()
) -> CondaPackage:
    """Return an installed package, given by "NAME VERSION BUILD"."""
    name, version, build = words.split()
    return CondaPackage(
        name=name,
        version=version,
        build=build,
        subdir="linux-64",
        channel=channel,
        depends=depends,
        constrains=constrains,
    )


def minimal_facts() -> Facts:
    """Return minimal facts: each field that may be None, empty or unknown has that value."""
    return Facts(
        environment=environment(),
        active={},
        tool_prefix=PurePosixPath("/opt/fastinstall"),
        writable=True,
        cpu=Cpu(architecture="x86_64"),
        interpreter=_interpreter(),
        distributions=(),
        stack=InstalledStack(directory=None),
        guard=GuardState(installed=False),
    )


def scan(path: PurePath, level: str) -> IsaScan:
    """Return the scan of a core that was compiled for a level; a copy of a core also declares its level."""
    required = {"x86-64-v1": (), "x86-64-v2": ("pni", "ssse3", "sse4_1")}
    wanted = required.get(level, ("avx", "avx2", "bmi2", "movbe"))
    return IsaScan(
        path=path,
        sha256=CORE_SHA256,
        confidence=Confidence.CERTAIN,
        requires=wanted,
        level=level,
        shares=dict.fromkeys(wanted, 0.1),
        declared=level if path.parent != _CORE.parent else None,
        instructions=128_000,
        evidence=("no dispatcher: neither CPUID, IRELATIVE nor __cpu_model",),
    )


def linkage(code: PurePath) -> Linkage:
    """Return a process that loads a wheel's bundled libraries; `code` is the file with the core's code."""
    jpeg, tiff, webp = _jpeg(), _library("libtiff", "6.2.0", "4.7.1"), _library("libwebp", "7.2.0", "1.6.0")
    zlib = LoadedLibrary(soname="", path=code, implementation="zlib-ng compat", version="2.2.4")
    bundled = ((jpeg, code), (tiff, code), (webp, _WEBP))
    between = () if code == _CORE else (_loaded(code, "DT_RPATH", _CORE),)
    return Linkage(
        modules=(_CORE, _WEBP),
        files=(
            LoadedFile(path=PYTHON, name=str(PYTHON), soname="", reason="the program"),
            LoadedFile(path=LIBC, name=LIBC.name, soname=LIBC.name, reason="ld.so.cache", needed_by=PYTHON),
            LoadedFile(path=_CORE, name=str(_CORE), soname="", reason="opened"),
            *between,
            *(_loaded(library.path, "DT_RUNPATH", user) for library, user in bundled[:2]),
            LoadedFile(path=_WEBP, name=str(_WEBP), soname="", reason="opened"),
            _loaded(webp.path, "DT_RUNPATH", _WEBP),
        ),
        bindings=tuple(_binding(user, jpeg.path) for user in (code, tiff.path)),
        codecs=(
            Codec(kind="jpeg", library=jpeg, users=tuple(filter(None, (code, tiff.path)))),
            Codec(kind="zlib", library=zlib, inside=True, users=(code,)),
            Codec(kind="tiff", library=tiff, users=(code,)),
            Codec(kind="webp", library=webp, users=(_WEBP,)),
        ),
    )


def request() -> Request:
    """Return the request behind `receipt()`: the small recipe, and defaults."""
    return Request(recipe="pillow-simd")


def receipt() -> Receipt:
    """Return the receipt of the setup behind `healthy_facts()`."""
    return Receipt(
        id="20261121T100000Z-1a2b",
        created_at="2026-11-21T10:00:00+00:00",
        tool_version="0.1.0",
        environment=environment(),
        request=request(),
        recipe="pillow-simd",
        source_version="12.1.1.post0",
        distribution="pillow",
        version="12.1.1+simd.v3",
        metadata="pillow-12.1.1+simd.v3.dist-info",
        levels=("x86-64-v3",),
        link=LinkMode.BUNDLE,
        wheel="pillow-12.1.1+simd.v3-cp311-cp311-manylinux_2_27_x86_64.whl",
        wheel_sha256="3e1" * 21 + "0",
        python_version="3.11.7",
        core=BuiltCore(
            path=f"PIL/_imaging{SUFFIX}",
            size=800_000,
            mtime_ns=1_800_000_000_000_000_000,
            sha256=CORE_SHA256,
            simd_symbols=SYMBOLS,
        ),
        stack_version="12.1.1.post0",
        features=dict(FEATURES),
        jpeg=_jpeg(),
        previous="pillow 12.1.1 (pip)",
    )


def levelled_receipt() -> Receipt:
    """Return the receipt of the setup behind `levelled_facts()`."""
    return changed(receipt(), {"levels": list(COPIES)})


def copy(level: str, *, loaded: bool = False) -> CoreLevel:
    """Return a copy of the core, from a wheel with several copies; the first of `COPIES` is the baseline."""
    place = "" if level == COPIES[0] else f"glibc-hwcaps/{level}/"
    return CoreLevel(
        level=level,
        path=SITE_PACKAGES / f"pillow.libs/{place}lib_imaging_core-c0dec0de.so",
        sha256=level[-1] * 64,
        loaded=loaded,
        simd_symbols=SYMBOLS,
        unoptimised_share=0.01,
        isa_note=level,
    )


@cache
def recipe() -> Recipe:
    """Return a small version of the recipe `pillow-simd`, with an advisory that affects no version in the tests."""
    return Recipe(
        schema=1,
        name="pillow-simd",
        summary="SIMD fork of Pillow",
        replaces=("pillow", "pillow-simd", "pil"),
        package="PIL",
        source=SourceOrigin(pypi="pillow-simd", base_wheel="pillow", label="simd"),
        base_cflags=("-O3", "-DNDEBUG", "-fwrapv"),
        levels=_levels(),
        libraries={
            "jpeg": NativeRequirement(
                header="jpeglib.h",
                link="jpeg",
                feature="JPEG",
                option="jpeg",
                required=True,
                implementation="libjpeg-turbo",
                apt=("libjpeg-dev",),
                dnf=("libjpeg-turbo-devel",),
            ),
        },
        expect=Expectation(symbols=SYMBOLS, features=("jpg", "zlib", "libjpeg_turbo")),
        advisories=(advisory("CVE-2023-50447", "<10.2.0"),),
        bench=BenchSpec(workload="pillow"),
    )


def advisory(name: str, affects: str, severity: Severity = Severity.HIGH, *, kernels_only: bool = False) -> Advisory:
    """Return an advisory of a known vulnerability."""
    return Advisory(
        id=name,
        severity=severity,
        affects=affects,
        summary="something is read out of bounds.",
        source="https://pillow.readthedocs.io/en/stable/releasenotes/",
        dated=date(2026, 11, 21),
        kernels_only=kernels_only,
    )


def changed(value: T, changes: dict[str, Any]) -> T:
    """Change fields of a value, at any depth, given as JSON.

    A dictionary changes single fields (or, with numbers as keys, single items of a list). Any other value, and a
    dictionary under "$replace", replaces the old value. The items under "$append" are added to a list. An unknown field
    raises `DocumentError`, as in a file.
    """
    return decode(type(value), _merged(encode(value), changes), file="changes") if changes else value


def _merged(base: Any, changes: Any) -> Any:
    if not isinstance(changes, dict):
        return changes
    if "$replace" in changes:
        return changes["$replace"]
    if "$append" in changes:
        return [*base, *changes["$append"]]
    if isinstance(base, list):
        return [_merged(item, changes.get(str(index), item)) for index, item in enumerate(base)]
    if not isinstance(base, dict):
        return changes
    return {**base, **{key: _merged(base.get(key), change) for key, change in changes.items()}}


def _in_conda(facts: Facts, conda: Conda, installer: str) -> Facts:
    """Change facts of a virtual environment to those of a conda environment."""
    changes: dict[str, Any] = {
        "environment": {"kind": "conda"},
        "active": {"$replace": {"CONDA_PREFIX": str(PREFIX)}},
        "interpreter": {"base_prefix": str(PREFIX), "include": str(PREFIX / "include/python3.11")},
        "distributions": {"0": {"installer": installer}},
        "stack": {"owners": {"0": {"distribution": {"installer": installer}}}},
        "conda": encode(conda),
    }
    return changed(facts, changes)


def _conda(packages: tuple[CondaPackage, ...], files: tuple[str, ...]) -> Conda:
    claim = CondaClaim(dist=packages[0].dist, files=files)
    return Conda(packages=packages, unreadable={}, claims=(claim,), tool=_conda_tool())


def _conda_tool() -> CondaTool:
    root = PurePosixPath("/opt/conda")
    return CondaTool(
        command=(str(root / "bin/conda"),), version="24.7.1", root=root, solver="classic", found_by="CONDA_EXE"
    )


def _cpu() -> Cpu:
    flags = "fpu sse sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
    return Cpu(
        architecture="x86_64",
        vendor="AuthenticAMD",
        name="AMD EPYC 7763 64-Core Processor",
        flags=tuple(flags.split()),
        level="x86-64-v3",
        level_source="ld.so",
        hypervisor=True,
        cores=2,
    )


def _interpreter() -> Interpreter:
    return Interpreter(
        executable=PREFIX / "bin/python",
        implementation="cpython",
        version="3.11.7",
        abi="cp311",
        platform="linux-x86_64",
        libc="glibc",
        libc_version="2.36",
        free_threaded=False,
        extension_suffix=SUFFIX,
        prefix=PREFIX,
        base_prefix=Path("/usr/local"),
        site_packages=SITE_PACKAGES,
        include=Path("/usr/local/include/python3.11"),
        has_headers=True,
        pip_version="26.3",
    )


def _distribution(name: str, version: str, installer: str) -> Distribution:
    metadata = f"{name.replace('-', '_')}-{version}.dist-info"
    return Distribution(name=name, version=version, metadata=metadata, installer=installer)


def _owner(distribution: Distribution, core_sha256: str) -> Owner:
    return Owner(
        distribution=distribution,
        installed_at="2026-11-21T10:00:00+00:00",
        has_record=True,
        recorded_core=recorded(core_sha256),
        entries=("PIL", distribution.metadata, "pillow.libs"),
        files=121,
    )


def recorded(sha256: str) -> str:
    """Convert a hexadecimal digest to the form in RECORD."""
    from base64 import urlsafe_b64encode

    return f"sha256={urlsafe_b64encode(bytes.fromhex(sha256)).decode().rstrip('=')}"


def _stack() -> InstalledStack:
    return InstalledStack(
        directory=SITE_PACKAGES / "PIL",
        has_init=True,
        version="12.1.1.post0",
        core=ImagingCore(
            path=SITE_PACKAGES / f"PIL/_imaging{SUFFIX}",
            size=800_000,
            mtime_ns=1_800_000_000_000_000_000,
            sha256=CORE_SHA256,
            readable=True,
            version="12.1.1.post0",
            simd_symbols=SYMBOLS,
            unoptimised_share=0.01,
            isa_note="x86-64-v3",
            switches=("GNU C17 12.2.0 -march=x86-64-v3 -O3 -fwrapv",),
            libraries=(
                _jpeg(),
                LoadedLibrary(soname="libc.so.6", path=PurePosixPath("/lib/x86_64-linux-gnu/libc.so.6")),
            ),
        ),
        owners=(_owner(_distribution("pillow", "12.1.1+simd.v3", "fastinstall"), CORE_SHA256),),
        dependants=(Dependant(name="imageio", requirement="pillow>=8.3.2"),),
    )


def _jpeg() -> LoadedLibrary:
    return LoadedLibrary(
        soname="libjpeg-0d45d2bd.so.62.4.0",
        path=SITE_PACKAGES / "pillow.libs/libjpeg-0d45d2bd.so.62.4.0",
        implementation="libjpeg-turbo",
        version="3.1.3",
        simd=True,
        sha256="1bea" * 16,
    )


def _library(stem: str, soname: str, version: str) -> LoadedLibrary:
    """Return a library bundled with the wheel."""
    name = f"{stem}-0d45d2bd.so.{soname}"
    return LoadedLibrary(soname=name, path=_LIBS / name, implementation=stem, version=version, sha256="11b5" * 16)


def _loaded(path: PurePath | None, tag: str, user: PurePath) -> LoadedFile:
    assert path is not None
    return LoadedFile(path=path, name=path.name, soname=path.name, reason=f"{tag} of {user}", needed_by=user)


def _binding(user: PurePath | None, provider: PurePath | None) -> Binding:
    assert user is not None
    return Binding(symbol="jpeg_CreateDecompress", version="LIBJPEG_6.2", user=user, provider=provider, wanted=provider)


def _runtime(version: str) -> Runtime:
    return Runtime(
        imported=True,
        version=version,
        location=str(SITE_PACKAGES / "PIL/__init__.py"),
        core=str(SITE_PACKAGES / f"PIL/_imaging{SUFFIX}"),
        features=dict(FEATURES),
        operations=tuple(OperationResult(name=name, ok=True) for name in ("resize-lanczos-RGB", "jpeg-round-trip")),
    )


def _toolchain() -> Toolchain:
    include = PurePosixPath("/usr/include")
    library = PurePosixPath("/usr/lib/x86_64-linux-gnu")
    accepts = ("-march=x86-64-v2", "-march=x86-64-v3", "-Wl,-z,x86-64-v2", "-Wl,-z,x86-64-v3")
    jpeg = NativeLibrary(
        name="jpeg",
        include=include,
        library=library / "libjpeg.so",
        version="2.1.5",
        implementation="libjpeg-turbo",
    )
    return Toolchain(
        compiler=Compiler(command=("cc",), version="cc (Debian 12.2.0) 12.2.0", accepts=accepts),
        libraries=(jpeg,),
        package_manager="apt",
    )


def _levels() -> tuple[Level, ...]:
    lower = ("cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2")
    higher = (*lower, "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave")
    return (
        _level("x86-64-v4", (*higher, "avx512f"), automatic=False),
        _level("x86-64-v3", higher),
        _level("x86-64-v2", lower),
    )


def _level(name: str, requires: tuple[str, ...], *, automatic: bool = True) -> Level:
    return Level(
        name=name,
        requires=requires,
        cflags=(f"-march={name}",),
        ldflags=(f"-Wl,-z,{name}",),
        automatic=automatic,
    )
