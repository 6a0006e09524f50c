"""The environment variables of a build: our own, and some that the user has set."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastinstall.core.architecture import architecture_of
from fastinstall.core.secrets import remove_secret_variables
from fastinstall.index.pip import pip_environment
from fastinstall.model.artefact import LevelTarget
from fastinstall.wheelbuild.build_inputs import BuildRequest

FIXED_VARIABLES = {
    "SOURCE_DATE_EPOCH": "1577836800",  # 2020-01-01, a date that zip archives can represent
    "PYTHONHASHSEED": "0",  # makes build scripts iterate over sets in a fixed order
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}
_STRAY = frozenset(
    {
        *("CC", "CXX", "CPP", "AR", "ARFLAGS", "RANLIB", "LDSHARED", "LDCXXSHARED", "ARCHFLAGS"),
        *("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LD_RUN_PATH"),
        *("CPATH", "C_INCLUDE_PATH", "INCLUDE", "LIB", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
        *("JPEG_ROOT", "JPEG2K_ROOT", "TIFF_ROOT", "ZLIB_ROOT", "FREETYPE_ROOT", "HARFBUZZ_ROOT", "FRIBIDI_ROOT"),
        *("RAQM_ROOT", "WEBP_ROOT", "LCMS_ROOT", "IMAGEQUANT_ROOT", "AVIF_ROOT", "PKG_CONFIG_PATH"),
        *("MAX_CONCURRENCY", "LIB_FUZZING_ENGINE", "SOURCE_DATE_EPOCH", "SETUPTOOLS_USE_DISTUTILS", "DISTUTILS_DEBUG"),
    }
)
_HEADERS = Path("/usr/include")
_WORTH_SAYING = ("CFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "PKG_CONFIG_PATH")


def remove_stray_variables(variables: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the user's environment variables without those that would misdirect a build.

    Returns:
        The kept variables, and the names of dropped ones that the user may have set on purpose.
    """
    kept = {name: value for name, value in variables.items() if name not in _STRAY}
    return kept, tuple(name for name in _WORTH_SAYING if variables.get(name))


def build_variables(
    request: BuildRequest,
    target: LevelTarget,
    archiver: str,
    *,
    jobs: int = 1,
    preprocessor: Sequence[str] = (),
    linker: Sequence[str] = (),
) -> dict[str, str]:
    """Return the environment variables of one level's compilation.

    CC and LDSHARED are set to exclude the interpreter's own linker flags with their absolute RUNPATH. CFLAGS are
    complete, because they may replace the interpreter's (setuptools 75.7). Variables with passwords and tokens are
    removed, because a source runs other people's code.

    Args:
        request: the build, with variables as returned by `remove_stray_variables`.
        target: the level, with its flags.
        archiver: path of the compiler's `ar`.
        jobs: how many files are compiled at the same time.
        preprocessor: flags for header directories and for the header to include first.
        linker: flags for the directories of libraries at build time and at run time, and objects to link.
    """
    compiler = shlex.join((*request.compiler.command, "-pthread"))
    kept = pip_environment(remove_secret_variables(request.variables))
    return {
        # the user's pip settings are left out, because they may name further files
        **{name: value for name, value in kept.items() if not name.startswith("PIP_")},
        "PIP_CONFIG_FILE": os.devnull,
        "CC": compiler,
        "AR": shlex.quote(archiver),
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": shlex.join(target.cflags),
        "CPPFLAGS": shlex.join(preprocessor),
        "LDFLAGS": shlex.join((*target.ldflags, *linker)),
        "MAX_CONCURRENCY": str(jobs),
        **_list_places(request),
        **FIXED_VARIABLES,
    }


def _list_places(request: BuildRequest) -> dict[str, str]:
    """Return the variables for the platform of the build: this machine, or one of another architecture."""
    interpreter = request.interpreter
    if request.is_foreign:
        # The backend runs on this machine's Python, which would name wheel and modules after this machine. These
        # variables change the names. Source: sysconfig.get_platform and setuptools.command.build_ext.
        # _PYTHON_SYSCONFIGDATA_NAME is not needed: it would change only values that CC, CFLAGS and so on replace.
        return {
            "_PYTHON_HOST_PLATFORM": interpreter.platform,
            "SETUPTOOLS_EXT_SUFFIX": interpreter.extension_suffix,
        }
    # Debian's directory of headers that compilers search by default, but Pillow's setup.py does not.
    multiarch = _HEADERS / architecture_of(interpreter.machine).target
    return {"C_INCLUDE_PATH": str(multiarch)} if multiarch.is_dir() else {}
