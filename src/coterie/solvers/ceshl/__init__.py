from coterie.solvers.ceshl.solver import CESHL

__all__ = ["CESHL"]
