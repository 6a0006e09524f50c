"""Whether the core was compiled with optimisation, told from the binary itself.

- error: built at -O0. `CFLAGS="-mavx2" pip install pillow-simd`, which many guides give, does that: setuptools 75.7
  and later let CFLAGS replace the interpreter's own -O3. Such a build is slower than stock Pillow.
- unknown: the binary gives no sign.

The sign is the share of functions that begin with the frame set-up of an unoptimised build: all of them at -O0, next
to none at -O3. Where the compiler recorded its switches and they say -O2 or more, frame pointers were asked for.
"""

from collections.abc import Iterator

from fastinstall.model.facts import Core
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._remedies import repair
from fastinstall.rules.checks._stack import readable_core
from fastinstall.rules.checks._voice import Voice

NAME = "build-flags"
SUMMARY = "Whether the imaging core was compiled with optimisation, and what the binary records of its making."
NEEDS_RUNTIME = False

_SAY = Voice(NAME)
_UNOPTIMISED = 0.5
_GOOD = frozenset({"-O2", "-O3", "-Os", "-Ofast"})


def check(context: CheckContext) -> Iterator[Finding]:
    """Judge how the core was compiled."""
    core = readable_core(context.facts.stack)
    if core is None:
        yield _SAY.skipped("there is no readable imaging core")
    elif context.facts.cpu.architecture != "x86_64":
        yield _SAY.skipped(f"the signs of optimisation are known for x86-64 only, not {context.facts.cpu.architecture}")
    elif _is_recorded_good(core):
        yield _SAY.ok("the core was compiled with optimisation, say its recorded switches", evidence=_provenance(core))
    elif core.unoptimised_share is None:
        yield _SAY.unknown("the core does not show whether it was optimised", evidence=_provenance(core))
    elif core.unoptimised_share > _UNOPTIMISED:
        yield _unoptimised(context, core, core.unoptimised_share)
    else:
        yield _SAY.ok("the core was compiled with optimisation", evidence=_provenance(core))


def _unoptimised(context: CheckContext, core: Core, share: float) -> Finding:
    return _SAY.error(
        "the core was built without optimisation (-O0): slower than stock Pillow, whatever its kernels",
        evidence=_provenance(core),
        expected="next to no functions with the frame set-up of an unoptimised build",
        observed=f"{share:.0%} of them",
        remedy=repair(context),
    )


def _provenance(core: Core) -> tuple[str, ...]:
    share = core.unoptimised_share
    frames = () if share is None else (f"functions with an unoptimised frame set-up: {share:.0%}",)
    note = (f"declared CPU level: {core.isa_note}",) if core.isa_note else ()
    recorded = (f"recorded switches: {' '.join(core.switches)}",) if core.switches else ()
    return (str(core.path), *frames, *note, *recorded)


def _is_recorded_good(core: Core) -> bool:
    words = {word for entry in core.switches for word in entry.split()}
    return bool(words & _GOOD) and "-O0" not in words
