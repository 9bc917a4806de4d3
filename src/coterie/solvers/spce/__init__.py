from coterie.solvers.spce.solver import SPCE

__all__ = ["SPCE"]
