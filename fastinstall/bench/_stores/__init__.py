"""Ways to store images, one per file; a store is found by its file name, and its code runs inside the target.

A user gets the same code that was measured: `printed_code.py` prints a file of this package as a self-contained script,
together with the files of this package that it imports. Each file therefore runs on Python 3.8 or later. At import, it
needs only the standard library and this package (`from ._preparing import ...`). The file's name is the store's name; a
leading underscore marks shared code. The file of a store has:

- `TITLE`: the store's name for people; `CAVEAT`: what the user should know before choosing the store;
- `MODULES`, optional: modules that must be importable; `BRINGS`: the requirements that provide these modules;
- `IN_FILES = True`, if each image has its own file, so that any loader can read it;
- `SETTINGS`, optional: which of "shorter" and "filter" affect the stored images;
- `PRIORITY`: the store's place in the order of measurement, which matters when time is short: lower numbers come
  earlier, and the largest stores last;
- `make(images, out, wanted)`: writes images into the directory `out`, continuing earlier work; yields for each
  image (name, bytes, error), where the error is empty if the image was stored;
- `Reader(path)`: has `len()`, `read(index)`, `name(index)`, `path(index)` if each image has a file, `paths` (all files
  of the store) and `close()`. Every process opens the files for itself, at its first read.
"""
