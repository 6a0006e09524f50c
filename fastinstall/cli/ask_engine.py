"""The question who installs into a conda environment: an engine for conda packages, or nobody that conda knows of."""

from fastinstall.cli.ask import Asker
from fastinstall.model.conda import Engine
from fastinstall.model.facts import Facts
from fastinstall.model.wish import Wish
from fastinstall.rules.conda_engine import available_engines, is_conda

_NAMES = {Engine.CONDA: "conda", Engine.RATTLER: "py-rattler"}
_PIP = "pip: a plain wheel, which conda overwrites sooner or later"


def ask_engine(asker: Asker, facts: Facts, wish: Wish) -> Engine:
    """What `Wish.engine` takes; asked in conda environments only.

    Args:
        asker: how to ask.
        facts: say which engines are there.
        wish: what was asked for so far; the answer that is marked first.
    """
    there = available_engines(facts)
    if not is_conda(facts):
        return wish.engine
    answers = {Engine.AUTO: f"auto: {_NAMES[there[0]]}, as conda packages"} if there else {}
    answers |= {engine: f"{engine}: conda packages, by {_told(engine, facts)}" for engine in there}
    answers[Engine.PIP] = _PIP
    default = wish.engine if wish.engine in answers else None
    answer = asker.chosen("Who installs it?", {str(name): text for name, text in answers.items()}, default=default)
    return Engine(answer)


def _told(engine: Engine, facts: Facts) -> str:
    tool = facts.conda.tool if facts.conda is not None else None
    if engine is not Engine.CONDA or tool is None:
        return _NAMES[engine]
    return " ".join(word for word in (_NAMES[engine], tool.version) if word)
