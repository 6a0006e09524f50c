"""Load images on request; runs inside a target, with the standard library only, on Python 3.8 or later.

    python -I -B _loading.py [SITE...]

Each directory SITE is put at the front of `sys.path`. Each line on stdin is a request in JSON, which names a function
in a file of this directory, with arguments: `{"do": "MODULE.FUNCTION", "arguments": {...}}`. The response is one line
of JSON: `{"answer": RESULT}`, or on failure `{"refused": [OUTCOME, REASON]}`. OUTCOME is "missing", "unsuited" or
"failed"; the reason of "missing" is a module's name. `-I` keeps this directory off `sys.path`, so its files are
imported as a package with the name `PACKAGE`.

`start` receives a job, to which all later requests refer:

    {"adapter": NAME, "loader": "FILE:FUNCTION" or "", "images": [PATH...], "store": [KIND, PATH] or null,
     "wanted": {"shorter": 256, "crop": 224, "filter": "bilinear", "tensor": true}}
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import itertools
import json
import os
import sys
from time import perf_counter
from typing import Any, Callable, Dict, Iterator, List, Sequence, Set, Tuple

PACKAGE = "fastinstall_bench"
MOST_TEXT = 400
"""Maximum length of an error text, in characters: some libraries put the bytes of an image into error messages."""
BATCH = 32
LARGE_BLOCK = 31 << 20  # never written to, so it takes no memory
OWN_LOADERS_PACKAGES = ("PIL", "cv2", "numpy", "torch", "torchvision", "albumentations", "skimage", "tensorflow")
"""Packages whose versions are reported if the user's loader has imported them."""
Stages = List[Tuple[str, Callable[[Any], Any]]]


class Refused(Exception):
    """Raised with an outcome and a reason if the requested way of loading images cannot run in this process."""


def serve() -> None:
    """Answer requests until stdin ends. Libraries get an empty stdin, and their output goes to stderr.

    Forked children close the pipe for responses, so that the process that sends requests notices when this process
    ends, even if a child lives on.
    """
    sys.path[:0] = sys.argv[1:]
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.register_at_fork(after_in_child=answers.close)
    for line in requests:
        answers.write(json.dumps(answer_to(json.loads(line))) + "\n")
        answers.flush()


def answer_to(request: Dict[str, Any]) -> Dict[str, Any]:
    """Call the requested function; return the response, with its result or with the reason why it failed."""
    module, _, name = request["do"].partition(".")
    try:
        return {"answer": getattr(import_beside(module), name)(**request["arguments"])}
    except Refused as refusal:
        return {"refused": refusal.args}
    except ModuleNotFoundError as error:
        return {"refused": ("missing", error.name)}
    except Exception as error:  # noqa: BLE001 (any exception of a package is reported)
        return {"refused": ("failed", text_of(error))}


def import_beside(name: str) -> Any:
    """Import a file of this directory or of a subdirectory by its dotted name ("_timing", "adapters.pillow")."""
    if PACKAGE not in sys.modules:
        spec = importlib.machinery.ModuleSpec(PACKAGE, None, is_package=True)
        spec.submodule_search_locations = [os.path.dirname(os.path.abspath(__file__))]
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE + "._loading"] = sys.modules[__name__]
    return importlib.import_module("%s.%s" % (PACKAGE, name))


def import_equipped(name: str) -> Any:
    """Import an adapter or a store; raise Refused if a module that it needs is missing."""
    module = import_beside(name)
    for needed in list_missing(getattr(module, "MODULES", ())):
        raise Refused("missing", needed)
    return module


def text_of(error: BaseException) -> str:
    """Return the class and the text of an error, in at most `MOST_TEXT` characters."""
    return ("%s: %s" % (type(error).__name__, error))[:MOST_TEXT]


def exists(module: str) -> bool:
    """Return whether a module can be found; this imports its parent packages, but not the module."""
    try:
        return importlib.util.find_spec(module) is not None
    except Exception:  # noqa: BLE001 (a broken package raises anything)
        return False


def list_missing(modules: Sequence[str]) -> List[str]:
    """Return those of the given modules that cannot be found."""
    return [module for module in modules if not exists(module)]


