"""The readers of binaries and the model of the loader beside other readers and the loader itself."""
