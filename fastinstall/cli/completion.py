"""The script by which a shell completes fastinstall's command line: static, so that a TAB starts no process of ours."""

from collections.abc import Callable, Iterable, Mapping

from fastinstall.cli import completion_bash, completion_fish, completion_zsh
from fastinstall.cli.completion_values import Verb, verbs
from fastinstall.cli.completion_vocabulary import vocabulary
from fastinstall.model.recipe import Recipe

_SHELLS: Mapping[str, Callable[[tuple[Verb, ...]], str]] = {
    "bash": completion_bash.render,
    "zsh": completion_zsh.render,
    "fish": completion_fish.render,
}


def completion_script(shell: str, recipes: Iterable[Recipe]) -> str:
    """Everything that a shell has to read.

    Args:
        shell: "bash", "zsh" or "fish".
        recipes: whose names are offered.
    """
    return _SHELLS[shell](verbs(vocabulary(recipes)))
