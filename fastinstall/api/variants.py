"""One wheel for each CPU level beside the one for all of them, told apart by variant labels (PEP 825). Experimental."""

from dataclasses import replace
from pathlib import Path

from fastinstall.api.building import Built, Made, proven_wheel
from fastinstall.api.indexing import publish_wheel, require_wheelhouse
from fastinstall.api.session import Session
from fastinstall.api.target import Target
from fastinstall.build.variant_label import label_variant
from fastinstall.errors import UsageError
from fastinstall.model.event import Noted
from fastinstall.model.immutable import immutable
from fastinstall.model.wish import Wish
from fastinstall.rules.numbering import base_version
from fastinstall.rules.wheel_variants import variant_of
from fastinstall.system import files

STATUS = "wheel variants are experimental: PEP 825 is a draft, and what reads them may not read these in a year"


@immutable
class _Labelling:
    """Where labelled wheels go, and under which version."""

    session: Session
    version: str
    directory: Path


def build_variants(session: Session, target: Target, wish: Wish, directory: Path) -> Built:
    """Put labelled wheels beside the plain one: the null variant, which carries all levels, and one for each level.

    Args:
        session: where variables, caches and directories come from.
        target: whose Python they are for.
        wish: what to build; its levels become variants.
        directory: made where it is missing; what lies there already stays.

    Raises:
        UsageError: there is but one level.
        UnprovenError: a level does not prove.
        FailedError: one could not be built or written, or another wheel of its name lies there.
    """
    session.emit(Noted(message=STATUS, warning=True))
    require_wheelhouse(session, directory)
    whole = proven_wheel(session, target, wish)
    levels = whole.step.levels
    if len(levels) == 1:
        message = f"variants tell levels apart, and {whole.result.wheel.name} has only {levels[0]}"
        raise UsageError(message, hint="name several: --levels x86-64-v2,x86-64-v3")
    alone = replace(wish, level="auto", version=base_version(whole.step.version))
    each = [proven_wheel(session, target, replace(alone, levels=(level,))) for level in levels]
    plain = publish_wheel(session, whole.result.wheel, whole.result.sha256, directory)
    labelling = _Labelling(session=session, version=whole.step.version, directory=directory)
    variants = [_labelled(labelling, made, level) for level, made in ((None, whole), *zip(levels, each, strict=True))]
    result = replace(whole.result, wheel=plain)
    return Built(result=result, python=whole.interpreter.version, variants=tuple(variants))


def _labelled(labelling: _Labelling, made: Made, level: str | None) -> Path:
    with files.temporary_directory("variants") as space:
        wheel = label_variant(made.result.wheel, labelling.version, variant_of(level), space)
        return publish_wheel(labelling.session, wheel, files.sha256(wheel), labelling.directory)
