"""The environment variables of a build: what of the user's is kept, and what we set ourselves."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from fastinstall.build.headers import include_flags
from fastinstall.build.reproducible import FIXED_VARIABLES
from fastinstall.build.request import BuildRequest
from fastinstall.installers.pip import pip_environment
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import Target
from fastinstall.rules.secrets import without_secret_variables

_STRAY = frozenset(
    {
        *("CC", "CXX", "CPP", "AR", "ARFLAGS", "RANLIB", "LDSHARED", "LDCXXSHARED", "ARCHFLAGS"),
        *("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LD_RUN_PATH"),
        *("CPATH", "C_INCLUDE_PATH", "INCLUDE", "LIB", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
        *("JPEG_ROOT", "JPEG2K_ROOT", "TIFF_ROOT", "ZLIB_ROOT", "FREETYPE_ROOT", "HARFBUZZ_ROOT", "FRIBIDI_ROOT"),
        *("RAQM_ROOT", "WEBP_ROOT", "LCMS_ROOT", "IMAGEQUANT_ROOT", "AVIF_ROOT"),
        *("PKG_CONFIG_PATH", "MAX_CONCURRENCY", "LIB_FUZZING_ENGINE", "SOURCE_DATE_EPOCH"),
        *(
            "SETUPTOOLS_USE_DISTUTILS",
            "DISTUTILS_DEBUG",
            "PIP_CONFIG_SETTINGS",
            "PIP_GLOBAL_OPTION",
            "PIP_BUILD_OPTION",
        ),
        *("PIP_NO_BUILD_ISOLATION", "PIP_NO_CLEAN", "PIP_LOG", "PIP_WHEEL_DIR"),
    }
)
_MULTIARCH = Path("/usr/include/x86_64-linux-gnu")
"""Where Debian keeps headers that a compiler finds by itself, and Pillow's setup.py only by pkg-config or when told."""

_WORTH_SAYING = ("CFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "PKG_CONFIG_PATH")


def without_stray(variables: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The user's environment without what would lead a build elsewhere.

    Returns:
        What is kept; and the names of dropped ones that somebody may have set on purpose.
    """
    kept = {name: value for name, value in variables.items() if name not in _STRAY}
    return kept, tuple(name for name in _WORTH_SAYING if variables.get(name))


@immutable
class Flags:
    """What compiler and linker are told for one core.

    Attributes:
        target: the level, with its flags.
        jobs: parallel compile jobs.
        preprocessor: where to find headers, and which one to put before every file.
        linker: where to find libraries, at build time and at run time.
    """

    target: Target
    jobs: int
    preprocessor: tuple[str, ...]
    linker: tuple[str, ...]


def build_variables(request: BuildRequest, flags: Flags) -> dict[str, str]:
    """The environment of `pip wheel`.

    CC and LDSHARED are set so that the interpreter's own linker flags, and with them its absolute
    RUNPATH, stay out; CFLAGS are full, for they may replace the interpreter's (setuptools 75.7).
    A source that is built is code of others: passwords and tokens are not for it.

    Args:
        request: the build; its variables are clean.
        flags: of the core.
    """
    compiler = shlex.join((*request.compiler.command, "-pthread"))
    return {
        **pip_environment(without_secret_variables(request.variables)),
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": shlex.join(flags.target.cflags),
        "CPPFLAGS": shlex.join(flags.preprocessor),
        "LDFLAGS": shlex.join((*flags.target.ldflags, *flags.linker)),
        "MAX_CONCURRENCY": str(flags.jobs),
        **({"C_INCLUDE_PATH": str(_MULTIARCH)} if _MULTIARCH.is_dir() else {}),
        **FIXED_VARIABLES,
    }


def preprocessor_flags(directories: tuple[Path, ...], prefix: tuple[str, ...]) -> tuple[str, ...]:
    """CPPFLAGS: where to find headers, and which one to put before every file."""
    return (*include_flags(directories), *prefix)
