"""Rules about files from which tools install: whether an installation would bring stock Pillow back.

One module per family of formats, each from a text to `LockEntry` values; `verdict` judges those. All of it is pure, and
asks no network.
"""
