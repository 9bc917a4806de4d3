"""Council: many solvers and settings vote on one partition; no labels, no tuning."""

from coterie.council._council import Council
from coterie.council._seats import GRIDS, SOLVERS, WIDE, Seat, seats

__all__ = ["GRIDS", "SOLVERS", "WIDE", "Council", "Seat", "seats"]
