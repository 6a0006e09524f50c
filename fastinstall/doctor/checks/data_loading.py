"""What may slow the loading of images: CPU quota, huge pages, and other decoders at hand.

- hint: the control group grants fewer CPUs than programs count, so that a DataLoader starts too many workers; the
  kernel offers huge pages to programs that ask for them, and malloc is not told to.

How fast images are loaded depends on the images: that is measured by `fastinstall bench DIR`, not here. torch's
DataLoader counts the CPUs that a process may run on (`os.sched_getaffinity`), which a quota does not change. glibc asks
for huge pages by GLIBC_TUNABLES since 2.35, and only where the kernel says "madvise".

Why it matters:
Training waits for its images more often than one thinks. On photos of 12 megapixels, huge pages made loading 1.8 times
as fast, and Pillow's draft mode 4 times (measured 2026-11-21); on small images neither gains anything. Workers beyond
the quota take memory and turns from each other, and load no faster.

How to fix it:
`fastinstall bench DIR` measures your images on this machine, as a DataLoader loads them, and tells what helps in the
order of its gain, each with the command or the line of code, and when to leave it alone.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from fastinstall.core.messages import listing
from fastinstall.doctor.check_context import CheckContext, FindingFactory
from fastinstall.doctor.remedies import command, run_python, show_text
from fastinstall.model.finding import Finding, Remedy
from fastinstall.observe.cpu import decoders_of, frameworks_of

ORDER = 220

_SAY = FindingFactory("data-loading")
_INSTALLED = "import importlib.metadata as m; print(*sorted({d.name for d in m.distributions()}))"
_COUNTED = "import os; print(len(os.sched_getaffinity(0)))"
_HUGE_PAGES = PurePosixPath("/sys/kernel/mm/transparent_hugepage/enabled")
_TUNABLE = "glibc.malloc.hugetlb"
_SINCE = (2, 35)


def check(context: CheckContext) -> Iterator[Finding]:
    """Tell what stands in the way of loading images."""
    frameworks = frameworks_of(context.facts.distributions)
    if not frameworks:
        message = "nothing here trains on images: neither torch, tensorflow, jax nor keras is installed"
        yield _SAY.ok(message, verify=run_python(context, _INSTALLED))
    else:
        yield from (*_report_quota(context), *_report_huge_pages(context)) or (_report_success(context, frameworks),)


def _report_success(context: CheckContext, frameworks: tuple[str, ...]) -> Finding:
    decoders = decoders_of(context.facts.distributions)
    beside = f" with Pillow, {listing(decoders)}" if decoders else ""
    message = f"nothing is known to slow the loading of images; `fastinstall bench DIR` measures yours{beside}"
    evidence = (*frameworks, f"CPUs: {context.facts.cpu.cores}")
    return _SAY.ok(message, evidence=evidence, verify=run_python(context, _INSTALLED))


def _report_quota(context: CheckContext) -> Iterator[Finding]:
    cpu = context.facts.cpu
    granted = max(1, int(cpu.quota or cpu.cores))
    if cpu.quota is not None and granted < cpu.cores:
        text = f"num_workers={granted} in the DataLoader; what each number brings is measured by"
        yield _SAY.hint(
            f"programs count {cpu.cores} CPUs here, and {cpu.quota:g} are granted: num_workers={granted} is enough",
            evidence=("torch's DataLoader warns of too many workers by the CPUs that it counts, not by the quota",),
            remedy=_make_bench_remedy(context, text),
            verify=run_python(context, _COUNTED),
        )


def _report_huge_pages(context: CheckContext) -> Iterator[Finding]:
    loading, interpreter = context.facts.loading, context.facts.interpreter
    matched = re.match(r"(\d+)\.(\d+)", interpreter.libc_version)
    knows = interpreter.libc == "glibc" and matched is not None and (int(matched[1]), int(matched[2])) >= _SINCE
    if knows and loading is not None and loading.huge_pages == "madvise" and _TUNABLE not in loading.tunables:
        named = f"transparent huge pages: madvise; GLIBC_TUNABLES names no {_TUNABLE}"
        text = f"start the training with GLIBC_TUNABLES={_TUNABLE}=1, if it helps; measured by"
        yield _SAY.hint(
            "huge pages are there for programs that ask, and malloc is not told to: that counts on large photos",
            evidence=(
                f"glibc {interpreter.libc_version}; {named}",
                "photos of 12 megapixels were loaded 1.8 times as fast (measured 2026-11-21), small ones no faster",
            ),
            remedy=_make_bench_remedy(context, text),
            verify=show_text(_HUGE_PAGES),
        )


def _make_bench_remedy(context: CheckContext, text: str) -> Remedy:
    return Remedy(text=f"{text} `bench`, given a directory of your images", command=command(context, "bench"))
