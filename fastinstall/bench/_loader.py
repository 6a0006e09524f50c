"""Runs inside a target, for `_loading.py`: the user's own loader, a function in a file. Standard library only, 3.8.

Errors name the line of the user's file.
"""

import os
import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any, Callable

MODULE = "fastinstall_loader"
KNOWN = ("PIL", "cv2", "numpy", "torch", "torchvision", "albumentations", "skimage", "tensorflow")
"""Packages that load images, whose versions are reported."""


class LoaderError(Exception):
    """The user's loader cannot be used; the text gives the reason."""


def own_loader(where: str, place: int) -> Callable[[str], Any]:
    """Return the function that FILE:FUNCTION names.

    Its directory and PYTHONPATH, which the interpreter was told to ignore, are added to the path: the file may import
    its neighbours, as in normal use.

    Args:
        where: the user's loader, as FILE:FUNCTION.
        place: the position of its directory in sys.path.

    Raises:
        LoaderError: there is no such function, or the file raised.
    """
    file, _, name = where.rpartition(":")
    places = [os.path.dirname(file), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    sys.path[place:place] = [os.path.abspath(each) for each in places if each]
    found = getattr(module_in(file), name, None)
    if not callable(found):
        raise LoaderError("%s has no function %s(path)" % (file, name))
    return found  # type: ignore[no-any-return]  # its results are checked later


def module_in(file: str) -> Any:
    """Import the user's file. Raises LoaderError if it exits or raises."""
    spec = spec_from_loader(MODULE, SourceFileLoader(MODULE, file))
    made = module_from_spec(spec)  # type: ignore[arg-type]  # it was given a loader
    sys.modules[MODULE] = made
    try:
        spec.loader.exec_module(made)  # type: ignore[union-attr]  # likewise
    except SystemExit as error:
        hint = "put what it runs under: if __name__ == '__main__'"
        raise LoaderError("%s exited while it was imported (%s); %s" % (file, error, hint)) from error
    except Exception as error:
        raise LoaderError("%s raised while it was imported: %s" % (file, told(error, file))) from error
    return made


def told(error: BaseException, file: str) -> str:
    """Return an exception's text, with the line of the user's file that led to it."""
    if isinstance(error, SyntaxError):
        return "SyntaxError: %s" % error
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    text = "%s: %s" % (type(error).__name__, error)
    return "%s (line %s)" % (text, lines[-1]) if lines else text
