"""Which features PIL was compiled with, which libraries it loads, and which features are missing or were lost.

- error: a feature that the setup had and the recipe expects is missing.
- warning: another feature of the setup is missing, or the stack never had a feature that the recipe expects.
- hint: PIL was compiled for zlib-ng, and another zlib is loaded.

The library that PIL was compiled for need not be the one that is loaded. `PIL.features` says "libjpeg_turbo" even if
another libjpeg is loaded. The check `jpeg-library` reports that.

Why it matters:
A missing format is noticed only when a file of that format is opened, in production. If PIL was compiled for a library
and loads another one, its speed is lost. The official wheels say "zlib_ng" and load the zlib of the operating system.
PNG is then written at half the speed (measured 2026-11-21). That is by design, and nothing is broken.

How to fix it:
`fastinstall doctor --fix` restores lost features. For PNG at the speed of zlib-ng, set up the stack of the recipe
`pillow-fast`, which has zlib-ng linked in.
"""

from collections.abc import Iterator

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.codec_libraries import find_codec, list_features, name_library
from fastinstall.doctor.remedies import PRINT_FEATURES, offer_repair, offer_setup, run_python, trace_bindings
from fastinstall.model.facts import Runtime
from fastinstall.model.finding import Finding, Status

_ZLIB_NG = ("zlib-ng", "zlib-ng compat")
_KINDS = ("jpeg", "zlib", "tiff", "openjpeg", "webp", "freetype", "lcms2")


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the features of PIL."""
    runtime = context.facts.runtime
    if runtime is None:
        yield Finding.skipped("nothing was executed", evidence=_describe_loaded(context))
    elif not runtime.imported:
        yield Finding.skipped("PIL could not be imported")
    else:
        problems = (*_report_missing(context, runtime), *_report_slower_zlib(context))
        message, verify = f"{len(runtime.features)} features are present", run_python(context, PRINT_FEATURES)
        evidence = (*_format_features(runtime.features), *_describe_loaded(context))
        yield from problems or (Finding.ok(message, evidence=evidence, verify=verify),)


def _report_missing(context: CheckContext, runtime: Runtime) -> Iterator[Finding]:
    """Report features that were lost since the setup, and features of the recipe that the stack never had."""
    before = context.receipt.features if context.receipt is not None else {}
    expected, verify = context.recipe.expect.features, run_python(context, PRINT_FEATURES)
    lost = {name: version for name, version in before.items() if name not in runtime.features}
    if lost:
        yield Finding.of(
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
        yield Finding.warning(
            f"features that {context.recipe.name} should have are missing: {', '.join(lacking)}",
            evidence=_format_features(runtime.features),
            expected=", ".join(expected),
            observed=", ".join(runtime.features),
            remedy=offer_repair(context),
            verify=verify,
        )


def _report_slower_zlib(context: CheckContext) -> Iterator[Finding]:
    """Report a PIL that was compiled for zlib-ng but loads another zlib: it works, but is slower."""
    features, codec = list_features(context), find_codec(context, "zlib")
    loaded = codec.library.implementation if codec is not None else ""
    if "zlib_ng" in features and codec is not None and loaded and loaded not in _ZLIB_NG:
        claimed, loaded = f"zlib_ng {features['zlib_ng']}".rstrip(), name_library(codec.library)
        yield Finding.hint(
            f"PIL.features says {claimed}, but {loaded} is loaded",
            evidence=(f"bound: {codec.library.path}", *_describe_loaded(context)),
            expected=claimed,
            observed=loaded,
            remedy=offer_setup(context, "set up the stack that has zlib-ng linked in"),
            verify=trace_bindings(context, "deflateInit2_"),
        )


def _describe_loaded(context: CheckContext) -> tuple[str, ...]:
    used = ((kind, find_codec(context, kind)) for kind in _KINDS)
    return tuple(f"loaded for {kind}: {name_library(codec.library)}" for kind, codec in used if codec is not None)


def _format_features(features: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name} {version}".rstrip() for name, version in features.items())
