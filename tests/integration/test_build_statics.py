"""Static libraries: how they are built from an sdist, cached and linked; and a real build of zlib-ng."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.build.tiny_library import CONFIGURE, SOURCE, library_request, library_sdist
from support.machine.needs import require_system

from fastinstall.compilers.flags import compile_flags, list_probed_flags
from fastinstall.compilers.system import observe_compiler
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Event, Noted, Progressed, ignore
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import pip_settings
from fastinstall.observe.recipes import load_recipe
from fastinstall.wheelbuild import static_libraries
from fastinstall.wheelbuild.static_libraries import StaticLibrary, build_static

PROGRAM = '#include <tiny.h>\n#include <stdio.h>\nint main(void) { printf("%s %d", tiny_place(), tiny_two()); }\n'
NEEDED = ("cc", "as", "ld", "ar", "sh", "cat", "sed")
ROUND_TRIP = r"""
#include <zlib.h>
#include <stdio.h>
#include <string.h>
static unsigned char in[1 << 18], out[1 << 19], back[1 << 18];
int main(void) {
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof in; i++) {
        seed = seed * 1103515245u + 12345u;
        in[i] = i % 97 + ((seed >> 24) & 3);
    }
    for (int level = 1; level < 10; level++) {
        uLongf packed = sizeof out, size = sizeof back;
        if (compress2(out, &packed, in, sizeof in, level) != Z_OK) return 1;
        if (uncompress(back, &size, out, packed) != Z_OK) return 2;
        if (size != sizeof in || memcmp(in, back, size)) return 3;
        printf("%lu ", (unsigned long)packed);
    }
    printf("%s", zlibVersion());
    return 0;
}
"""
MODULE = "#include <zlib.h>\nconst char *version_inside(void) { return zlibVersion(); }\n"
QUESTION = (
    "import ctypes, sys; ctypes.CDLL('libz.so.1', ctypes.RTLD_GLOBAL); module = ctypes.CDLL(sys.argv[1]);"
    "module.version_inside.restype = ctypes.c_char_p; print(module.version_inside().decode())"
)


def compiled(library: StaticLibrary, program: str, target: Path, *flags: str) -> Path:
    source = target.with_suffix(".c")
    source.write_text(program)
    argv = ["cc", "-O1", f"-I{library.include}", str(source), *flags, str(library.archive), "-o", str(target)]
    subprocess.run(argv, check=True)
    return target


def said(*argv: str | Path) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_a_library_is_built_with_its_headers_and_version(tmp_path: Path) -> None:
    events: list[Event] = []
    request = library_request(tmp_path, library_sdist(tmp_path), emit=events.append)
    library = build_static(request, "tiny")
    assert (library.version, library.archive.name) == ("2.3", "libtiny.a")
    assert [event.done for event in events if isinstance(event, Progressed)] == [1, 2]
    place, two = said(compiled(library, PROGRAM, tmp_path / "program")).split()
    assert (place, two) == ("./source/tiny_library-1.0/src/tiny/one.c", "2")


def test_make_is_not_needed(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    request = library_request(tmp_path, library_sdist(tmp_path), variables={"PATH": str(programs)})
    assert build_static(request, "tiny").archive.is_file()


def test_the_same_order_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    sdist = library_sdist(tmp_path)
    requests = [library_request(tmp_path / name, sdist, cflags=("-O2", "-g")) for name in ("a", "another/place")]
    libraries = [build_static(request, "tiny") for request in requests]
    assert libraries[0].archive != libraries[1].archive
    assert libraries[0].archive.read_bytes() == libraries[1].archive.read_bytes()


def test_a_cache_whose_path_has_a_space_serves_too(tmp_path: Path) -> None:
    library = build_static(library_request(tmp_path / "a place", library_sdist(tmp_path)), "tiny")
    assert library.archive.is_file()
    assert "a place" in str(library.archive)


def test_variables_that_name_another_machine_are_not_heeded(tmp_path: Path) -> None:
    configure = CONFIGURE.replace("#!/bin/sh", '#!/bin/sh\n[ -z "$CHOST$CROSS_PREFIX" ] || exit 1')
    variables = {"PATH": os.environ["PATH"], "CHOST": "aarch64-linux-gnu", "CROSS_PREFIX": "aarch64-linux-gnu-"}
    request = library_request(tmp_path, library_sdist(tmp_path, configure=configure), variables=variables)
    assert build_static(request, "tiny").archive.is_file()


def test_a_second_order_is_served_from_the_cache(tmp_path: Path) -> None:
    request = library_request(tmp_path, library_sdist(tmp_path))
    first = build_static(request, "tiny")
    again = replace(request, variables={"PATH": "/nonexistent"})
    assert build_static(again, "tiny") == first
    assert list((request.cache / "tmp").iterdir()) == []


def test_other_flags_give_another_library(tmp_path: Path) -> None:
    sdist = library_sdist(tmp_path)
    requests = [library_request(tmp_path, sdist, cflags=(flag,)) for flag in ("-O2", "-O1")]
    assert build_static(requests[0], "tiny").archive != build_static(requests[1], "tiny").archive


@pytest.mark.parametrize("damaged", ["libtiny.a", "include/tiny.h"])
def test_a_damaged_library_is_reported_and_built_again(tmp_path: Path, damaged: str) -> None:
    events: list[Event] = []
    request = library_request(tmp_path, library_sdist(tmp_path), emit=events.append)
    first = build_static(request, "tiny")
    content = first.archive.read_bytes()
    (first.archive.parent / damaged).write_bytes(b"damaged")
    assert build_static(request, "tiny").archive.read_bytes() == content
    assert [event.message for event in events if isinstance(event, Noted) and event.warning]


def test_a_configure_that_fails_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    source = replace(SOURCE, configure=("--other",))
    request = library_request(tmp_path, library_sdist(tmp_path), source=source)
    with pytest.raises(FailedError, match="configuring tiny-library failed") as caught:
        build_static(request, "tiny")
    assert any("unknown word --other" in line for line in caught.value.details)


def test_a_configure_that_hangs_fails_with_the_timeout_as_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_libraries, "_SECONDS", 3.0)
    request = library_request(tmp_path, library_sdist(tmp_path, configure="#!/bin/sh\necho harmless >&2\nsleep 60\n"))
    with pytest.raises(FailedError, match=r"configuring .* failed: no answer within 3 s") as caught:
        build_static(request, "tiny")
    assert caught.value.details == ("no answer within 3 s: killed", "stderr: harmless")


def test_a_configure_still_busy_past_the_limit_is_not_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under an emulator, configure takes twenty times as long: a process that still works is not hanging."""
    monkeypatch.setattr(static_libraries, "_SECONDS", 0.5)
    busy = "i=0\nwhile [ $i -lt 1500000 ]; do i=$((i + 1)); done\n"
    request = library_request(tmp_path, library_sdist(tmp_path, configure=CONFIGURE.replace("\n", f"\n{busy}", 1)))
    started = time.monotonic()
    assert build_static(request, "tiny").archive.is_file()
    assert time.monotonic() - started > 1.0


