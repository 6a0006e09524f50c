"""What a recipe changes in a source before it is compiled: the merge of a fork, and tuning. Data only."""

from fastinstall.model.immutable import immutable


@immutable
class KeptItems:
    """Definitions that stay upstream's, although the fork changed them.

    Attributes:
        file: relative to the source's top directory.
        items: names of functions, macros or variables.
        reason: why.
    """

    file: str
    items: tuple[str, ...]
    reason: str


@immutable
class GuardedFunction:
    """A function that runs the fork's code only under a condition, and upstream's own otherwise.

    Attributes:
        file: relative to the source's top directory.
        function: its name.
        condition: a C expression over the function's parameters; where it holds, the kernels run.
        reason: why.
    """

    file: str
    function: str
    condition: str
    reason: str


@immutable
class Part:
    """What belongs together in a merge: taken whole, or left upstream's whole.

    Attributes:
        name: "resample".
        files: relative to the source's top directory, taken or left as wholes.
        items: definitions in further files that go with them: "src/_imaging.c: _prepare_lut_table".
        operations: the operations of the proof whose result they decide, by the start of their names.
    """

    name: str
    files: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    operations: tuple[str, ...]


@immutable
class Kernels:
    """A fork whose changes are merged onto the source before it is built.

    Attributes:
        pypi: name of the fork's distribution ("pillow-simd").
        follows: name of the distribution that the fork follows: its version of the same number is the base.
        versions: specifier over the fork's versions whose changes are understood; empty for all.
        proven: versions of the source onto which the merge was proven by `recipes check --prove`.
        keep: definitions that stay upstream's.
        guards: functions that choose between both at run time.
        parts: what is left out together where a proof fails.
    """

    pypi: str
    follows: str
    versions: str = ""
    proven: tuple[str, ...] = ()
    keep: tuple[KeptItems, ...] = ()
    guards: tuple[GuardedFunction, ...] = ()
    parts: tuple[Part, ...] = ()


@immutable
class Tuning:
    """What makes one file of the source, or single functions of it, faster by measurement.

    Attributes:
        file: relative to the source's top directory.
        functions: the only ones that are tuned; empty for the whole file.
        options: as GCC's `optimize` pragma takes them: "O2", "no-tree-vectorize".
        macros: what `#define` gets, in force inside the functions only: "fmod(x, y) ...".
        reason: what was measured.
    """

    file: str
    functions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    reason: str
