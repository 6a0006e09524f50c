"""Files cut short and damaged: our stack has to decode them as the official wheel does, and must not die of one.

The files are made by the official wheel, so both read the same bytes.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.model.proof import CaseDifference
from fastinstall.proof.judge import Comparison, judge
from fastinstall.proof.results import Results
from fastinstall.proof.runs import DECODERS, Stack, Work, sample_cases
from fastinstall.system import files

_MAKE = "make//"
_SECONDS = 10.0


@immutable
class Damage:
    """How much is done to each file.

    Attributes:
        cuts: at how many lengths it is cut.
        flips: how many copies have bytes replaced anywhere.
        heads: how many copies have bytes replaced in the first 64.
    """

    cuts: int
    flips: int
    heads: int


@contextmanager
def damaged_files(reference: Stack, damage: Damage) -> Iterator[Work]:
    """Have the reference write a file of every format that it knows; they last as long as the block.

    Yields:
        The cases: every file whole, cut and damaged, and every format written anew.

    Raises:
        FailedError: the reference cannot write them.
    """
    made = sample_cases(reference, Work(cases=(_MAKE,), operations=DECODERS)).get(_MAKE, ())
    if not made:
        raise FailedError(f"{reference.label}: it cannot write the files to be decoded")
    with files.temporary_directory("files") as directory:
        for sample in made:
            (directory / sample.mode.replace("/", "-")).write_bytes(sample.content)
        cases = tuple(case for sample in made for case in _cases(sample.mode, damage))
        yield Work(cases=cases, operations=DECODERS, inputs=directory, seconds=_SECONDS)


def prove_decoders(ours: Stack, reference: Stack, work: Work, results: Results) -> tuple[CaseDifference, ...]:
    """The files that our stack decodes worse than the official wheel: it dies, hangs, or gives something else.

    Args:
        ours: the build.
        reference: the official wheel of the same version.
        work: the cases of `damaged_files`.
        results: runs them, or knows them.

    Raises:
        FailedError: PIL cannot be imported on one of them.
    """
    return judge(Comparison(ours=ours, standard=reference, witness=reference), work, results)


def _cases(form: str, damage: Damage) -> Iterator[str]:
    yield f"round-trip-{form}/"
    yield f"decode-{form}/whole"
    yield from (f"decode-{form}/cut:{1000 * number // (damage.cuts + 1)}" for number in range(1, damage.cuts + 1))
    yield from (f"decode-{form}/flip:{seed}:{1 + seed % 9}" for seed in range(damage.flips))
    yield from (f"decode-{form}/head:{seed}:{1 + seed % 3}" for seed in range(damage.heads))
