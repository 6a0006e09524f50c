"""Answers outlive an interruption: kept as they are given, offered at the next run, forgotten when they have served."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastinstall.api import answers
from fastinstall.cli.options import as_flags
from fastinstall.cli.wizard_talk import Talk
from fastinstall.model.answers import Answers
from fastinstall.model.immutable import immutable
from fastinstall.model.wish import Wish

_MADE = "what was compiled by then comes from the cache"


@immutable
class Memory:
    """What is kept of a conversation.

    Attributes:
        talk: the conversation.
        before: the wish that flags, variables and settings give.
    """

    talk: Talk
    before: Wish

    @property
    def place(self) -> Path:
        """The target that the answers are about."""
        return Path(self.talk.facts.environment.prefix)

    def keep(self, wish: Wish, *, at_work: bool = False) -> None:
        """Keep what was answered so far; where that is nothing, forget what was kept."""
        if wish == self.before and not at_work:
            self.forget()
            return
        now = self.talk.session.now().isoformat(timespec="seconds")
        kept = Answers(target=self.place, before=self.before, after=wish, kept_at=now, at_work=at_work)
        answers.keep(self.talk.session, kept)

    def forget(self) -> None:
        """Forget it."""
        answers.forget(self.talk.session, self.place)

    @contextmanager
    def told_at_interruption(self) -> Iterator[None]:
        """Where the block is interrupted, say that the answers are kept, if there are any."""
        try:
            yield
        except KeyboardInterrupt:
            if answers.kept(self.talk.session, self.place) is not None:
                self.talk.console.talk("\nyour answers are kept: the same command goes on with them")
            raise

    def resumed(self) -> Wish:
        """The wish to begin with: what was answered before an interruption, where the person wants to go on with it."""
        kept = answers.kept(self.talk.session, self.place)
        if kept is None:
            return self.before
        wish = answers.resumed(kept, self.before)
        self.talk.say(_told(kept))
        if wish == self.before:
            return wish
        chosen = self.talk.asker.chosen(
            "Go on with these answers?",
            {"on": "Go on", "anew": "Begin anew"},
            meanings={
                "on": f"take over: {' '.join(as_flags(wish)) or 'the usual'}; risks are asked for again",
                "anew": "forget them",
            },
        )
        if chosen == "on":
            return wish
        self.forget()
        return self.before


def _told(kept: Answers) -> str:
    when = kept.kept_at[:16].replace("T", " ")
    where = f"while it was at work: {_MADE}" if kept.at_work else "at its questions"
    return f"An earlier setup of this environment stopped at {when} UTC, {where}."
