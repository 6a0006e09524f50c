"""The table of architectures is consistent and agrees with this machine; no other module names a machine."""

import ast
import os
import re
import sysconfig
from functools import cache
from pathlib import Path

import pytest

import fastinstall
from fastinstall.core.architecture import ARCHITECTURES, X86_64, Architecture, architecture_of, level_label

PACKAGE = Path(str(fastinstall.__file__)).parent

NAMES = re.compile(r"x86[-_]64|amd64|i386|aarch64|arm64|armv8|linux-64")
"""Names of architectures in the kernel, Debian, conda, wheels, compilers and containers, and of CPU levels."""

ELSEWHERE = {
    "core/architecture.py": "the table",
    "cli/options.py": "help for people, with levels as examples",
    "cli/wizard/choices.py": "what each level means for people",
}
"""Modules that may name a machine in a string, each with the reason."""


@cache
def modules() -> dict[str, ast.Module]:
    """Return the package's modules that mention machines, by path."""
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    spoken = re.compile(f"{NAMES.pattern}|X86_64|AARCH64")
    return {name: ast.parse(text) for name, text in sorted(texts.items()) if spoken.search(text)}


def naming(tree: ast.Module) -> list[int]:
    """List the lines with a string that names a machine, docstrings excluded."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    return [node.lineno for node in constants if NAMES.search(ast.unparse(node))]


def comparing(tree: ast.Module) -> list[int]:
    """List the lines that compare something with one architecture; code should look values up in the table instead."""
    keys = ("", ".machine", ".title", ".platform", ".target")
    single = {f"{name}{key}" for name in ("X86_64", "AARCH64") for key in keys}
    compared = ((node, (node.left, *node.comparators)) for node in ast.walk(tree) if isinstance(node, ast.Compare))
    return [node.lineno for node, sides in compared if any(ast.unparse(side) in single for side in sides)]


def test_no_module_names_a_machine_but_the_table() -> None:
    found = {name: lines for name, tree in modules().items() if name not in ELSEWHERE and (lines := naming(tree))}
    assert found == {}, "look it up in core/architecture.py"


def test_no_module_compares_with_a_machine() -> None:
    found = {name: lines for name, tree in modules().items() if (lines := comparing(tree))}
    assert found == {}, "ask architecture_of(machine) what it is, or look up what is known by machine"


def test_every_exception_is_one() -> None:
    needed = {name for name, tree in modules().items() if naming(tree)}
    assert ELSEWHERE.keys() <= needed


@pytest.mark.parametrize("text", ["machine == 'x86_64'", "f'{tag}_aarch64'", "a = b'ld-linux-x86-64.so.2'"])
def test_the_rule_sees_names(text: str) -> None:
    assert naming(ast.parse(text)) == [1]


@pytest.mark.parametrize("text", ["machine != X86_64.machine", "each is AARCH64", "X86_64.platform in names"])
def test_the_rule_sees_comparisons(text: str) -> None:
    assert comparing(ast.parse(text)) == [1]


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda each: each.machine)
def test_a_row_is_whole(architecture: Architecture) -> None:
    assert architecture_of(architecture.machine) is architecture
    assert {*architecture.hwcaps} <= {level.name for level in architecture.levels}
    assert architecture.loader_name.startswith("ld-linux-")
    assert all(size & (size - 1) == 0 for size in architecture.page_sizes)
    assert "" not in (architecture.platform, architecture.conda_subdir, architecture.target, *architecture.cpuinfo)


def test_the_row_of_this_machine_is_true() -> None:
    here = architecture_of(os.uname().machine)
    if here not in ARCHITECTURES:
        pytest.skip(f"{here.machine} is not in the table")
    assert sysconfig.get_platform() == f"linux-{here.machine}"
    assert os.sysconf("SC_PAGE_SIZE") in here.page_sizes
    assert sysconfig.get_config_var("MULTIARCH") in (here.target, None, "")


def test_an_unknown_machine_is_unsupported_but_has_usual_names() -> None:
    unknown = architecture_of("riscv64")
    assert not unknown.supported
    assert (unknown.target, unknown.conda_subdir, unknown.levels) == ("riscv64-linux-gnu", "linux-riscv64", ())


def test_labels_are_short_names_of_levels() -> None:
    assert [level_label(level.name) for level in X86_64.levels] == ["v1", "v2", "v3", "v4"]
    assert [level_label(name) for name in ("native", "armv8-a")] == ["native", "armv8a"]
