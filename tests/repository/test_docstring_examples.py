"""Examples in docstrings of the package produce the results shown.

Only modules with an example are imported; examples may import only packages that are always installed.
"""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import fastinstall

PACKAGE = Path(str(fastinstall.__file__)).parent
EXAMPLE = re.compile(r"^ +>>> ", re.MULTILINE)
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if EXAMPLE.search(path.read_text("utf-8"))
]


def test_some_modules_have_examples() -> None:
    assert "fastinstall.core.architecture" in MODULES


@pytest.mark.parametrize("module", MODULES)
def test_examples_give_what_they_say(module: str) -> None:
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for each in doctest.DocTestFinder().find(importlib.import_module(module)):
        runner.run(each, out=report.append)
    assert not runner.failures, "".join(report)
    assert runner.tries
