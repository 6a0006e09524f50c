"""One file per way to store images; discovered by file name, run inside the target.

The code that measures a store is the code that a user gets for keeping it: `printed_code.py` prints a file of this
package as a self-contained script, including what it imports from its neighbours. So at import a file imports only the
standard library and names of its neighbours (`from .preparing import ...`), and runs on Python 3.8 or later. It has:

- `NAME`, the file's name; `TITLE` for people; `CAVEAT`: what to know before choosing it;
- `MODULES`, if any: what must be importable; `BRINGS`: the requirements that provide them;
- `IN_FILES = True`, if each image has its own file, so that any loader can read it;
- `SETTINGS`, if any: which of "shorter" and "filter" affect its content;
- `PRIORITY`: its place among all candidates when time is short, the lowest first; the largest stores come last;
- `make(images, out, wanted)`: puts images into the directory `out`, and continues after an interruption; yields
  (name, bytes, trouble) for each, with an empty trouble unless it was left out;
- `Reader(path)`: `len()`, `read(index)`, `name(index)`, `path(index)` if it has files, `paths` (its files),
  `close()`. It opens its files at the first read, separately in every process.

A file without `NAME` is shared by others.
"""
