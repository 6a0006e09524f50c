"""How a libjpeg differs from the one that the receipt recorded, and who may have put it there."""

from pathlib import PurePath

from fastinstall.model.core import Library
from fastinstall.model.environment import EnvironmentKind
from fastinstall.rules.checks._codecs import called
from fastinstall.rules.checks._conda import bringer, package_of, told
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._places import Place, place_of
from fastinstall.rules.checks._stack import describe
from fastinstall.rules.checks._verify import find_text

_SHOWN = 16


def changed_since_setup(context: CheckContext, recorded: Library, library: Library) -> tuple[str, ...]:
    """Say what changed, as evidence; empty where it is the same library.

    The same contents at another place, or in another inode, are the same library. Where one of the two has no
    sha256, the build-ids and sizes decide, if both have them.
    """
    if _is_same(recorded, library):
        return ()
    rows = (
        ("path", recorded.path, library.path),
        ("library", called(recorded), called(library)),
        ("size", recorded.size or "", library.size or ""),
        ("sha256", recorded.sha256[:_SHOWN], library.sha256[:_SHOWN]),
        ("build-id", recorded.build_id[:_SHOWN], library.build_id[:_SHOWN]),
    )
    changes = tuple(f"{name} was {was}, is {now}" for name, was, now in rows if was and now and was != now)
    return (*changes, *_author(context, recorded, library))


def _is_same(recorded: Library, library: Library) -> bool:
    if recorded.sha256 and library.sha256:
        return recorded.sha256 == library.sha256
    fingerprints = ((recorded.build_id, library.build_id), (recorded.size, library.size))
    return all(was == now for was, now in fingerprints if was and now)


def _author(context: CheckContext, recorded: Library, library: Library) -> tuple[str, ...]:
    path = library.path
    if path is None:
        return ()
    if recorded.path != path:
        return ("the recorded file is no longer the one that is found first",)
    place = place_of(context, path)
    if place is Place.PACKAGES:
        return _by_record(context, path)
    if place is Place.ENVIRONMENT and context.facts.environment.kind is EnvironmentKind.CONDA:
        return (_by_conda(context, library, path),)
    if place is Place.SYSTEM:
        return ("replaced in place, as an upgrade of the operating system's packages does",)
    return ("overwritten in place, by something that left no trace",)


def _by_conda(context: CheckContext, library: Library, path: PurePath) -> str:
    """The package of conda's that wrote it, with its command; guessed where conda's records do not tell."""
    package = package_of(context, path)
    if package:
        return f"as it is, it belongs to conda's {package}{told(bringer(context.facts, package))}"
    likely = "libjpeg-turbo" if library.implementation == "libjpeg-turbo" else "jpeg"
    records = find_text(f"lib/{path.name}", context.facts.environment.prefix / "conda-meta")
    return f"clobbered in place, as conda's package {likely} does; who did: {records}"


def _by_record(context: CheckContext, path: PurePath) -> tuple[str, ...]:
    """Whose RECORD lists the file as it is now, or that none does."""
    name = str(path.relative_to(context.facts.interpreter.site_packages))
    listing = [owner for owner in context.facts.stack.owners if PurePath(name).parts[0] in owner.entries]
    if any(name in owner.mismatched for owner in listing):
        return ("clobbered in place: RECORD lists other contents",)
    return tuple(f"as it is, it belongs to {describe(owner)}" for owner in listing[:1])
