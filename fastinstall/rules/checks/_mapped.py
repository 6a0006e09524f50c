"""Which files a process of the target has really mapped: the live one that was named, else the one that used PIL."""

from pathlib import PurePath

from fastinstall.rules.checks._context import CheckContext


def mapped_files(context: CheckContext) -> tuple[PurePath, ...]:
    """Give the files that were mapped, in the order in which they came, each once.

    Those of the live process where one was named: it answers for itself, and what a fresh process would map
    does not count beside it. Else those of the subprocess that imported and used PIL; of one that died on the
    way, those that it had mapped by then.

    Returns:
        Paths as the kernel or the loader names them; nothing where no process was looked at.
    """
    facts = context.facts
    if facts.process is not None:
        return facts.process.mapped
    if facts.runtime is None:
        return ()
    return facts.runtime.mapped or facts.runtime.mapped_by_import