class Files:
    """The images of a job if they are separate files; this class has the methods of `_storage.Store`."""

    def __init__(self, paths: List[str]) -> None:
        self.paths = paths

    def path(self, index: int) -> str:
        return self.paths[index]

    def read(self, index: int) -> bytes:
        with open(self.paths[index], "rb", buffering=0) as stream:
            return stream.read()

    def files(self) -> List[str]:
        return self.paths


class Pipeline:
    """The images of a job, and the stages that load an image; every worker creates its own pipeline from the job."""

    def __init__(self, job: Dict[str, Any]) -> None:
        self.job, self.wanted = job, job["wanted"]
        self.values = import_beside("_values")
        self.source = import_beside("_storage").Store(*job["store"]) if job.get("store") else Files(job["images"])
        self.batches: Any = None
        self.makes_tensors = bool(self.wanted.get("tensor")) and self.values.torch_works()
        self.stages = self._own_stages() if job.get("loader") else self._adapter_stages()
        if not self.batches:
            self.stages.append(("array", self.values.to_array()))
            self.stages.extend([("tensor", self.values.to_tensor())] if self.makes_tensors else [])
        self._warm: Set[str] = set()
        self._endless: Tuple[List[int], List[int], Any, Dict[str, str]] = ([], [], None, {})

    def _own_stages(self) -> Stages:
        load = own_loader(self.job["loader"])
        self.versions = self.values.versions_of(each for each in OWN_LOADERS_PACKAGES if each in sys.modules)
        return [("decode", lambda index: load(self.source.path(index)))]

    def _adapter_stages(self) -> Stages:
        adapter = import_equipped("adapters." + self.job["adapter"].replace("-", "_"))
        trouble = adapter.trouble() if hasattr(adapter, "trouble") else ""
        if trouble:
            raise Refused("unsuited", trouble)
        versions_of = self.values.versions_of
        self.versions = adapter.versions() if hasattr(adapter, "versions") else versions_of(adapter.MODULES)
        code: Dict[str, Any] = {name.upper(): self.wanted[name] for name in ("shorter", "crop", "filter")}
        exec(adapter.LOADER, code)  # noqa: S102 (source from this package)
        self.batches = code.get("batches")
        if "decode" in code:
            names = ("decode", "convert", "resize", "crop") if self.wanted["crop"] else ("decode", "convert", "resize")
            return [("read", self.source.read), *((name, code[name]) for name in names)]
        return [("decode", lambda index: code["load"](self.source.path(index)))]

    def load(self, index: int) -> Any:
        value: Any = index
        for _, function in self.stages:
            value = function(value)
        return value

    def timed(self, index: int) -> List[float]:
        """Load one image, and return the seconds that each stage took."""
        value, times = index, []
        for _, function in self.stages:
            start = perf_counter()
            value = function(value)
            times.append(perf_counter() - start)
        return times

    def warm_up(self, indexes: List[int]) -> None:
        """Load one image for each file extension, so that plugins are imported before anything is timed."""
        for index in indexes:
            suffix = os.path.splitext(self.job["images"][index])[1].lower()
            if not self.batches and suffix not in self._warm:
                self._warm.add(suffix)
                with contextlib.suppress(Exception):  # the failure is reported in the timed pass
                    self.load(index)

    def timed_pass(self, indexes: List[int], failed: Dict[str, str]) -> Iterator[Tuple[int, List[float]]]:
        """Load each image once, and yield its index and the seconds of each stage.

        An image that fails is not yielded: its error text is added to `failed`, by index. An adapter that loads whole
        batches has only one stage, and every image gets the mean time.
        """
        if self.batches:
            good, flow = self._start_endless(indexes, failed)
            start = perf_counter()
            for _ in parts(good):
                next(flow)
            seconds = perf_counter() - start
            yield from ((index, [seconds / len(good)]) for index in good)
            return
        for index in indexes:
            if str(index) not in failed:
                try:
                    yield index, self.timed(index)
                except Exception as error:  # noqa: BLE001 (an image that fails is counted and named)
                    failed[str(index)] = text_of(error)

    def flow(self, lists: Iterator[List[int]], threads: int = 0, size: int = BATCH) -> Iterator[List[Any]]:
        """Yield the pictures of each batch, if the adapter loads whole batches.

        Args:
            lists: for each batch, the indexes of its images.
            threads: number of the adapter's threads, which load ahead; 0 for one thread that does not load ahead.
            size: maximum number of images in a batch.
        """
        paths = ([self.source.path(index) for index in indexes] for indexes in lists)
        finish = self.values.to_tensor() if self.makes_tensors else lambda picture: picture
        for pictures in self.batches(paths, max(1, threads), size, threads > 0):
            yield list(map(finish, pictures))

    def _start_endless(self, indexes: List[int], failed: Dict[str, str]) -> Tuple[List[int], Any]:
        """Return the indexes of the images that load, and an endless iterator over their batches.

        The iterator is kept for later requests about the same images. The process is pinned to one CPU, because it is
        compared with the baseline, which uses only one. If a batch fails, each image is loaded alone, to find the
        images that fail.
        """
        if self._endless[0] != indexes:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            failures: Dict[str, str] = {}
            try:
                list(self.flow(parts(indexes)))
            except Exception:  # noqa: BLE001 (any exception of a library)
                for index in indexes:
                    try:
                        list(self.flow(iter([[index]])))
                    except Exception as error:  # noqa: BLE001 (any exception of a library)
                        failures[str(index)] = text_of(error)
            good = [index for index in indexes if str(index) not in failures]
            flow = self.flow(itertools.cycle(list(parts(good))))
            for _ in parts(good):
                next(flow)
            self._endless = (indexes, good, flow, failures)
        _, good, flow, failures = self._endless
        failed.update(failures)
        return good, flow


