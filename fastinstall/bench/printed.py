"""A candidate as code for somebody's own project: a module with `load(path)`, or a script that makes a store."""

from fastinstall.bench.adapting import Adapter, all_adapters
from fastinstall.bench.store_kinds import all_kinds
from fastinstall.errors import UsageError
from fastinstall.model.images import Pipeline
from fastinstall.rules.messages import quote


def render_code(name: str, pipeline: Pipeline) -> str:
    """The text of a Python module.

    Of an adapter it has a function `load(path)`, as `bench --loader FILE` takes it; of a store it is a script that is
    run as `python FILE IMAGES OUT`.

    Args:
        name: of an adapter or a store.
        pipeline: what is done to every image; it stands in the module as assignments.

    Raises:
        UsageError: no candidate of that name is code.
    """
    adapter = next((each for each in all_adapters() if each.name == name), None)
    if adapter is not None:
        return _loader(adapter, pipeline)
    from fastinstall.bench.store_scripts import render_script  # noqa: PLC0415 (only where a store is asked for)

    stores = [each.name for each in all_kinds()]
    if name in stores:
        return render_script(name, pipeline)
    known = ", ".join((*(each.name for each in all_adapters()), *stores))
    raise UsageError(f"no candidate called {name!r} is code", hint=f"there are: {known}")


def _loader(adapter: Adapter, pipeline: Pipeline) -> str:
    return f'''"""{adapter.title}: load(path) gives the picture in RGB, resized and cut.

It needs: python -m pip install {" ".join(_needs(adapter))}
To measure it: fastinstall bench DIR --loader FILE
"""

SHORTER = {pipeline.shorter!r}  # length of the shorter side after the resize
CROP = {pipeline.crop!r}  # side of the square that is cut out of the middle, 0 for none
FILTER = "{pipeline.filter}"  # "bilinear", "bicubic" or "lanczos"

{adapter.loader.strip()}
'''


def _needs(adapter: Adapter) -> tuple[str, ...]:
    """Requirements of the code, for a shell."""
    pillow = ("pillow",) if "PIL" in adapter.modules else ()
    return tuple(quote(each) for each in dict.fromkeys((*adapter.brings, *pillow, "numpy")))
