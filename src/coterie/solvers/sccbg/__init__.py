from coterie.solvers.sccbg.solver import SCCBG

__all__ = ["SCCBG"]
