"""From rows of labels to microclusters and back."""

from __future__ import annotations

import numpy as np

from coterie import Ensemble

from .inputs import repeated


class Compression:
    """n samples of 20 labels, 2,000 of them distinct."""

    params = [10_000, 100_000, 1_000_000, 10_000_000]
    param_names = ["n"]
    timeout = 300

    def setup(self, n):
        self.labels = repeated(n, 2_000, 20, 10)[0].astype(np.int16)
        self.ensemble = Ensemble.from_labels(self.labels)
        self.values = np.arange(self.ensemble.n_microclusters)

    def time_compress(self, n):
        Ensemble.from_labels(self.labels)

    def time_expand(self, n):
        self.ensemble.expand(self.values)

    def peakmem_compress(self, n):
        Ensemble.from_labels(self.labels)


class Shapes:
    """A million samples by the number of members and of their clusters."""

    params = [[10, 50, 200], [3, 30]]
    param_names = ["m", "k"]
    timeout = 300

    def setup(self, m, k):
        self.labels = repeated(1_000_000, 2_000, m, k)[0].astype(np.int16)
        Ensemble.from_labels(self.labels[:100])

    def time_compress(self, m, k):
        Ensemble.from_labels(self.labels)