def test_a_file_that_does_not_compile_is_an_error_that_names_it(tmp_path: Path) -> None:
    request = library_request(tmp_path, library_sdist(tmp_path, one_c="int broken(\n"))
    with pytest.raises(FailedError, match=r"compiling one\.o of tiny-library failed"):
        build_static(request, "tiny")
    assert not (request.cache / "statics").exists()


@pytest.mark.parametrize(("field", "value"), [("directory", "src/none"), ("headers", ("none.h",))])
def test_an_sdist_that_is_laid_out_otherwise_is_an_error(tmp_path: Path, field: str, value: object) -> None:
    source = replace(SOURCE, **{field: value})  # type: ignore[arg-type]
    request = library_request(tmp_path, library_sdist(tmp_path), source=source)
    with pytest.raises(FailedError, match="configure"):
        build_static(request, "tiny")


@pytest.fixture(scope="session")
def zlib_ng(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> StaticLibrary:
    """Return zlib-ng, built for the lowest CPU level as the recipe pillow-fast requests it."""
    recipe = load_recipe("pillow-fast", (recipes_directory(),))
    source = recipe.libraries["zlib"].static
    compiler = observe_compiler(list_probed_flags(recipe, os.uname().machine), os.environ)
    assert source is not None
    assert compiler is not None
    from packaging.version import Version

    settings = replace(pip_settings(Path(sys.executable), os.environ), timeout=30.0)
    offered = ask_indexes(
        settings, (source.pypi,), lambda name: name.startswith("zlib_ng-") and name.endswith(".tar.gz")
    )
    newest = max(offered, key=lambda artefact: Version(artefact.version))
    sdist = PackageIndex(settings=settings).fetch(newest, shared_cache, ignore)
    directory = tmp_path_factory.mktemp("zlib-ng")
    level = next(level for level in recipe.levels if level.name == "x86-64-v2")
    flags, _ = compile_flags(recipe, level, compiler.accepts)
    request = library_request(directory, sdist, source=source, cflags=flags, compiler=compiler, cache=shared_cache)
    return build_static(request, "tiny")


@pytest.mark.slow
def test_zlib_ng_packs_and_unpacks_on_every_cpu_alike(zlib_ng: StaticLibrary, tmp_path: Path) -> None:
    require_system(shutil.which("qemu-x86_64"), "qemu-user")
    program = compiled(zlib_ng, ROUND_TRIP, tmp_path / "program")
    here = said(program)
    assert here.endswith(".zlib-ng")
    for cpu in ("Nehalem", "Haswell", "max"):
        assert said("qemu-x86_64", "-cpu", cpu, program) == here


@pytest.mark.slow
def test_zlib_ng_chooses_its_code_by_the_cpu(zlib_ng: StaticLibrary, tmp_path: Path) -> None:
    require_system(shutil.which("qemu-x86_64"), "qemu-user")
    program = compiled(zlib_ng, ROUND_TRIP, tmp_path / "program", "-no-pie")
    symbols = {line.split()[2]: line.split()[0] for line in said("nm", program).splitlines() if line[0] != " "}
    address = symbols["longest_match_avx2"]
    ran = {}
    for cpu in ("Nehalem", "Haswell"):
        trace = tmp_path / cpu
        said("qemu-x86_64", "-cpu", cpu, "-d", "exec,nochain", "-dfilter", f"0x{address}+0x10", "-D", trace, program)
        ran[cpu] = trace.stat().st_size > 0
    assert ran == {"Nehalem": False, "Haswell": True}


@pytest.mark.slow
def test_zlib_ng_in_a_module_binds_inside_despite_another_libz(zlib_ng: StaticLibrary, tmp_path: Path) -> None:
    module = compiled(zlib_ng, MODULE, tmp_path / "module.so", "-shared", "-fPIC")
    exported = {line.split()[-1] for line in said("nm", "-D", "--defined-only", module).splitlines()}
    assert exported == {"version_inside"}
    assert said(sys.executable, "-c", QUESTION, module).strip().endswith(".zlib-ng")
