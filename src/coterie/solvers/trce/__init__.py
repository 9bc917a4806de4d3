from coterie.solvers.trce.solver import TRCE

__all__ = ["TRCE"]
