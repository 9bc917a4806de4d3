"""Hostile and clumsy use: awkward ensembles, extreme numbers, damaged files, faults and kills."""
