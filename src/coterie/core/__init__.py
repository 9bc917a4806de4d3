"""Shared by all packages: parameters, errors, memory, threads, randomness, tables."""
