import pytest
from support.terminal.answers import AskedPerson
from support.values.builders import recipe

from fastinstall.cli.wizard.choices import ask_levels
from fastinstall.model.request import Request


@pytest.mark.parametrize(
    ("answers", "before", "asked"),
    [
        ((), Request(), ("auto", ())),
        ((), Request(level="x86-64-v2"), ("x86-64-v2", ())),
        ((), Request(level="of another recipe"), ("auto", ())),
        ((), Request(levels=("x86-64-v2", "x86-64-v4")), ("auto", ("x86-64-v2", "x86-64-v4"))),
        (("x86-64-v3",), Request(levels=("x86-64-v2", "x86-64-v4")), ("x86-64-v3", ())),
        (("several",), Request(), ("auto", ("x86-64-v2", "x86-64-v3"))),
        (("several", "x86-64-v3, x86-64-v4"), Request(), ("auto", ("x86-64-v3", "x86-64-v4"))),
        (("back",), Request(), None),
        (("several", "back"), Request(), None),
    ],
)
def test_one_level_or_several_are_asked_for(
    answers: tuple[str, ...], before: Request, asked: tuple[str, tuple[str, ...]] | None
) -> None:
    assert ask_levels(AskedPerson(*answers), recipe(), before) == asked


def test_every_answer_says_what_it_means() -> None:
    person = AskedPerson()
    ask_levels(person, recipe(), Request())
    assert set(person.meanings) == set(person.offered) - {"back"}
    assert "resizes slower" in person.meanings["x86-64-v4"]
