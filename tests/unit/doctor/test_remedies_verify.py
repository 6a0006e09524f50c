"""The commands that verify a finding can be pasted, whatever the files are called."""

import ast
import shlex
from collections.abc import Callable
from datetime import date
from pathlib import PurePosixPath

import pytest
from support.docs.pasteable import assert_can_be_pasted
from support.values.builders import changed, healthy_facts, receipt, recipe

from fastinstall.doctor import remedies as verify
from fastinstall.doctor.check_context import CheckContext

ODD = PurePosixPath('/srv/it\'s $HOME; (odd) & "more"/lib one.so')


def odd_context() -> CheckContext:
    """Return a context for an environment at an unusual path."""
    facts = changed(healthy_facts(), {"environment": {"prefix": str(ODD.parent), "python": f"{ODD.parent}/python"}})
    return CheckContext(facts=facts, receipt=receipt(), recipe=recipe(), today=date(2026, 11, 22), tool_version="1")


@pytest.mark.parametrize(
    "show",
    [
        verify.show_files,
        verify.show_text,
        verify.show_needed,
        verify.show_note,
        lambda path: verify.count_frames(odd_context(), path),
        lambda path: verify.show("nm", "-D", path, "|", "grep", "Imaging.*"),
        lambda path: verify.show_strings(path, "libjpeg-turbo|mozjpeg"),
    ],
)
def test_a_path_stays_one_word(show: Callable[[PurePosixPath], str]) -> None:
    command = show(ODD)
    assert_can_be_pasted(command, odd_context().facts.environment)
    assert str(ODD) in shlex.split(command)


@pytest.mark.parametrize(
    "show",
    [
        verify.show_owner,
        lambda context: verify.run_python(context, verify.PRINT_FEATURES),
        lambda context: verify.compare_with_record(context, "pillow"),
        lambda context: verify.compare_with_conda(context, ODD),
        lambda context: verify.trace_search(context, "libjpeg.so.62"),
        lambda context: verify.trace_bindings(context, "jpeg_CreateDecompress"),
    ],
)
def test_an_interpreter_stays_one_word(show: Callable[[CheckContext], str]) -> None:
    context = odd_context()
    command = show(context)
    assert_can_be_pasted(command, context.facts.environment)
    assert str(context.facts.environment.python) in shlex.split(command)


@pytest.mark.parametrize(
    "command",
    [
        verify.compare_with_record(odd_context(), "pillow"),
        verify.compare_with_conda(odd_context(), ODD),
    ],
)
def test_the_comparison_with_a_record_is_python_in_one_line(command: str) -> None:
    code = shlex.split(command)[2]
    assert "\n" not in code
    assert ast.parse(code).body


def test_without_pip_the_metadata_is_listed() -> None:
    context = odd_context()
    facts = changed(context.facts, {"interpreter": {"pip_version": None}})
    context = CheckContext(
        facts=facts, receipt=None, recipe=recipe(), today=context.today, tool_version=context.tool_version
    )
    assert verify.show_owner(context).endswith("site-packages | grep -i pillow")


def test_variables_of_the_shell_are_shown_by_their_whole_names() -> None:
    assert verify.show_variables("LD_PRELOAD", "LD_LIBRARY_PATH") == "env | grep -E '^(LD_PRELOAD|LD_LIBRARY_PATH)='"
