"""Prove that a build computes the same results as the official wheel, and measure how much faster it is."""
