"""Pictures that compare methods: arrays in, matplotlib Axes out.

They follow the rules of :mod:`coterie.plot`: every function takes ``ax=`` and returns the Axes it drew
on; without ``ax`` it makes a new figure that pyplot does not manage.
"""

from coterie_bench.pictures._bars import bars, ranks
from coterie_bench.pictures._curves import curves, evidence
from coterie_bench.pictures._maps import matrices, score_map

__all__ = ["bars", "curves", "evidence", "matrices", "ranks", "score_map"]