def parts(indexes: List[int]) -> Iterator[List[int]]:
    """Split indexes into batches of `BATCH` indexes; the last batch may be shorter."""
    return (indexes[start : start + BATCH] for start in range(0, len(indexes), BATCH))


def own_loader(where: str) -> Callable[[str], Any]:
    """Import the user's file and return its function, given as FILE:FUNCTION.

    The file's directory and the directories of PYTHONPATH are added to `sys.path`, because `-I` leaves them out and
    the file may import from them. Raise Refused if the import fails (the reason names the line), or if the file has no
    such function.
    """
    import traceback

    file, _, name = where.rpartition(":")
    places = [os.path.dirname(file), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    place = len(sys.argv[1:]) if __name__ == "__main__" else 0
    sys.path[place:place] = [os.path.abspath(each) for each in places if each]
    try:
        loader = importlib.machinery.SourceFileLoader("fastinstall_loader", file)
        spec: Any = importlib.util.spec_from_file_location(loader.name, file, loader=loader)
        module = sys.modules[loader.name] = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        function = getattr(module, name, None)
    except SystemExit as error:
        hint = "put what it runs under: if __name__ == '__main__'"
        raise Refused("failed", "%s exited while it was imported (%s); %s" % (file, error, hint)) from error
    except Exception as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
        line = " (line %s)" % lines[-1] if lines else ""
        raise Refused("failed", "%s raised while it was imported: %s%s" % (file, text_of(error), line)) from error
    if not callable(function):
        raise Refused("failed", "%s has no function %s(path)" % (file, name))
    return function  # type: ignore[no-any-return]  # the results of the function are checked later


RUNNING: List[Pipeline] = []
"""The pipeline of this process; empty until a job has started."""


def start(job: Dict[str, Any]) -> Dict[str, str]:
    """Start a job; return the versions of the packages involved.

    A large block is allocated and freed, so that glibc keeps and reuses the memory of freed images. Every training
    program frees such a block early. Until then, glibc may return the memory of each image to the kernel, which clears
    it again for the next image. Whether glibc does that would depend on earlier imports, so the speed of equal
    processes would differ by a factor of two (measured 2026-11-22, images of 224 pixels).
    Source: mallopt(3): the dynamic mmap threshold grows to the largest freed block, at most 32 MiB.
    """
    RUNNING[:] = [Pipeline(job)]
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # a DataLoader's worker does the same
    bytes(LARGE_BLOCK)
    versions: Dict[str, str] = RUNNING[0].versions
    return versions


def arrays(indexes: List[int]) -> List[Dict[str, Any]]:
    """Load images; return the shape and the base64 data of each picture."""
    (pipeline,) = RUNNING
    if pipeline.batches:
        pictures: Any = itertools.chain.from_iterable(pipeline.flow(parts(indexes)))
    else:
        pictures = map(pipeline.load, indexes)
    return list(map(pipeline.values.described, pictures))


if __name__ == "__main__":
    serve()
