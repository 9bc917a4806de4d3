"""Write the reports of five public data sets, which the page "Finished reports" links to.

The docs build calls :func:`write_all`. The data come with scikit-learn; nothing is downloaded.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from sklearn import datasets

from coterie import ConsensusClustering, Result, report

# heading of the report, and the number of clusters
REPORTS: dict[str, tuple[str, int | str]] = {
    "wine": ("178 Italian wines", "auto"),
    "breast_cancer": ("569 breast masses", 2),
    "digits": ("1,797 handwritten digits", 10),
    "iris": ("150 iris flowers", 3),
    "diabetes": ("442 diabetes patients", "auto"),
}


def write(name: str, folder: Path) -> None:
    """Cluster one data set and write its report."""
    title, n_clusters = REPORTS[name]
    if name == "diabetes":
        # as measured; the classes of the others are known, here there are none
        data = datasets.load_diabetes(as_frame=True, scaled=False)
        classes = None
    else:
        data = getattr(datasets, f"load_{name}")(as_frame=True)
        classes = data.target_names[data.target]
    model = ConsensusClustering(n_clusters, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.data)
    result = Result.of(
        model,
        X=data.data,
        truth=classes,
        input={"table": f"load_{name} of scikit-learn"},
        warnings=[str(warning.message) for warning in caught],
    )
    report.write(result, folder / f"{name}.html", title=title)


def write_all(folder: Path) -> None:
    """Write all reports."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in REPORTS:
        write(name, folder)
