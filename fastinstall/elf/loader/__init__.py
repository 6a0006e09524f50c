"""glibc's dynamic loader, simulated: what a process would map, and whose code a symbol gets."""
