"""What a program calls: each verb of the command line as a function from values to values, with an example."""
