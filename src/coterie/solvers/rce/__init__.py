from coterie.solvers.rce.solver import RCE

__all__ = ["RCE"]
