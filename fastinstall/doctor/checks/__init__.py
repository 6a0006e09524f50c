"""One file a check, found by its name. Facts in, findings out."""
