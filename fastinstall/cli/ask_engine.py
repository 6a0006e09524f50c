"""The question who installs into a conda environment: an engine for conda packages, or nobody that conda knows of."""

from fastinstall.cli.ask import Asker
from fastinstall.cli.ask_back import Menu, chosen_or_back
from fastinstall.model.conda import Engine
from fastinstall.model.facts import Facts
from fastinstall.model.wish import Wish
from fastinstall.rules.conda_engine import available_engines, is_conda

_NAMES = {Engine.CONDA: "conda", Engine.RATTLER: "py-rattler"}
_PIP = "a plain wheel, which conda overwrites sooner or later without a word"


def ask_engine(asker: Asker, facts: Facts, wish: Wish) -> Engine | None:
    """What `Wish.engine` takes, asked in conda environments only; None where the person goes back.

    Args:
        asker: how to ask.
        facts: say which engines are there.
        wish: what was asked for so far; the answer that is marked first.
    """
    there = available_engines(facts)
    if not is_conda(facts):
        return wish.engine
    meanings = {Engine.AUTO: f"{_NAMES[there[0]]}, as conda packages that conda itself knows of"} if there else {}
    meanings |= {engine: f"conda packages, by {_told(engine, facts)}" for engine in there}
    meanings[Engine.PIP] = _PIP
    menu = Menu(
        question="Who installs it?",
        answers={str(name): str(name) for name in meanings},
        meanings={str(name): text for name, text in meanings.items()},
        default=wish.engine if wish.engine in meanings else None,
    )
    answer = chosen_or_back(asker, menu)
    return None if answer is None else Engine(answer)


def _told(engine: Engine, facts: Facts) -> str:
    tool = facts.conda.tool if facts.conda is not None else None
    if engine is not Engine.CONDA or tool is None:
        return _NAMES[engine]
    return " ".join(word for word in (_NAMES[engine], tool.version) if word)
