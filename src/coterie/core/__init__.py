"""What every layer stands on: parameters, errors, memory, threads, randomness, tables."""
