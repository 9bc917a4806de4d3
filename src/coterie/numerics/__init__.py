"""Numerical parts that several packages share: arrays in, arrays out."""
