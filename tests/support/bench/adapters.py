"""The decoders and stores of bench."""

from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.report import CandidateKind

ADAPTERS = [way for way in all_ways().values() if way.kind is CandidateKind.DECODER]
STORES = [way for way in all_ways().values() if way.kind is CandidateKind.STORAGE]
