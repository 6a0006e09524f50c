"""How instructions of a CPU feature look in a disassembly, so that a person can count them."""

import shlex
from collections.abc import Collection

from fastinstall.model.isa import IsaScan

_PATTERNS = {
    "cx16": "cmpxchg16b",
    "popcnt": "popcnt",
    "pni": "lddqu|h(add|sub)p|mov(sh|sl|d)dup|addsubp|fisttp",
    "ssse3": "pshufb|palignr|ph(add|sub)|pmaddubsw|pabs[bwd]|psign|pmulhrsw",
    "sse4_1": "pmov[sz]x|pmulld|pblend|blendv?p|ptest|round[sp][sd]|p(ext|ins)r[bdq]|pm(in|ax)(sb|sd|uw|ud)|packusdw",
    "sse4_2": "pcmp[ei]str|pcmpgtq|crc32",
    "avx": "%[xy]mm[0-9]+,%[xy]mm[0-9]+,%[xy]mm",
    "avx2": "%ymm",
    "bmi1": "andn|bextr|bls(i|r|msk)",
    "bmi2": "mulx|pext|pdep|[sr](ar|hl|hr|or)x|bzhi",
    "f16c": "vcvtp[hs]2p[hs]",
    "fma": "vfn?m(add|sub)",
    "abm": "lzcnt",
    "movbe": "movbe",
    "aes": "aes(enc|dec|imc|key)",
    "pclmulqdq": "pclmul",
    "sha_ni": "sha(1|256)",
}


def show_features(scan: IsaScan, features: Collection[str]) -> str:
    """Count the instructions of a file that need some features, by their disassembly (`objdump` of binutils)."""
    patterns = (_PATTERNS.get(feature, "%zmm|%k[1-7]" if feature.startswith("avx512") else "") for feature in features)
    wanted = "|".join(dict.fromkeys(filter(None, patterns)))
    listed = shlex.join(("objdump", "-d", str(scan.path)))
    return f"{listed} | {shlex.join(('grep', '-cE', wanted))}" if wanted else listed
