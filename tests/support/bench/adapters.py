"""The candidates of bench, by kind: decoders, and stores of images."""

from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.report import CandidateKind

ADAPTERS = [way for way in all_ways().values() if way.kind is CandidateKind.DECODER]
STORES = [way for way in all_ways().values() if way.kind is CandidateKind.STORAGE]
