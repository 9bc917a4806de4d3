"""Compiled kernels: arrays in, arrays out.

Nothing is imported here: each kernel file pulls in numba, and a caller pays only for what it uses.
"""
