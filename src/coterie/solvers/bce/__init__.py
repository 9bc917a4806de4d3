from coterie.solvers.bce.solver import BCE

__all__ = ["BCE"]
