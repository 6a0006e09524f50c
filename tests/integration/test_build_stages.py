"""Every stage of the build on a tiny Pillow (see `tiny_pillow`): link modes, refusals, and leftovers."""

import shutil
import signal
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.build.tiny_pillow import KERNEL, tiny_request, tiny_sdist
from support.elf.compiler import compile_library

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Event, Noted, Progressed
from fastinstall.elf.dynamic import DynamicFile, read_dynamic
from fastinstall.model.recipe import Expectation, NativeRequirement
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.assemble import audit_core
from fastinstall.wheelbuild.build_inputs import BuildRequest, BuildResult
from fastinstall.wheelbuild.headers import matching_headers, probe_headers
from fastinstall.wheelbuild.own_code import precompile_prefix_header
from fastinstall.wheelbuild.pipeline import build_wheel
from fastinstall.wheelbuild.prepare import extract_source
from fastinstall.wheelbuild.wheel_cache import entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A finished build, for tests that only inspect it."""

    request: BuildRequest
    result: BuildResult
    events: tuple[Event, ...]


def core_of(result: BuildResult, directory: Path) -> DynamicFile:
    with zipfile.ZipFile(result.wheel) as archive:
        name = next(name for name in archive.namelist() if "/_imaging." in name)
        return read_dynamic(Path(archive.extract(name, directory)))


def jpeg_request(directory: Path, include: Path) -> BuildRequest:
    """Return a request whose include path has the directory with the test's jpeglib.h."""
    request = tiny_request(directory, tiny_sdist(directory), libraries=("jpeg",), include_directories=(include,))
    jpeg = NativeRequirement(header="jpeglib.h", link="jpeg", feature="JPEG", option="jpeg")
    return replace(request, recipe=replace(request.recipe, libraries={"jpeg": jpeg}))


