"""Whether the libjpeg that loads is one that the core was compiled for, for the check of the libjpeg."""

import re

from fastinstall.model.core import Library
from fastinstall.rules.checks._codecs import called, claimed_features
from fastinstall.rules.checks._context import CheckContext

_TURBO = "libjpeg-turbo"
_INTERFACE = re.compile(r"([6-9])\.(\d)")


def misfit(context: CheckContext, library: Library) -> str:
    """Say why the core cannot work with this libjpeg; empty where it can, or where nothing is known of either.

    A libjpeg refuses callers that were compiled for another interface ("Wrong JPEG library version"). The IJG's
    does not know the colour spaces that a core which was compiled for libjpeg-turbo asks for when it writes. Where
    an operation with JPEG was seen to work, it works.
    """
    if _has_worked(context):
        return ""
    compiled_for = _interface(context)
    if compiled_for and library.abi and compiled_for != library.abi:
        asked, has = (f"{number[:-1]}.{number[-1]}" for number in (compiled_for, library.abi))
        return f"the core was compiled for libjpeg's interface {asked}, and loads {called(library)}, which has {has}"
    claimed = claimed_features(context).get("libjpeg_turbo")
    if claimed is not None and library.implementation == "IJG libjpeg":
        turbo = f"{_TURBO} {claimed}".rstrip()
        return f"the core was compiled for {turbo}, and loads {called(library)}: JPEG files cannot be written"
    return ""


def claims_and_failures(context: CheckContext) -> tuple[str, ...]:
    """What `PIL.features` says all the same, and the operations that failed."""
    features, runtime = claimed_features(context), context.facts.runtime
    claims = (f"PIL.features says {name} {features[name]}" for name in ("jpg", "libjpeg_turbo") if name in features)
    operations = runtime.operations if runtime is not None else ()
    failed = (f"{each.name}: {each.error}" for each in operations if "jpeg" in each.name and not each.ok)
    return (*claims, *failed)


def _has_worked(context: CheckContext) -> bool:
    runtime = context.facts.runtime
    return runtime is not None and any("jpeg" in each.name and each.ok for each in runtime.operations)


def _interface(context: CheckContext) -> str:
    """The interface that the core was compiled for, as a libjpeg counts it: "62"; `PIL.features` says "6.2"."""
    told = _INTERFACE.fullmatch(claimed_features(context).get("jpg", ""))
    return f"{told[1]}{told[2]}" if told else ""
