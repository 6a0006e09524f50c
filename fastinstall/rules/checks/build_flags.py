"""Whether the core was compiled with optimisation, told from the binary itself.

- error: built at -O0. `CFLAGS="-mavx2" pip install pillow-simd`, which many guides give, does that: setuptools 75.7
  and later let CFLAGS replace the interpreter's own -O3. Such a build is slower than stock Pillow.
- unknown: the binary gives no sign.

The sign is the share of functions that begin with the frame set-up of an unoptimised build: all of them at -O0, next
to none at -O3. Where the compiler recorded its switches and they say -O2 or more, frame pointers were asked for.
Where a wheel holds one copy of the core per CPU level, each of them is judged: another CPU would load another one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fastinstall.model.core import Core
from fastinstall.model.finding import Finding
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._copies import called, whole_copies
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
    """Judge how the core was compiled, and every copy of it."""
    core = readable_core(context.facts.stack)
    if core is None:
        yield _SAY.skipped("there is no readable imaging core")
    elif context.facts.cpu.architecture != "x86_64":
        yield _SAY.skipped(f"the signs of optimisation are known for x86-64 only, not {context.facts.cpu.architecture}")
    else:
        problems = tuple(finding for code in _codes(core) for finding in _judge(context, code))
        yield from problems or (_optimised(core),)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Code:
    """A file with the core's code: how to name it, and its signs."""

    name: str
    share: float | None
    excused: bool
    evidence: tuple[str, ...]


def _codes(core: Core) -> tuple[_Code, ...]:
    """The core, or its copies; recorded switches are known of the one that is loaded, and excuse no other."""
    good, evidence = _is_recorded_good(core), _provenance(core)
    if not core.levels:
        return (_Code(name="the core", share=core.unoptimised_share, excused=good, evidence=evidence),)
    return tuple(
        _Code(
            name=f"{called(core, copy)} of the core",
            share=copy.unoptimised_share,
            excused=good and copy.loaded,
            evidence=evidence if copy.loaded else (str(copy.path), *_frames(copy.unoptimised_share)),
        )
        for copy in whole_copies(core)
    )


def _judge(context: CheckContext, code: _Code) -> Iterator[Finding]:
    if code.excused:
        return
    if code.share is None:
        yield _SAY.unknown(f"{code.name} does not show whether it was optimised", evidence=code.evidence)
    elif code.share > _UNOPTIMISED:
        yield _SAY.error(
            f"{code.name} was built without optimisation (-O0): slower than stock Pillow, whatever its kernels",
            evidence=code.evidence,
            expected="next to no functions with the frame set-up of an unoptimised build",
            observed=f"{code.share:.0%} of them",
            remedy=repair(context),
        )


def _optimised(core: Core) -> Finding:
    if core.levels:
        return _SAY.ok("every copy of the core was compiled with optimisation", evidence=_provenance(core))
    source = ", say its recorded switches" if _is_recorded_good(core) else ""
    return _SAY.ok(f"the core was compiled with optimisation{source}", evidence=_provenance(core))


def _provenance(core: Core) -> tuple[str, ...]:
    note = (f"declared CPU level: {core.isa_note}",) if core.isa_note else ()
    recorded = (f"recorded switches: {' '.join(core.switches)}",) if core.switches else ()
    return (str(core.path), *_frames(core.unoptimised_share), *note, *recorded)


def _frames(share: float | None) -> tuple[str, ...]:
    return () if share is None else (f"functions with an unoptimised frame set-up: {share:.0%}",)


def _is_recorded_good(core: Core) -> bool:
    words = {word for entry in core.switches for word in entry.split()}
    return bool(words & _GOOD) and "-O0" not in words
