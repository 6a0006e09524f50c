"""The dynamic loaders of glibc and musl, simulated: what a process would map, and whose code a symbol gets."""