def left_behind(cache: Path) -> list[str]:
    """List the files in a cache, except lock files."""
    paths = (path.relative_to(cache) for path in cache.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths if path.parts[0] != "locks")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build once, linked to the system's libraries, with the user's own CFLAGS."""
    directory = tmp_path_factory.mktemp("built")
    events: list[Event] = []
    request = tiny_request(directory, tiny_sdist(directory), link=LinkMode.SYSTEM, emit=events.append)
    request = replace(request, variables={**request.variables, "CFLAGS": "-O0 -DSTRAY"})
    return Built(request=request, result=build_wheel(request), events=tuple(events))


def test_a_system_linked_core_has_no_rpath_and_a_linux_tag(built: Built, tmp_path: Path) -> None:
    core = core_of(built.result, tmp_path)
    assert built.result.wheel.name.endswith("-linux_x86_64.whl")
    assert (core.rpath, core.runpath) == (None, None)
    assert "libz.so.1" in core.needed
    assert core.isa_needed == "x86-64-v3"


def test_user_compiler_flags_are_ignored_and_a_notice_says_so(built: Built) -> None:
    (log,) = (built.request.cache / "logs").iterdir()
    assert "-DSTRAY" not in log.read_text()
    assert any("CFLAGS" in event.message for event in built.events if isinstance(event, Noted))


def test_a_build_leaves_only_its_wheel_its_result_and_its_log(built: Built) -> None:
    (log,) = (built.request.cache / "logs").iterdir()
    entry = built.result.wheel.parent.relative_to(built.request.cache).as_posix()
    expected = [f"{entry}/{built.result.wheel.name}", f"{entry}/result.json", f"logs/{log.name}"]
    assert left_behind(built.request.cache) == sorted(expected)
    assert list((built.request.cache / "tmp").iterdir()) == []


def test_a_second_build_comes_from_the_cache_without_compiling(built: Built) -> None:
    events: list[Event] = []
    second = build_wheel(replace(built.request, emit=events.append))
    assert (built.result.from_cache, second.from_cache) == (False, True)
    assert replace(second, from_cache=False) == built.result
    assert not [event for event in events if isinstance(event, Progressed)]


def test_a_damaged_cached_wheel_is_rebuilt_with_the_same_bytes(built: Built, tmp_path: Path) -> None:
    shutil.copytree(built.request.cache, tmp_path / "cache")
    wheel = tmp_path / "cache" / built.result.wheel.relative_to(built.request.cache)
    wheel.write_bytes(wheel.read_bytes()[:-1])
    events: list[Event] = []
    second = build_wheel(replace(built.request, cache=tmp_path / "cache", emit=events.append))
    assert (second.from_cache, second.sha256) == (False, built.result.sha256)
    assert any("damaged" in event.message and event.warning for event in events if isinstance(event, Noted))


def test_without_a_base_wheel_auditwheel_bundles_and_tags(tmp_path: Path) -> None:
    request = tiny_request(tmp_path, tiny_sdist(tmp_path))
    result = build_wheel(request)
    assert "-manylinux_2_" in result.wheel.name
    assert result.wheel.name.startswith("pillow-12.1.1+simd.v3-")
    (entry,) = entries(request.cache)
    assert entry.features == {"ZLIB (PNG/ZIP)": "", "LIBTIFF": None}


def test_an_environment_linked_core_has_an_origin_relative_rpath(tmp_path: Path) -> None:
    prefix = tmp_path / "environment"
    (prefix / "include").mkdir(parents=True)
    (prefix / "lib").mkdir()
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", prefix / "lib/libz.so", "-Wl,-soname,libz.so.1"],
        input=b'const char *zlibVersion(void) { return "own"; }',
        check=True,
    )
    request = tiny_request(tmp_path, tiny_sdist(tmp_path), link=LinkMode.ENV, library_prefix=prefix)
    site_packages = prefix / "lib/python3.11/site-packages"
    request = replace(request, interpreter=replace(request.interpreter, site_packages=site_packages))
    result = build_wheel(request)
    core = core_of(result, tmp_path / "core")
    assert core.rpath == "$ORIGIN/../../.."
    assert core.runpath is None
    assert all(str(prefix).encode() not in path.read_bytes() for path in (tmp_path / "core").rglob("*.so"))


def test_a_missing_library_is_refused_with_the_command_to_add_it(tmp_path: Path) -> None:
    prefix = tmp_path / "environment"
    (prefix / "lib").mkdir(parents=True)
    request = tiny_request(tmp_path, tiny_sdist(tmp_path), link=LinkMode.ENV, library_prefix=prefix)
    with pytest.raises(FailedError, match="it lacks libraries: zlib") as caught:
        build_wheel(request)
    assert f"conda install -p {prefix}" in (caught.value.hint or "")


def test_an_unoptimised_core_is_refused(tmp_path: Path) -> None:
    functions = "\n".join(f"int scale_{n}(int a, int b) {{ return a * {n} + b; }}" for n in range(30))
    core = compile_library(tmp_path / "_imaging.so", functions, flags=["-O0"])
    with pytest.raises(FailedError, match="without optimisation"):
        audit_core(core, (), ())
    audit_core(compile_library(tmp_path / "right.so", functions, flags=["-O3"]), (), ())


def test_an_unoptimised_compile_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="optimisation"):
        build_wheel(tiny_request(tmp_path, tiny_sdist(tmp_path, override="-O0")))
    assert [name for name in left_behind(tmp_path / "cache") if not name.startswith("logs/")] == []


def test_a_core_without_the_kernels_is_refused_by_their_names(tmp_path: Path) -> None:
    request = tiny_request(tmp_path, tiny_sdist(tmp_path))
    recipe = replace(request.recipe, expect=Expectation(symbols=(KERNEL, "ImagingFilter3x3f_4u8")))
    with pytest.raises(FailedError, match=r"kernels are missing: ImagingFilter3x3f_4u8$"):
        build_wheel(replace(request, recipe=recipe))


def test_a_core_that_does_not_bear_its_level_is_refused(tmp_path: Path) -> None:
    core = compile_library(tmp_path / "_imaging.so", "int f(void) { return 1; }")
    with pytest.raises(FailedError, match="no CPU level, expected x86-64-v3"):
        audit_core(core, (), ("-Wl,-z,x86-64-v3",))


def test_before_compiling_a_missing_header_and_package_are_named(tmp_path: Path) -> None:
    request = tiny_request(tmp_path, tiny_sdist(tmp_path), libraries=("zlib", "tiff"))
    with pytest.raises(FailedError, match=r"no_tiff_here\.h \(tiff\)") as caught:
        build_wheel(request)
    assert "libtiff-dev" in (caught.value.hint or "")
    assert not (tmp_path / "cache").exists()


def test_a_build_that_dies_says_why_and_where_its_log_is(tmp_path: Path) -> None:
    """The fake backend fails with the text that Pillow's setup.py prints for a missing library."""
    message = "The headers or library files could not be found for zlib,\na required dependency when compiling Pillow"
    with pytest.raises(FailedError, match="library of zlib") as caught:
        build_wheel(tiny_request(tmp_path, tiny_sdist(tmp_path, override="die", message=message)))
    (log,) = (tmp_path / "cache/logs").iterdir()
    assert "zlib1g-dev" in (caught.value.hint or "")
    assert caught.value.details[-1] == f"log: {log}"
    assert all(line in log.read_text() for line in message.splitlines())
    assert list((tmp_path / "cache/tmp").iterdir()) == []


