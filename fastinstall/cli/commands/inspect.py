"""`fastinstall inspect`: the facts."""

import os
from argparse import Namespace
from pathlib import PurePath

from fastinstall.api.observing import facts_of, recipe_named
from fastinstall.cli.common import look_at, session_of
from fastinstall.cli.main import Context
from fastinstall.errors import ExitCode
from fastinstall.model.wish import Wish
from fastinstall.probes.facts import Binaries, ObservationRequest


def run(arguments: Namespace, context: Context) -> int:
    """Observe everything and print it."""
    session = session_of(context)
    recipe = recipe_named(session, Wish().recipe)
    request = ObservationRequest(recipe=recipe, runtime=True, binaries=Binaries.DESCRIBED, toolchain=True)
    facts = facts_of(session, look_at(session, arguments, context), request)
    if arguments.redact:
        from fastinstall.rules.redact import redact  # noqa: PLC0415 (only on request)

        home = PurePath(context.variables.get("HOME", "/"))
        user = context.variables.get("USER") or context.variables.get("LOGNAME") or home.name
        facts = redact(facts, home=home, user=user, host=os.uname().nodename, known=context.console.known)
    if context.console.json:
        from fastinstall.model.codec import document, dump  # noqa: PLC0415 (only for JSON)

        context.console.data(dump(document("facts", facts)))
    else:
        from fastinstall.cli.render_facts import facts_text  # noqa: PLC0415 (only for text)

        context.console.data(facts_text(facts, context.console.out))
    return ExitCode.OK
