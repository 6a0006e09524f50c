"""Keep, read and forget the wizard's answers, so that an interruption does not lose them.

They lie in the state directory, readable by this user only.
"""

import contextlib
import hashlib
import os
from dataclasses import fields, replace
from pathlib import Path, PurePath

from fastinstall.core import foreign
from fastinstall.core.codec import document, dump
from fastinstall.core.files import write_text
from fastinstall.core.secrets import find_secret_values, redact_text
from fastinstall.core.surroundings import make_private
from fastinstall.core.values import immutable
from fastinstall.model.recipe import find_current_name
from fastinstall.model.request import Request
from fastinstall.observe.session import Session


@immutable
class Answers:
    """Answers for one target.

    Attributes:
        target: the environment, or the directory in which one was to be made.
        before: the request that flags, variables and settings gave.
        after: the request as it was customised; without accepted risks, which are asked for each time.
        kept_at: when they were kept, ISO 8601 in UTC.
        at_work: whether the plan was being carried out.
    """

    target: PurePath
    before: Request
    after: Request
    kept_at: str
    at_work: bool = False


DIRECTORY = "wizard"
"""In the state directory: a file for each target."""

_KEPT = 20


def keep(session: Session, answers: Answers) -> None:
    """Keep the answers instead of earlier ones for the target.

    Answers with a secret are not kept, because without it they would differ. A write error is ignored.
    """
    plain = replace(answers, before=_remove_risks(answers.before), after=_remove_risks(answers.after))
    text = dump(document("answers", plain))
    if redact_text(text, find_secret_values(session.variables)) != text:
        return
    with contextlib.suppress(OSError, UnicodeEncodeError):
        file = _locate_answers(session, Path(answers.target))
        make_private(file.parent)
        write_text(file, text, mode=0o600, durable=False)
        for old in sorted(file.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-_KEPT]:
            old.unlink(missing_ok=True)


def read_kept_answers(session: Session, target: Path) -> Answers | None:
    """Read earlier answers for a target, or return None if there are none that this version understands."""
    return foreign.read_kept(Answers, "answers", _locate_answers(session, target))


def forget_answers(session: Session, target: Path) -> None:
    """Remove what is kept for a target."""
    with contextlib.suppress(OSError):
        _locate_answers(session, target).unlink()


def apply_kept_answers(answers: Answers, request: Request) -> Request:
    """Return the request of this run with what was changed by the answers."""
    names = (field.name for field in fields(Request))
    changed = (name for name in names if getattr(answers.after, name) != getattr(answers.before, name))
    requested = replace(request, **{name: getattr(answers.after, name) for name in changed})
    return replace(requested, recipe=find_current_name(requested.recipe))


def _remove_risks(request: Request) -> Request:
    return replace(request, allow=(), avoid=())


def _locate_answers(session: Session, target: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(target))).hexdigest()[:24]
    return session.directories.state / DIRECTORY / f"{name}.json"
