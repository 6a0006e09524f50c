"""Render a proof as text, with a line for each check."""

from collections.abc import Iterator

from fastinstall.cli.console import Page
from fastinstall.proof.cases import Proof, ProofCheck, ProofStatus

_STYLES = {ProofStatus.OK: "ok", ProofStatus.FAILED: "error", ProofStatus.SKIPPED: "dim"}


def proof_text(proof: Proof, page: Page) -> str:
    """Return the text of a proof: a line for each check, more lines for a failed one, and a line with the verdict."""
    return "\n".join((*_render_checks(proof, page), _describe_verdict(proof)))


def _render_checks(proof: Proof, page: Page) -> Iterator[str]:
    width = max((len(check.name) for check in proof.checks), default=0)
    for check in proof.checks:
        yield from _render_proof_lines(check, width, page)


def _render_proof_lines(check: ProofCheck, width: int, page: Page) -> Iterator[str]:
    status = page.paint(f"{check.status.value:<7}", _STYLES[check.status])
    yield f"{status}  {check.name:<{width}}  {check.seconds:6.1f} s  {check.summary}"
    if check.status is ProofStatus.FAILED:
        yield from (f"    {line}" for line in page.shortened(check.details))


def _describe_verdict(proof: Proof) -> str:
    failed = [check.name for check in proof.checks if check.status is ProofStatus.FAILED]
    levels = " and ".join(proof.subject.levels)
    if failed:
        return f"not proven for {levels} in {proof.seconds:.0f} s: {', '.join(failed)}"
    return f"proven for {levels} in {proof.seconds:.0f} s"
