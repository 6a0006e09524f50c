"""Proofs of real wheels: the official wheel against itself, and the published Pillow-SIMD with its known defects.

Needs a package index, a C compiler and the headers of libjpeg-turbo. Other tests build the same wheel, so it is
compiled once.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.environments.interpreters import running
from support.sandbox import NewSandbox

from fastinstall.core.archives import unpack_zip
from fastinstall.core.events import Event, Progressed
from fastinstall.proof.cases import Proof, ProofCheck, ProofStatus, ProofSubject, list_failed_operations
from fastinstall.proof.quick import QuickProof, prove_matrix, run_quick_proof
from fastinstall.proof.runs import ProofStack, Results, Work

DEFECTS = (
    "filter-3x3/I;16/17x13/smooth,,0",
    "filter-5x5/I;16B/17x13/mean,,0",
    "box-blur/L/1x1/0.5",
    "gaussian-blur/RGB/1x1/0.5",
    "box-blur/RGB/17x13/3:0",
    "gaussian-blur/RGBA/17x13/0:3",
    "resize/RGBA/70x40/lanczos,20x30,nan:0:70:40",
)
SOUND = ("filter-3x3/RGB/17x13/smooth,,0", "box-blur/RGB/17x13/3", "resize/L/17x13/lanczos,3x2", "convert/RGB/17x13/L")


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """The unpacked wheels of Pillow-SIMD and of the official Pillow of the same version."""

    simd: ProofStack
    official: ProofStack

    def levels(self) -> tuple[ProofStack, ...]:
        """Return Pillow-SIMD twice, labelled by level.

        The loader is forced to use the baseline's core in the first stack; in the second, it chooses the core itself.
        """
        baseline = self.simd.with_tunables("glibc.cpu.hwcaps=-AVX2")
        return replace(baseline, label="x86-64-v2"), replace(self.simd, label="x86-64-v3")


@pytest.fixture(scope="module")
def stacks(new_sandbox: NewSandbox) -> Iterator[Stacks]:
    with new_sandbox() as sandbox:
        words = ("--recipe", "pillow-simd", "--python", running().executable, "--json")
        result = sandbox.cli("build", *words, "-o", sandbox.root / "wheels")
        assert result.exit_code == 0, result.text
        wheel = Path(result.document["wheel"])
        name, version, *_ = wheel.name.split("-")
        tags = wheel.name.split("-")[2:4]
        pattern = f"downloads/*/*/{name}-{version.partition('+')[0]}-{'-'.join(tags)}-*.whl"
        official = next(sandbox.cache.glob(pattern))
        for source, tree in ((wheel, "simd"), (official, "official")):
            unpack_zip(source, sandbox.root / tree)
        yield Stacks(simd=_stack(sandbox.root / "simd"), official=_stack(sandbox.root / "official"))


@pytest.fixture(scope="module")
def proof(stacks: Stacks) -> Proof:
    """Return the proof of Pillow-SIMD against the official wheel."""
    return run_quick_proof(_trial(stacks.levels(), stacks.official))


def test_the_defects_of_pillow_simd_are_found_and_named(proof: Proof) -> None:
    assert not proof.holds
    blurs, filters = ("box-blur", "gaussian-blur", "unsharp-mask"), ("filter-3x3", "filter-5x5")
    assert list_failed_operations(proof) == tuple(sorted((*blurs, *filters, "resize")))
    details = "\n".join(_check(proof, "matrix x86-64-v3").details)
    assert "in I;16, I;16B, I;16L, I;16N" in details
    assert "the smallest: box-blur/L/1x1/0.3: differs by" in details
    assert "differs by 255, allowed 0" in details


def test_each_of_its_defects_can_be_shown_alone(stacks: Stacks) -> None:
    with Results() as results:
        for level in stacks.levels():
            found = prove_matrix(level, stacks.official, Work(cases=(*DEFECTS, *SOUND)), results, exact=False)
            assert {difference.case for difference in found} == set(DEFECTS)
            assert min(difference.largest for difference in found if not difference.problem) > 5
            assert [each.operation for each in found if "dies of SIGSEGV" in each.problem] == ["resize"]


def test_only_the_16_bit_filters_read_uninitialised_memory(proof: Proof) -> None:
    for level in ("x86-64-v2", "x86-64-v3"):
        assert _check(proof, f"heap {level}").operations == ("filter-3x3", "filter-5x5")


def test_its_levels_are_the_same_to_the_bit(proof: Proof) -> None:
    assert _check(proof, "levels").status is ProofStatus.OK


def test_its_decoders_are_the_official_ones(proof: Proof) -> None:
    assert _check(proof, "decoders").status is ProofStatus.OK


def test_the_official_wheel_proves_itself_equal(stacks: Stacks) -> None:
    events: list[Event] = []
    trial = replace(_trial((stacks.official,), stacks.official), exact=True, emit=events.append)
    found = run_quick_proof(trial)
    assert [(check.name, check.status) for check in found.checks] == [
        (f"matrix {stacks.official.label}", ProofStatus.OK),
        (f"heap {stacks.official.label}", ProofStatus.OK),
        ("decoders", ProofStatus.OK),
    ]
    assert [event.done for event in events if isinstance(event, Progressed)] == [1, 2, 3]


def test_without_an_official_wheel_levels_and_memory_are_proven(stacks: Stacks) -> None:
    found = run_quick_proof(_trial(stacks.levels(), None))
    skipped = [check.name for check in found.checks if check.status is ProofStatus.SKIPPED]
    assert skipped == ["matrix", "decoders"]
    # a resize to a box with a NaN edge kills the process
    assert _check(found, "survival x86-64-v3").operations == ("resize",)
    assert "filter-3x3" in _check(found, "heap x86-64-v3").operations


def _stack(tree: Path) -> ProofStack:
    return ProofStack(label=tree.name, python=running().executable, tree=tree, variables=dict(os.environ))


def _trial(levels: tuple[ProofStack, ...], reference: ProofStack | None) -> QuickProof:
    subject = ProofSubject(
        wheel_sha256="",
        reference_sha256="",
        python=str(running()),
        cpu="",
        levels=tuple(level.label for level in levels),
    )
    return QuickProof(subject=subject, levels=levels, reference=reference, exact=False)


def _check(proof: Proof, name: str) -> ProofCheck:
    return next(check for check in proof.checks if check.name == name)
