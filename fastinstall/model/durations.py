"""How long the phases of earlier setups took on this machine; kept in the cache, beside what they made."""

from dataclasses import field

from fastinstall.model.immutable import immutable


@immutable
class Durations:
    """What is remembered of earlier setups.

    Attributes:
        phases: name of a phase, of what was built ("pillow-merged x86-64-v2,x86-64-v3 compile"), to its seconds.
        built: digests of builds that went through, whose wheel the cache will therefore have.
    """

    phases: dict[str, float] = field(default_factory=dict)
    built: tuple[str, ...] = ()
