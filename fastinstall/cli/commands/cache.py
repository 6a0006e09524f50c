"""`fastinstall cache [show|clear] [NAME...]`: show the disk usage of the cache, or empty it."""

from argparse import Namespace

from fastinstall.cli.common import session_of, tell
from fastinstall.cli.consent import agree
from fastinstall.cli.console import Page, join_lines
from fastinstall.cli.main import Context
from fastinstall.core.errors import ExitCode
from fastinstall.core.messages import format_bytes, quote
from fastinstall.model.results import CacheSurvey, Effect
from fastinstall.verbs.cache import clear_cache, survey_cache


def run(arguments: Namespace, context: Context) -> int:
    """Show the contents of the cache, or remove them after consent."""
    session, effect = session_of(context), None
    survey = survey_cache(session, arguments.names)
    if arguments.action == "clear":
        words = " ".join(map(quote, arguments.names))
        if survey.parts:
            context.console.talk(cache_text(survey, context.console.err))
            command = f"fastinstall cache clear --yes {words}".rstrip()
            question = "Remove these directories? Their contents are downloaded or made again when needed."
            agree(question, arguments, context.console, command)
        effect = Effect(changed=bool(survey.parts))
        survey = clear_cache(session, arguments.names)
    tell(context, "cache", survey, cache_text, effect)
    return ExitCode.OK


def cache_text(survey: CacheSurvey, page: Page) -> str:
    """Return each directory of the cache with its size, and the total; after a removal, only the freed size."""
    if survey.removed:
        return join_lines(page.lines(f"removed from {survey.directory}: {survey.size}", rest="  "))
    if not survey.parts:
        return join_lines(page.lines(f"{survey.directory} is empty", rest="  "))
    lines = [*page.lines(f"{survey.directory} uses {survey.size}", rest="  ")]
    width = max(len(part.name) for part in survey.parts)
    for part in survey.parts:
        first = f"  {format_bytes(part.disk_bytes):>9}  {part.name:<{width}}  "
        lines += page.lines(part.purpose, first=first, rest=" " * len(first))
    return join_lines(lines)
