"""Whether one process loads two libjpegs, which files use which, and whether a file is bound to the wrong one.

- error: a file is bound to another libjpeg than the one that it requires, with another interface or implementation.
  That libjpeg refuses the call ("Wrong JPEG library version: library is 80, caller expects 90"). Or it writes into the
  caller's memory with another layout.
- warning: two libjpegs are loaded without harm. Each file is bound to the libjpeg that it requires, or to one with the
  same interface.

A libjpeg that is linked into a module with hidden symbols does not conflict with others. Nor does a libjpeg with
another name in another package (`cv2`, `torchvision`). The check is skipped if Python runs on musl, whose loader is not
simulated.

Why it matters:
The loader binds a function to the first loaded library that defines it, even if the calling file requires another one.
Two libjpegs meet if one is the wheel's or conda's, and the other comes with the system's libtiff. The symbol versions
and the order of loading decide which one is used. PIL may work until another module or package is imported first.

How to fix it:
Take all of PIL's libraries from one source: a wheel that contains its libraries, or `fastinstall setup`. In a conda
environment install libtiff before you build anything there, or the build finds the system's libtiff. If both `jpeg`
and `libjpeg-turbo` are installed, remove `jpeg`.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from fastinstall.doctor import codec_libraries as libraries
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.owners import explain_no_stack
from fastinstall.doctor.remedies import offer_repair, show_needed, trace_bindings
from fastinstall.elf.description import Binding, Codec
from fastinstall.model.finding import Finding, Remedy, Status, shorten_evidence

_Codecs = dict[PurePath | None, Codec]


def check(context: CheckContext) -> Iterator[Finding]:
    """Check the libjpegs of a process that imports PIL."""
    linkage = context.linkage
    if not linkage.modules:
        absent = context.facts.stack.directory is None
        yield Finding.skipped(explain_no_stack(context.facts) if absent else libraries.explain_no_simulation(context))
        return
    codecs: _Codecs = {codec.path: codec for codec in libraries.codecs_of(context, "jpeg")}
    shared = [codec for codec in codecs.values() if not codec.inside]
    bindings = [binding for binding in linkage.bindings if binding.symbol.startswith("jpeg_")]
    crossed = tuple(binding for binding in bindings if binding.is_crossed and binding.provider in codecs)
    if crossed:
        yield _report_crossed(context, codecs, crossed)
    elif len(shared) > 1:
        yield _report_lucky(context, bindings, shared)
    elif codecs:
        yield _report_harmless(context, codecs)
    else:
        yield Finding.skipped("nothing that PIL loads is a libjpeg")


def _report_crossed(context: CheckContext, codecs: _Codecs, crossed: tuple[Binding, ...]) -> Finding:
    fatal = [binding for binding in crossed if not _is_compatible(binding, codecs)]
    binding = (fatal or crossed)[0]
    got, wanted = (_name_codec(codecs.get(path)) for path in (binding.provider, binding.wanted))
    works = "" if fatal else ": it works, since both have the same interface"
    return Finding.of(
        Status.ERROR if fatal else Status.WARNING,
        f"{binding.user.name} gets the functions of {got}, but requires {wanted}{works}",
        evidence=(*_describe_codecs(context, codecs.values()), *shorten_evidence(_describe_crossed(crossed))),
        expected=f"{binding.symbol} of {binding.wanted}",
        observed=f"{binding.symbol} of {binding.provider}",
        remedy=_make_remedy(context, codecs.values()),
        verify=trace_bindings(context, binding.symbol),
    )


def _is_compatible(binding: Binding, codecs: _Codecs) -> bool:
    """Return whether the bound libjpeg has the implementation and interface of the libjpeg that the file requires."""
    pair = [codecs[path].library for path in (binding.provider, binding.wanted) if path in codecs]
    return len({(library.implementation, library.abi) for library in pair}) == 1 and all(each.abi for each in pair)


def _report_lucky(context: CheckContext, bindings: list[Binding], shared: list[Codec]) -> Finding:
    unversioned = any(not binding.version for binding in bindings)
    keeps = "the order of loading alone" if unversioned else "nothing but the versions of their symbols"
    return Finding.warning(
        f"{len(shared)} libjpegs are loaded into one process: {' and '.join(map(_name_codec, shared))}; "
        f"{keeps} keeps them apart",
        evidence=tuple(_describe_codecs(context, shared)),
        remedy=_make_remedy(context, shared),
        verify=trace_bindings(context, "jpeg_CreateDecompress"),
    )


def _report_harmless(context: CheckContext, codecs: _Codecs) -> Finding:
    """Report one libjpeg, or several that do not conflict; the evidence lists others that the process has mapped."""
    core, mapped = context.facts.stack.core, libraries.list_mapped_files(context)
    others = (path for path in mapped if "libjpeg" in path.name and path not in codecs)
    unasked = "also mapped, and none of PIL's files asks for it"
    beside = shorten_evidence(f"{unasked}: {path}, {libraries.describe_file_owner(context, path)}" for path in others)
    inside = sum(codec.inside for codec in codecs.values())
    hidden = f"{len(codecs)} libjpegs are present, but separate: {inside} linked in"
    message = "one libjpeg serves all of PIL" if len(codecs) == 1 else hidden
    evidence = (*_describe_codecs(context, codecs.values()), *beside)
    verify = show_needed(core.loaded_file) if core is not None else ""
    return Finding.ok(message, evidence=evidence, verify=verify)


def _describe_codecs(context: CheckContext, codecs: Iterable[Codec]) -> Iterator[str]:
    for codec in codecs:
        name, path = _name_codec(codec), codec.path
        if codec.inside:
            yield f"{name}, linked into {path}"
        else:
            users = ", ".join(dict.fromkeys(user.name for user in codec.users)) or "nobody"
            whose, reason = libraries.describe_file_owner(context, path), libraries.explain_choice_of(context, path)
            yield f"{name}: {path} ({'; '.join(filter(None, (whose, reason)))}), used by {users}"


def _describe_crossed(crossed: tuple[Binding, ...]) -> tuple[str, ...]:
    """Return a line for each file that uses a wrong libjpeg: the first function, and the number of others."""
    groups: dict[tuple[PurePath | None, ...], list[str]] = {}
    for binding in crossed:
        symbol = f"{binding.symbol}@{binding.version}" if binding.version else f"{binding.symbol} without a version"
        groups.setdefault((binding.user, binding.provider, binding.wanted), []).append(symbol)
    return tuple(
        f"{user}: {symbols[0]}{f' and {len(symbols) - 1} more' if symbols[1:] else ''} of {provider}, not of {wanted}"
        for (user, provider, wanted), symbols in groups.items()
    )


def _make_remedy(context: CheckContext, codecs: Iterable[Codec]) -> Remedy:
    """Return the remedy: unset the shell variable through which a codec is loaded; without such a variable, repair."""
    paths = {codec.library.path for codec in codecs}
    by_variable = any(libraries.is_by_variable(file) for file in context.linkage.files if file.path in paths)
    return libraries.UNSET_VARIABLES if by_variable else offer_repair(context)


def _name_codec(codec: Codec | None) -> str:
    if codec is None:
        return "a library that is not a libjpeg"
    interface = f" (interface {codec.library.abi[:-1]}.{codec.library.abi[-1]})" if codec.library.abi else ""
    return f"{libraries.name_library(codec.library)}{interface}"
