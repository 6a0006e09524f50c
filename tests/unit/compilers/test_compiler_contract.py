"""Each compiler is one class in one file, and one word in a list; no other module names it."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.values.builders import changed, healthy_facts

import fastinstall
from fastinstall.compilers import find_compiler, get_wheel_compiler, list_compilers, list_wheel_compilers
from fastinstall.compilers.clang import COMPILER as CLANG
from fastinstall.compilers.compiler import WheelCompiler
from fastinstall.core.architecture import Architecture
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Emit
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import Request, ToolchainSource

PACKAGE = Path(str(fastinstall.__file__)).parent
THE_LIST = "model/request.py"

NAMES = {
    "compilers/clang.py": re.compile(r"\bzig(?:lang)?\b|ToolchainSource\.CLANG", re.IGNORECASE),
    "compilers/conda.py": re.compile(r"c-compiler|ToolchainSource\.CONDA"),
    "compilers/system.py": re.compile(r"ToolchainSource\.SYSTEM"),
}
"""Words that only the file of a compiler may contain."""


def saying(pattern: re.Pattern[str]) -> list[str]:
    """List the package's modules whose code matches a pattern; comments and docstrings do not count."""
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    return sorted(name for name, text in texts.items() if pattern.search(text) and pattern.search(strip(text)))


def strip(text: str) -> str:
    """Return the code without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(value=...)
    return ast.unparse(tree)


@pytest.mark.parametrize("file", NAMES)
def test_a_compiler_is_named_in_its_file_alone(file: str) -> None:
    assert saying(NAMES[file]) == [file]


def test_each_word_has_its_file_with_one_class() -> None:
    assert {each.word for each in list_compilers()} == {*ToolchainSource} - {ToolchainSource.AUTO}
    for each in list_compilers():
        assert type(each).__module__ == f"fastinstall.compilers.{each.word}"
        assert each.choice
    assert {f"compilers/{each.word}.py" for each in list_compilers()} == NAMES.keys()


def test_the_list_is_where_the_page_says() -> None:
    assert saying(re.compile(r"class ToolchainSource\(")) == [THE_LIST]


def test_no_compiler_is_meant_where_the_choice_is_left_to_us() -> None:
    assert find_compiler(ToolchainSource.AUTO) is None


def test_a_wheel_of_an_unknown_compiler_is_refused() -> None:
    with pytest.raises(RefusedError, match="tinycc"):
        get_wheel_compiler("tinycc")


class _Tiny(WheelCompiler):
    """A fictitious compiler that comes in a wheel, added to the supported compilers."""

    word = ToolchainSource.CLANG
    choice = "tinycc"
    distribution = "tinycc"
    versions = ">=1"
    program = "tcc"
    limits = "it has no atomics"

    def fits(self, _interpreter: Interpreter, *, core_alone: bool) -> bool:
        return not core_alone

    def select_flags(self, probed: Iterable[str]) -> tuple[str, ...]:
        return tuple(probed)

    def prepare(self, wheel: Path, cache: Path, _emit: Emit, _architecture: Architecture | None = None) -> Path:
        return cache / wheel.stem


def wheel(name: str) -> Artefact:
    filename = f"{name}-1.0-py3-none-any.whl"
    return Artefact(name=name, version="1.0", filename=filename, url=f"https://example.org/{filename}", sha256="0" * 64)


def choose(
    compiler: WheelCompiler, *, toolchain: str = "auto", core_alone: bool = True, wheels: tuple[str, ...] = ("ziglang",)
) -> Artefact | None:
    facts = changed(healthy_facts(), {"toolchain": {"named_compiler": ""}})
    releases = Releases(sources=(), wheels=(), compilers=tuple(map(wheel, wheels)), origin="the package index")
    return compiler.choose_wheel(facts, Request(toolchain=ToolchainSource(toolchain)), releases, core_alone=core_alone)


def test_a_wheel_compiler_with_no_advantage_is_used_only_by_name() -> None:
    wheels = ("ziglang", "tinycc")
    asked = choose(_Tiny(), toolchain="clang", core_alone=False, wheels=wheels)
    assert asked is not None
    assert asked.name == "tinycc"
    assert choose(_Tiny(), core_alone=False, wheels=wheels) is None
    assert _Tiny().describe(asked, ()).text == "tcc: tcc of tinycc-1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("compiler", "given", "said"),
    [
        (CLANG, {"wheels": ()}, "the package index has no wheel of ziglang"),
        (CLANG, {"core_alone": False}, "only the core"),
        (_Tiny(), {"wheels": ("tinycc",)}, "no atomics"),
    ],
    ids=["not on offer", "does not fit", "another's limits"],
)
def test_one_that_is_asked_for_and_cannot_be_used_is_refused(
    compiler: WheelCompiler, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(RefusedError, match=said):
        choose(compiler, toolchain="clang", **given)


def test_those_in_wheels_are_found_by_their_distributions() -> None:
    assert all(each.distribution == name for name, each in list_wheel_compilers().items())
    assert get_wheel_compiler(CLANG.distribution) is CLANG
