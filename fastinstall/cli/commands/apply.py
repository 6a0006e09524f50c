"""`fastinstall apply FILE`: a saved plan, refused where the facts have changed."""

import json
from argparse import Namespace
from pathlib import Path

from fastinstall.api.planning import refuse_if_stale
from fastinstall.api.setup import carry_out
from fastinstall.cli.commands.setup import finish
from fastinstall.cli.common import progress_for, session_of
from fastinstall.cli.consent import consent
from fastinstall.cli.main import Context
from fastinstall.errors import DocumentError
from fastinstall.model.codec import open_document
from fastinstall.model.plan import Plan
from fastinstall.rules.messages import quote


def run(arguments: Namespace, context: Context) -> int:
    """Read, check, consent, carry out."""
    session = session_of(context).listening(progress_for(context))
    saved = read_plan(Path(arguments.file))
    refuse_if_stale(session, saved)
    agreed = consent(saved, arguments, context, f"fastinstall apply --yes {quote(arguments.file)}")
    return finish(agreed, carry_out(session, agreed), context, wizard=False)


def read_plan(path: Path) -> Plan:
    """Read a saved plan.

    Raises:
        DocumentError: it is missing or malformed; names the file and the key.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(path, "", f"cannot be read: {error}", hint="fastinstall plan -o FILE") from error
    except ValueError as error:
        raise DocumentError(path, "", f"not JSON: {error}", hint="fastinstall plan -o FILE") from None
    try:
        return open_document(Plan, "plan", data, file=path)
    except DocumentError as error:
        raise error.hinting("make it again: fastinstall plan -o FILE") from None
