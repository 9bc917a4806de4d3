"""Linear algebra shared by solvers: arrays in, arrays out."""
