from coterie.solvers.pce.solver import PCE

__all__ = ["PCE"]
