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
- `LOADER`: a module for the user's own code with a function `load(path)` that does the same as the stages, with the
  names `SHORTER`, `CROP` (0 for none) and `FILTER` assigned before it;
- `stages(wanted)`: imports its modules and returns (stage, function) in order. The first function takes a file's bytes,
  each next one the previous result; the last one returns an array of height x width x 3 bytes, RGB. `wanted` has
  `shorter`, `crop` (0 for none), `filter`, and `array`: whether numpy is installed, else the last one may return bytes.
  Stages are "decode", "convert", "resize", "crop", "array"; a library that does several at once names the first. It
  loads nothing and starts no thread yet, because a pool may fork after it;
- instead of `stages`, if `BATCHED` is true, in `LOADER`: `batches(lists, threads, size, ahead)`: arrays of batch after
  batch, in order, from lists of at most `size` paths, on this number of its own threads, loading ahead if `ahead`;
- `versions()`, if `MODULES` does not suffice: names and versions of the packages involved;
- `trouble()`, optional: why it cannot run here although its modules are installed ("no NVIDIA GPU"); empty if it can.

All others load on one thread, like a DataLoader's worker with its own CPU. They drop an alpha channel and ignore the
EXIF orientation, as Pillow's `convert("RGB")` does. If a library lacks the filter, the nearest one is used, and the
adapter says so.
"""
