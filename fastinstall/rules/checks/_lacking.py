"""Which libraries keep PIL's modules from being loaded, and a command that shows it of one of them."""

from pathlib import PurePath

from fastinstall.model.linkage import MissingLibrary
from fastinstall.rules.checks._codecs import simulation
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._stack import readable_core
from fastinstall.rules.checks._verify import IMPORT_CORE, run_python, show_needed, trace_search


def lacking(context: CheckContext) -> tuple[MissingLibrary, ...]:
    """Give what is not found, in the loader's order; without a simulated process, what the core itself lacks."""
    linkage, core = simulation(context), readable_core(context.facts.stack)
    if linkage is not None:
        return linkage.missing
    libraries = core.libraries if core is not None else ()
    return tuple(
        MissingLibrary(name=library.soname, needed_by=core.path, problem="not found")
        for library in libraries
        if core is not None and library.path is None
    )


def show_lacking(context: CheckContext, need: MissingLibrary) -> str:
    """Word a command: where the loader looks, who asks where it never gets there, or what is wrong with a module."""
    directory, missing = context.facts.stack.directory, lacking(context)
    if "/" in need.name:
        return run_python(context, _import(need.name))
    of_same = next((each for each in missing if each.needed_by == need.needed_by), need)
    is_direct = need.needed_by.parent == directory
    if need in missing[:1] or (is_direct and need == of_same):
        name = need.name.rpartition("/")[2]
        return trace_search(context, name, _import(need.needed_by) if is_direct else IMPORT_CORE)
    return show_needed(need.needed_by)


def _import(module: PurePath | str) -> str:
    return f"import PIL.{PurePath(module).name.partition('.')[0]}"
