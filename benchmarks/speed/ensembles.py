"""From rows of labels to microclusters and back."""

from __future__ import annotations

import numpy as np

from coterie import Ensemble

from .inputs import repeated


class Compression:
    """n samples of 20 labels, 2,000 of them distinct."""

    params = [10_000, 100_000, 1_000_000]
    param_names = ["n"]

    def setup(self, n):
        self.labels, _ = repeated(n, 2_000, 20, 10)
        self.ensemble = Ensemble.from_labels(self.labels)
        self.values = np.arange(self.ensemble.n_microclusters)

    def time_compress(self, n):
        Ensemble.from_labels(self.labels)

    def time_expand(self, n):
        self.ensemble.expand(self.values)

    def peakmem_compress(self, n):
        Ensemble.from_labels(self.labels)
