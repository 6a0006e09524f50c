"""Which features were compiled in, which load, which are missing, and which were lost since the setup.

- error: a feature that was set up and that the recipe expects is lost.
- warning: another one is lost, or one that the recipe expects was never there. Or a library is not the one that PIL was
  compiled for, or reports another version when it runs.
- hint: PIL was compiled for zlib-ng, and another zlib is bound.

Compiled in is not loaded: `PIL.features` says "libjpeg_turbo" with another libjpeg loaded too. See `jpeg-library`.

Why it matters:
A format that is gone shows only when a file of that format is opened, in production. A library that was compiled for,
yet not loaded, gives none of its speed. The official wheels say "zlib_ng" and load the zlib of the operating system.
PNG is then written at half the speed (measured 2026-11-21). They are made so, and nothing is broken.

How to fix it:
`fastinstall doctor --fix` brings lost features back. For PNG at the speed of zlib-ng, set up the stack of the recipe
`pillow-fast`, which has zlib-ng linked in.
"""

import re
from collections.abc import Iterator

from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.codec_libraries import claimed_features, codec_in_use, name_library
from fastinstall.doctor.remedies import PRINT_FEATURES, offer_repair, run_python, setup, trace_bindings
from fastinstall.elf.description import Codec
from fastinstall.model.facts import Runtime
from fastinstall.model.finding import Finding, Status

NEEDS_RUNTIME = True
ORDER = 130
VERIFIES_SETUP = True

_COMPILED_FOR = {
    "libjpeg_turbo": ("jpeg", ("libjpeg-turbo", "mozjpeg"), "jpeg_CreateDecompress"),
    "zlib_ng": ("zlib", ("zlib-ng", "zlib-ng compat"), "deflateInit2_"),
}
"""What headers claim: the kind of library, the implementations that bear the claim out, one of its functions."""
_ASKED = {
    "libtiff": "tiff",
    "jpg_2000": "openjpeg",
    "webp": "webp",
    "freetype2": "freetype",
    "littlecms2": "lcms2",
    "zlib": "zlib",
}
"""Versions that PIL asks of the loaded library itself, and the kind of library that answers."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")

_SAY = FindingFactory("features")
_KINDS = ("jpeg", "zlib", "tiff", "openjpeg", "webp", "freetype", "lcms2")


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge the features of PIL."""
    runtime = context.facts.runtime
    if runtime is None:
        yield _SAY.skipped("nothing was executed", evidence=_describe_loaded(context))
    elif not runtime.imported:
        yield _SAY.skipped("PIL could not be imported")
    else:
        problems = (*_report_missing(context, runtime), *_report_belied(context))
        yield from problems or (_report_complete(context, runtime),)


def _report_complete(context: CheckContext, runtime: Runtime) -> Finding:
    message, verify = f"{len(runtime.features)} features are present", run_python(context, PRINT_FEATURES)
    return _SAY.ok(message, evidence=(*_format_features(runtime.features), *_describe_loaded(context)), verify=verify)


def _report_missing(context: CheckContext, runtime: Runtime) -> Iterator[Finding]:
    """Report what was lost since the setup, and what was never there, though the recipe expects it."""
    before = context.receipt.features if context.receipt is not None else {}
    expected, verify = context.recipe.expect.features, run_python(context, PRINT_FEATURES)
    lost = {name: version for name, version in before.items() if name not in runtime.features}
    if lost:
        yield _SAY.say(
            Status.ERROR if any(name in expected for name in lost) else Status.WARNING,
            f"features lost since the setup: {', '.join(lost)}",
            evidence=tuple(f"present at the setup: {feature}" for feature in _format_features(lost)),
            expected=", ".join(before),
            observed=", ".join(runtime.features),
            remedy=offer_repair(context),
            verify=verify,
        )
    lacking = [name for name in expected if name not in runtime.features and name not in before]
    if lacking:
        yield _SAY.warning(
            f"features that {context.recipe.name} should have are missing: {', '.join(lacking)}",
            evidence=_format_features(runtime.features),
            expected=", ".join(expected),
            observed=", ".join(runtime.features),
            remedy=offer_repair(context),
            verify=verify,
        )


def _report_belied(context: CheckContext) -> Iterator[Finding]:
    """Report claims that the loaded libraries do not bear out; without zlib-ng nothing is broken, only slower."""
    features = claimed_features(context)
    for name, (kind, implementations, symbol) in _COMPILED_FOR.items():
        codec = codec_in_use(context, kind)
        loaded = codec.library.implementation if codec is not None else ""
        if name in features and codec is not None and loaded and loaded not in implementations:
            yield _report_claim(context, name, codec, trace_bindings(context, symbol))
    for name, kind in _ASKED.items():
        codec = codec_in_use(context, kind)
        # zlib-ng gives the version of the zlib whose place it takes.
        if codec is None or codec.library.implementation.startswith("zlib-ng"):
            continue
        if _is_different(features.get(name, ""), codec.library.version):
            yield _report_claim(context, name, codec, run_python(context, PRINT_FEATURES))


def _report_claim(context: CheckContext, name: str, codec: Codec, verify: str) -> Finding:
    claimed, loaded = f"{name} {claimed_features(context)[name]}".rstrip(), name_library(codec.library)
    slower = name == "zlib_ng"
    return _SAY.say(
        Status.HINT if slower else Status.WARNING,
        f"PIL.features says {claimed}, but {loaded} is loaded",
        evidence=(f"bound: {codec.library.path}", *_describe_loaded(context)),
        expected=claimed,
        observed=loaded,
        remedy=setup(context, "set up the stack that has zlib-ng linked in") if slower else offer_repair(context),
        verify=verify,
    )


def _is_different(claimed: str, loaded: str) -> bool:
    """Tell whether two versions differ in what both of them tell: "2.17" and "2.17.0" don't; unknown ones don't."""
    told, found = _parse_numbers(claimed), _parse_numbers(loaded)
    shorter = min(len(told), len(found))
    return shorter > 1 and told[:shorter] != found[:shorter]


def _parse_numbers(version: str) -> tuple[int, ...]:
    found = _NUMBERS.search(version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _describe_loaded(context: CheckContext) -> tuple[str, ...]:
    used = ((kind, codec_in_use(context, kind)) for kind in _KINDS)
    return tuple(f"loaded for {kind}: {name_library(codec.library)}" for kind, codec in used if codec is not None)


def _format_features(features: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name} {version}".rstrip() for name, version in features.items())
