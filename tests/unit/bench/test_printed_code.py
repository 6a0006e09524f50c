"""Candidates as code."""

import ast
import re

import pytest

from fastinstall.bench.catalogue import all_adapters
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import ImagePipeline
from fastinstall.core.errors import UsageError

PIPELINE = ImagePipeline(shorter=300, crop=0, filter="lanczos")


@pytest.mark.parametrize("name", [each.name for each in all_adapters()])
def test_an_adapter_is_a_whole_module(name: str) -> None:
    tree = ast.parse(render_code(name, PIPELINE))
    assert "fastinstall bench DIR --loader" in str(ast.get_docstring(tree))
    known = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    assert {"SHORTER", "CROP", "FILTER"} <= known


def test_the_pipeline_stands_in_front() -> None:
    values = dict(re.findall(r"^(SHORTER|CROP|FILTER) = (\S+)", render_code("opencv-area", PIPELINE), re.MULTILINE))
    assert values == {"SHORTER": "300", "CROP": "0", "FILTER": '"lanczos"'}


def test_the_packages_that_it_needs_are_named_for_a_shell() -> None:
    install = "python -m pip install"
    assert f"{install} 'pyvips[binary]>=2.2.3' numpy\n" in render_code("pyvips", PIPELINE)
    assert f"{install} simplejpeg numpy pillow\n" in render_code("simplejpeg", PIPELINE)


def test_an_unknown_name_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="'huge-pages'") as caught:
        render_code("huge-pages", PIPELINE)
    assert "pillow-draft" in str(caught.value.hint)
