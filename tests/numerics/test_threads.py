"""Thread counts change the time, never a bit of the result."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import numba
import numpy as np
from coterie import EAC, Ensemble
from coterie.evidence import coassociation, locally_weighted_coassociation, transitions
from coterie.numerics.pairs import agreement_counts, observation_counts

rng = np.random.default_rng(0)
labels = rng.integers(-1, 5, (700, 12))
ensemble = Ensemble.from_labels(labels, member_weight=rng.random(12) + 0.5)
digests = set()
for threads in (1, 2):
    numba.set_num_threads(threads)
    assert numba.get_num_threads() == threads
    found = [
        agreement_counts(ensemble.labels), observation_counts(ensemble.labels),
        coassociation(ensemble), locally_weighted_coassociation(ensemble), transitions(ensemble),
    ]
    for linkage in ("average", "complete", "single"):
        model = EAC(7, linkage=linkage).fit(ensemble)
        found += [model.labels_, model.dendrogram_.heights, model.cluster_votes_.confidence]
    digests.add(hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest())
print(len(digests))
"""


# large enough that eigenvectors are found by iteration and rows are shared out
SOLVERS = """
import hashlib
import warnings
import numba
import numpy as np
from threadpoolctl import threadpool_limits
from coterie import SPCE, TRCE, Ensemble
from coterie.numerics import davidson

iterate, iterated = davidson._davidson, []

def counted(*arguments):
    found = iterate(*arguments)
    iterated.append(found is not None)
    return found

davidson._davidson = counted
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
truth = rng.integers(0, 4, 1000)
labels = np.where(rng.random((1000, 10)) < 0.25, rng.integers(0, 6, (1000, 10)), truth[:, None])
ensemble = Ensemble.from_labels(labels)
assert ensemble.n_microclusters > 500
digests = set()
for threads in (1, 2):
    numba.set_num_threads(threads)
    with threadpool_limits(threads):
        models = [solver(4).fit(ensemble) for solver in (SPCE, TRCE)]
    # the confidence of the votes; the verdict adds twenty fits of parts of these labels
    found = [array for model in models for array in (model.labels_, model.cluster_votes_.confidence)]
    found += [model.consensus_matrix_ for model in models]
    digests.add(hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest())
assert sum(iterated) > 3, iterated
print(len(digests))
"""


@pytest.mark.parametrize("program", [PROGRAM, SOLVERS], ids=["evidence", "solvers"])
def test_one_thread_and_two_give_the_same_bits(program):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1"


AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from coterie import LWEA, ConsensusClustering, Ensemble

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
labels = rng.integers(0, 5, (400, 10))
alone = LWEA(4).fit_predict(labels).tolist()
with ThreadPoolExecutor(4) as pool:
    together = [one.tolist() for one in pool.map(LWEA(4).fit_predict, [labels] * 8)]
assert together == [alone] * 8
ConsensusClustering("auto", n_members=10, random_state=0, n_jobs=2).fit(X)
print("alive")
"""


def test_several_threads_at_once_give_the_same_labels():
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert done.stdout == "alive\n", done.stderr
