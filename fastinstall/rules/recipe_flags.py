"""Which flags and words a recipe may hand to compilers: a closed list, for a recipe may come from anybody. Pure.

Compilers load plugins, read further options from files, start other programs and write where they are told. Nothing of
that is needed for speed; whatever is not known to be about the code that is generated is refused.
"""

import re
from collections.abc import Iterator

from fastinstall.rules.recipe_values import Problem, word_problems

_GENERATED = (
    r"wrapv|trapv|strict-aliasing|strict-overflow|omit-frame-pointer|common|pic|pie|PIC|PIE|plt|semantic-interposition"
    r"|fp-contract=(?:off|on|fast)|fast-math|[a-z]+-math(?:-optimizations|-only|-errno)?|math-errno|signed-zeros"
    r"|unroll(?:-all)?-loops|peel-loops|split-loops|unswitch-loops|prefetch-loop-arrays|rename-registers"
    r"|(?:tree|ipa|gcse|schedule|sched)(?:-[a-z0-9]+)*|slp-vectorize|vectorize|vect-cost-model=[a-z-]+"
    r"|inline(?:-[a-z]+)*(?:=\d+)?|align-(?:functions|loops|jumps|labels)(?:=[\d:]+)?|lto(?:=(?:auto|thin|full|\d+))?"
    r"|(?:function|data)-sections|visibility=(?:default|hidden)|stack-protector(?:-strong|-all)?"
    r"|stack-clash-protection|cf-protection(?:=(?:full|branch|return|none|check))?"
    r"|exceptions|(?:asynchronous-)?unwind-tables|zero-call-used-regs=[a-z-]+"
)
_CFLAG = re.compile(
    rf"-O(?:[0123s]|fast)|-f(?:no-)?(?:{_GENERATED})|-g[0-3]?|-pipe|-std=[a-z]+\d[\dxyz]"
    r"|-D[A-Z][A-Z0-9_]*(?:=\d+)?"  # a word in capitals, and at most a number: no function gets another's name
    r"|-W(?:no-)?[a-z][a-z0-9+-]*(?:=\d+)?"
    r"|-m(?:arch|tune|cpu|fpmath|prefer-vector-width|branch-cost)=[a-z0-9_.+-]+|-m(?!llvm)[a-z][a-z0-9._-]*"
)
_Z = (
    r"now|relro|defs|noexecstack|nodelete|separate-code|noseparate-code|pack-relative-relocs|x86-64-(?:baseline|v[1-4])"
)
_LDFLAG = re.compile(
    rf"-Wl,-z,(?:{_Z}|(?:max|common)-page-size=\d+)|-Wl,-O[0-3]|-Wl,--(?:no-)?(?:as-needed|gc-sections|sort-common)"
    r"|-Wl,--hash-style=(?:gnu|both|sysv)|-Wl,--build-id=(?:sha1|none)|-Wl,--exclude-libs,ALL"
    r"|-flto(?:=(?:auto|thin|full|\d+))?|-s"
)
_CONFIGURE = re.compile(r"--[a-z][a-z0-9-]*(?:=[A-Za-z0-9_.+-]+)?")


def compiler_flag_problems(flags: tuple[str, ...], key: str) -> Iterator[Problem]:
    """Where one of several flags is none that only shapes the code that is generated."""
    yield from word_problems(flags, key, _CFLAG, "one flag of a compiler that a recipe may give")


def linker_flag_problems(flags: tuple[str, ...], key: str) -> Iterator[Problem]:
    """Where one of several flags is none that only marks or arranges the binary."""
    yield from word_problems(flags, key, _LDFLAG, "one flag of a linker that a recipe may give")


def configure_problems(words: tuple[str, ...], key: str) -> Iterator[Problem]:
    """Where one of several words for a `configure` is no option, or names a path."""
    yield from word_problems(words, key, _CONFIGURE, "one option for configure, without a path")
