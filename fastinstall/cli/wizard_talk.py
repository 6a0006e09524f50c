"""Who the wizard talks to, and about what."""

from dataclasses import field

from fastinstall.api.comparing import Offer, compare_recipes
from fastinstall.api.session import Session
from fastinstall.api.target import Target
from fastinstall.cli.ask import Asker
from fastinstall.cli.console import Console
from fastinstall.model.event import Started
from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.wish import Wish


@immutable
class Talk:
    """A conversation about one target.

    Attributes:
        session: the outside world.
        target: what is meant.
        facts: of it, as they were shown.
        asker: how to ask.
        console: where to say something.
        offers: the recipes side by side; looked up when they are first asked for.
    """

    session: Session
    target: Target
    facts: Facts
    asker: Asker
    console: Console
    offers: list[Offer] = field(default_factory=list)

    def compared(self, wish: Wish) -> list[Offer]:
        """The recipes side by side."""
        if not self.offers:
            self.session.emit(Started(stage="index", message="looking up what each recipe would give here"))
            self.offers.extend(compare_recipes(self.session, self.target, self.facts, wish))
        return self.offers

    def say(self, text: str) -> None:
        """Say a paragraph."""
        self.console.talk("\n".join(self.console.err.lines(text, first="  ", rest="  ")))
