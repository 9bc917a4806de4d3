"""Thread counts change the time, never a bit of the result."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import hashlib
import numba
import numpy as np
from coterie import EAC, Ensemble
from coterie.evidence import (
    coassociation, coassociation_counts, locally_weighted_coassociation, observed_counts, transitions,
)
from coterie.kernels.simplex import project_rows

rng = np.random.default_rng(0)
labels = rng.integers(-1, 5, (700, 12))
ensemble = Ensemble.from_labels(labels, member_weight=rng.random(12) + 0.5)
weights = ensemble.weights.astype(float)
digests = set()
for threads in (1, 2):
    numba.set_num_threads(threads)
    assert numba.get_num_threads() == threads
    found = [
        coassociation_counts(ensemble), observed_counts(ensemble), coassociation(ensemble),
        locally_weighted_coassociation(ensemble), transitions(ensemble),
        project_rows(np.random.default_rng(1).normal(size=(300, len(weights))), weights),
    ]
    for linkage in ("average", "complete", "single"):
        model = EAC(7, linkage=linkage).fit(ensemble)
        found += [model.labels_, model.dendrogram_.heights, model.sample_confidence_]
    digests.add(hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest())
print(len(digests))
"""


def test_one_thread_and_two_give_the_same_bits():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "NUMBA_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1"
