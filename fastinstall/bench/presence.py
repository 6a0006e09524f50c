"""Which modules a target could import; none of them is imported but the packages that hold them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from fastinstall.system import process

_LOOK_SECONDS = 60.0
_PROGRAM = """
import importlib.util, json, sys

def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False

stdout, sys.stdout = sys.stdout, sys.stderr
found = [name for name in json.loads(sys.argv[1]) if there(name)]
stdout.write(json.dumps(found))
"""


def find_modules(names: Iterable[str], python: Path, variables: Mapping[str, str]) -> frozenset[str]:
    """Those of these modules that are installed; none where the interpreter cannot say.

    Args:
        names: of modules, dotted.
        python: the target's interpreter.
        variables: the whole environment of the process.
    """
    words = (python, "-I", "-B", "-c", _PROGRAM, json.dumps(sorted(set(names))))
    try:
        done = process.run(words, environment={**variables, "FASTINSTALL_GUARD": "0"}, timeout=_LOOK_SECONDS)
    except process.CommandError:
        return frozenset()
    return frozenset(json.loads(done.stdout))
