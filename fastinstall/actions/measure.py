"""Time the staged build against what it replaces; measured once for the same two builds on the same CPU."""

import hashlib
from dataclasses import replace
from pathlib import Path

from fastinstall.actions.workshop import Workshop
from fastinstall.bench.measure import Circumstances, Contender, TimingEffort, measure
from fastinstall.errors import DocumentError, FailedError
from fastinstall.model.codec import document, dump, open_document
from fastinstall.model.event import Noted, Started
from fastinstall.model.facts import Facts
from fastinstall.model.parsing import json_data
from fastinstall.model.receipt import SpeedTable
from fastinstall.system import files, foreign


def measured(before: Contender, after: Contender, identity: str, facts: Facts, workshop: Workshop) -> SpeedTable | None:
    """A speed table of two stacks.

    Args:
        before: what is replaced.
        after: what replaces it.
        identity: what tells these two builds from all others.
        facts: of the environment that it is measured for.
        workshop: tools.

    Returns:
        None where "before" cannot be measured, which is no reason not to replace it.
    """
    cpu = facts.cpu.name
    key = hashlib.sha256(f"{identity} {cpu} {before.label} {after.label}".encode()).hexdigest()
    kept = workshop.cache / "speed" / f"{key}.json"
    known = _read(kept)
    if known is not None:
        return replace(known, reused=True)
    workshop.emit(Started(stage="measure", message=f"timing {after.label} against {before.label}"))
    measured_at = workshop.now.isoformat(timespec="seconds")
    circumstances = Circumstances(cpu=cpu, measured_at=measured_at, variables=workshop.variables, emit=workshop.emit)
    try:
        table = measure(before, after, TimingEffort(), circumstances)
    except FailedError as error:
        workshop.emit(Noted(message=f"not timed: {error.message}", warning=True))
        return None
    table = replace(table, python=facts.interpreter.version, prefix=str(facts.environment.prefix))
    files.write_text(kept, dump(document("speed", table)))
    return table


def _read(path: Path) -> SpeedTable | None:
    try:
        return open_document(SpeedTable, "speed", json_data(foreign.read_text(path)), file=path)
    except (OSError, ValueError, DocumentError):
        return None  # not there, or of another time: it is measured again
