"""One file per way to decode and resize an image; discovered by file name, run inside the target.

At import, a file here imports only the standard library, and it runs on Python 3.8 or later. A name with a leading
underscore is not an adapter but shared code. An adapter has:

- `NAME`, in kebab case, the file's name with hyphens; `TITLE` for people;
- `MODULES`: what must be importable; `BRINGS`: the requirements that provide them; `BY_HAND`, if any: why they are
  never fetched;
- `CODE`: the line of code that uses it;
- with defaults: `FORMATS`: what it decodes, by Pillow's names, else whatever Pillow opens; `ALIASED`: whether its
  resize skips pixels, so that the picture differs; `SDISTS`: its requirements that are only published as source
  distributions, and compile nothing; `SCALES`: how many times the requested size an image must have to be decoded
  partly; `PRIORITY`: its place among all candidates when time is short, the lowest first;
- `LOADER`: a module with a function `load(path)`, which returns an array of height x width x 3 bytes, RGB, or a Pillow
  image. The names `SHORTER`, `CROP` (0 for none) and `FILTER` are assigned before it. What is measured is what the user
  gets for keeping it. At import it loads nothing and starts no thread, because a pool may fork after it;
- if `BATCHED` is true, in `LOADER` too: `batches(lists, threads, size, ahead)`: arrays of batch after batch, in order,
  from lists of at most `size` paths, on this number of its own threads, loading ahead if `ahead`;
- `stages(wanted)`, for Pillow, whose parts are told apart: (stage, function) in order, which together do the same as
  `load`. The first function takes a file's bytes, each next one the previous result. `wanted` has `shorter`, `crop`,
  `filter`, and `array`: whether numpy is installed, else the last one returns bytes. Stages are "decode", "convert",
  "resize", "crop", "array";
- `versions()`, if `MODULES` does not suffice: names and versions of the packages involved;
- `trouble()`, optional: why it cannot run here although its modules are installed ("no NVIDIA GPU"); empty if it can.

All others load on one thread, like a DataLoader's worker with its own CPU. They drop an alpha channel and ignore the
EXIF orientation, as Pillow's `convert("RGB")` does. If a library lacks the filter, the nearest one is used, and the
adapter says so.
"""