def test_an_interruption_leaves_the_cache_as_it_was(tmp_path: Path) -> None:
    sdist = tiny_sdist(tmp_path)
    program = (
        "import sys; sys.path[:0] = sys.argv[1:2]\n"
        "from pathlib import Path\nfrom support.build.tiny_pillow import tiny_request\n"
        "from fastinstall.wheelbuild.pipeline import build_wheel\n"
        "def emit(event): print(event, flush=True)\n"
        "build_wheel(tiny_request(Path(sys.argv[2]), Path(sys.argv[3]), emit=emit))\n"
    )
    words = [sys.executable, "-c", program, str(Path(__file__).parents[1]), str(tmp_path), str(sdist)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        assert "compiling" in child.stdout.readline()
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)
    assert child.returncode != 0
    assert left_behind(tmp_path / "cache") == []
    assert list((tmp_path / "cache/tmp").iterdir()) == []


def test_the_precompiled_header_is_used_and_changes_no_byte(tmp_path: Path) -> None:
    request = tiny_request(tmp_path, tiny_sdist(tmp_path))
    source = extract_source(request.source, tmp_path)
    common = [
        *request.compiler.command,
        "-pthread",
        *request.step.targets[0].cflags,
        "-fPIC",
        f"-I{request.interpreter.include}",
    ]
    plain = [*common, "-c", "src/Resample.c", "-o", "plain.o"]
    subprocess.run(plain, cwd=source, check=True)
    flags = precompile_prefix_header(request, request.step.targets[0], probe_headers(request), source)
    quick = [*common, *flags, "-H", "-c", "src/Resample.c", "-o", "quick.o"]
    used = subprocess.run(quick, cwd=source, check=True, capture_output=True, text=True).stderr
    assert "! ./fastinstall_prefix.h.gch" in used
    assert (source / "quick.o").read_bytes() == (source / "plain.o").read_bytes()


def test_copied_headers_of_another_jpeg_abi_get_the_right_number(tmp_path: Path) -> None:
    """JPEG_LIB_VERSION is 80 in Ubuntu's headers, but 62 in the library of the official wheels."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "jpeglib.h").write_text('#include "jconfig.h"\n#define JPEG_HEADER 1\n')
    (foreign / "jconfig.h").write_text(
        "#define JPEG_LIB_VERSION  80\n#define LIBJPEG_TURBO_VERSION 2.1.5\n"
        "#define LIBJPEG_TURBO_VERSION_NUMBER 2001005\n"
    )
    request = jpeg_request(tmp_path, foreign)
    headers = probe_headers(request)
    assert (headers.jpeg_abi, headers.versions) == ("80", {"jpeg": "2.1.5"})
    private = matching_headers(request, headers, "libjpeg-32d42e18.so.62.4.0", "3.2.0", tmp_path / "private")
    adapted = probe_headers(replace(request, include_directories=(*private, foreign)))
    assert (adapted.jpeg_abi, adapted.versions) == ("62", {"jpeg": "3.2.0"})
    assert "LIBJPEG_TURBO_VERSION_NUMBER 2001005" in (tmp_path / "private/jconfig.h").read_text()
    for version in ("2.1.5", ""):
        assert matching_headers(request, headers, "libjpeg.so.8", version, tmp_path / "unused") == ()


def test_copied_libjpeg_turbo_headers_state_the_librarys_version(tmp_path: Path) -> None:
    """Pillow reports the header's version, and Debian's headers are older than the official wheel's library."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "jpeglib.h").write_text('#include "jconfig.h"\n')
    (foreign / "jconfig.h").write_text("#define JPEG_LIB_VERSION 62\n#define LIBJPEG_TURBO_VERSION 2.1.5\n")
    request = jpeg_request(tmp_path, foreign)
    private = matching_headers(request, probe_headers(request), "libjpeg.so.62", "3.2.0", tmp_path / "private")
    adapted = probe_headers(replace(request, include_directories=(*private, foreign)))
    assert (adapted.jpeg_abi, adapted.versions) == ("62", {"jpeg": "3.2.0"})


def test_headers_of_another_jpeg_implementation_are_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "jpeglib.h").write_text("#define JPEG_LIB_VERSION  90\n")
    request = jpeg_request(tmp_path, foreign)
    with pytest.raises(FailedError, match="not libjpeg-turbo's"):
        matching_headers(request, probe_headers(request), "libjpeg-32d42e18.so.62.4.0", "3.2.0", tmp_path / "private")
