"""Obstacles to loading images fast: CPU quota, malloc's settings, and other installed decoders.

- hint: a package decodes or encodes images differently from Pillow. Or the control group grants fewer CPUs than
  programs count, so a DataLoader starts too many workers. Or malloc returns the memory of every large array to the
  kernel (with fastinstall's Pillow, of arrays above 32 MB). Or the kernel offers huge pages on request, and malloc is
  not configured to request them.

The speed of loading depends on the images: `fastinstall bench DIR` measures it, this check does not. torch's DataLoader
counts the CPUs that a process may run on (`os.sched_getaffinity`); a quota does not change that count. glibc 2.35 and
later can request huge pages, if GLIBC_TUNABLES says so and the kernel's setting is "madvise".

Why it matters:
Training waits for its images more often than expected. `numpy.asarray` and `Image.tobytes` of a photo of 12 megapixels
took 52 ms. Most of that time was spent on page faults in memory that malloc had returned before. With memory that
malloc keeps, both calls took 8 ms, with huge pages 7 ms (measured 2026-11-23; for a 1080p image, 6.7 ms became 0.9 ms).
The price is that a process keeps its peak memory. In processes with fastinstall's Pillow, glibc keeps blocks up to 32
MB, so only photos of more than 11 megapixels are slow. Pillow's draft mode made loading 4 times as fast (2026-11-21).
Small images gain nothing. Workers beyond the quota compete for memory and CPU time, and load no faster.

A model that is trained with one decoder and served with another may give other answers, and nothing reports it. Pillow
12 and 13 also resize differently.

How to fix it:
Use one decoder, and one version of Pillow, for training and serving. `fastinstall bench DIR` measures your images on
this machine, as a DataLoader loads them. It ranks improvements by their gain, each with a command or a line of code. It
also says if nothing should be changed.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from fastinstall.core.messages import listing
from fastinstall.core.version_numbers import list_leading_numbers
from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.remedies import run_python, show_text, word_command
from fastinstall.model.finding import SURPRISES, Finding, Remedy
from fastinstall.observe.cpu import decoders_of, frameworks_of

_INSTALLED = "import importlib.metadata as m; print(*sorted({d.name for d in m.distributions()}))"
_COUNTED = "import os; print(len(os.sched_getaffinity(0)))"
_HUGE_PAGES = PurePosixPath("/sys/kernel/mm/transparent_hugepage/enabled")
_KEPT = {"glibc.malloc.mmap_threshold": str(1 << 30), "glibc.malloc.trim_threshold": str(1 << 30)}
_HUGE = {"glibc.malloc.hugetlb": "1"}
_GIVEN_BACK = ("large array", "large photos")
"""For messages: arrays whose memory malloc returns to the kernel, and the images that load more slowly for it."""
_GIVEN_BACK_BY_OURS = ("array above 32 MB", "photos of more than 11 megapixels")
"""The same two texts for a process in which our core has configured malloc (recipes/memory.c)."""
_TUNABLES_SINCE, _HUGE_SINCE = (2, 26), (2, 35)


def check(context: CheckContext) -> Iterator[Finding]:
    """Check for obstacles to fast loading of images."""
    frameworks = frameworks_of(context.facts.distributions)
    disagreeing = tuple(_report_disagreeing_decoders(context))
    if frameworks:
        found = (*_report_quota(context), *_report_malloc(context), *disagreeing)
        yield from found or (_report_success(context, frameworks),)
    elif disagreeing:
        yield from disagreeing
    else:
        message = "nothing here trains on images: neither torch, tensorflow, jax nor keras is installed"
        yield Finding.ok(message, verify=run_python(context, _INSTALLED))


def _report_success(context: CheckContext, frameworks: tuple[str, ...]) -> Finding:
    decoders = decoders_of(context.facts.distributions)
    beside = f" with Pillow, {listing(decoders)}" if decoders else ""
    message = f"no known obstacle slows the loading of images; `fastinstall bench DIR` measures yours{beside}"
    evidence = (*frameworks, f"CPUs: {context.facts.cpu.cores}")
    return Finding.ok(message, evidence=evidence, verify=run_python(context, _INSTALLED))


_DISAGREEING = {
    "kornia-rs": ("has two JPEG decoders that disagree: the called function decides", "call one function of kornia-rs"),
    "simplejpeg": ("encodes JPEGs below quality 96 otherwise than Pillow and OpenCV", "use one encoder"),
}
"""Problem and remedy by package; the problems were measured with kornia-rs 0.2.0 and simplejpeg 1.9.0 (2026-11-29)."""


def _report_disagreeing_decoders(context: CheckContext) -> Iterator[Finding]:
    for each in context.facts.distributions:
        if each.name in _DISAGREEING:
            problem, way_out = _DISAGREEING[each.name]
            yield Finding.hint(
                f"{each.name} {each.version} {problem}",
                remedy=Remedy(text=f"{way_out} for all images, for those of a set that was re-encoded too"),
                link=f"{SURPRISES}#the-same-file-other-pixels",
                verify=run_python(context, _INSTALLED),
            )


def _report_quota(context: CheckContext) -> Iterator[Finding]:
    cpu = context.facts.cpu
    granted = max(1, int(cpu.quota or cpu.cores))
    if cpu.quota is not None and granted < cpu.cores:
        text = f"num_workers={granted} in the DataLoader; to measure each number, run"
        yield Finding.hint(
            f"programs see {cpu.cores} CPUs here, but only {cpu.quota:g} are granted: num_workers={granted} is enough",
            evidence=("torch's DataLoader warns about too many workers by the number of CPUs, not by the quota",),
            remedy=_make_bench_remedy(context, text),
            verify=run_python(context, _COUNTED),
        )


def _report_malloc(context: CheckContext) -> Iterator[Finding]:
    loading, interpreter = context.facts.loading, context.facts.interpreter
    version = list_leading_numbers(interpreter.libc_version) if interpreter.libc == "glibc" else ()
    if loading is None or version < _TUNABLES_SINCE:
        return
    wanted = _KEPT | (_HUGE if version >= _HUGE_SINCE and loading.huge_pages == "madvise" else {})
    missing = {name: value for name, value in wanted.items() if name not in loading.tunables}
    if missing:
        arrays, photos = _GIVEN_BACK_BY_OURS if context.core_is_ours else _GIVEN_BACK
        added = (f"{name}={value}" for name, value in missing.items())
        setting = ":".join(filter(None, (loading.tunables, *added)))
        yield Finding.hint(
            f"malloc returns the memory of every {arrays} to the kernel, which slows {photos}",
            evidence=(
                f"glibc {interpreter.libc_version}; GLIBC_TUNABLES names no {listing(missing)}",
                "numpy.asarray of 12 megapixels was 6 to 7 times as fast with them (measured 2026-11-23)",
            ),
            remedy=_make_bench_remedy(context, f"start the training with GLIBC_TUNABLES={setting}; to measure it, run"),
            verify=show_text(_HUGE_PAGES),
        )


def _make_bench_remedy(context: CheckContext, text: str) -> Remedy:
    return Remedy(text=f"{text} `bench`, given a directory of your images", command=word_command(context, "bench"))
