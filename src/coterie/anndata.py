"""AnnData: combine the clusterings in ``adata.obs`` and write the consensus beside them.

The usual case is Leiden at many resolutions. This module does not import anndata: the user passes the
AnnData object. Results are stored as in scanpy: labels in ``obs[key]``, settings in ``uns[key]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from coterie.core.errors import ParameterError
from coterie.core.packages import versions
from coterie.core.params import SEED, Integer, Kind, check_parameters, nearest
from coterie.core.text import listed
from coterie.ensemble import Ensemble
from coterie.solvers.base import SOLVER, LabelConsensus
from coterie.solvers.methods import choose_method, solver_of

CONFIDENCE, SOFT = "_confidence", "_soft"
# parameters that do not change the labels, or are stored separately
NOT_SETTINGS = ("callback", "memory_budget", "n_jobs", "random_state")


def ensemble(
    adata: Any,
    keys: str | Iterable[str],
    *,
    missing: Any = -1,
    member_weight: ArrayLike | None = None,
) -> Ensemble:
    """Make an Ensemble of the clusterings in ``adata.obs``; each cell is a sample.

    Parameters
    ----------
    adata : AnnData
    keys : str or sequence of str
        Columns of ``adata.obs``, by name or by pattern such as ``"leiden_*"``. Members are in the
        order of the columns.
    missing : value, collection of values or None, default -1
        Values that mean "no label". NaN always does.
    member_weight : array, optional
        Positive weight of each member.

    Examples
    --------
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> obs = pd.DataFrame({"leiden_0.5": ["0", "0", "1"], "leiden_1": ["0", "1", "2"]})
    >>> adata = SimpleNamespace(obs=obs, obs_names=obs.index, obsm={}, uns={})
    >>> from coterie.anndata import ensemble
    >>> ensemble(adata, "leiden_*").members
    ('leiden_0.5', 'leiden_1')
    """
    _check_adata(adata)
    return _members(adata, keys, missing, member_weight)


def combine(
    adata: Any,
    keys: str | Iterable[str],
    *,
    n_clusters: int | None = None,
    solver: LabelConsensus | str | None = None,
    key_added: str = "coterie",
    soft: bool = False,
    missing: Any = -1,
    member_weight: ArrayLike | None = None,
    random_state: Any = 0,
    overwrite: bool = False,
) -> LabelConsensus:
    """Combine clusterings in ``adata.obs`` into one and write it to ``adata``.

    Parameters
    ----------
    adata : AnnData
        Modified in place after the computation has succeeded.
    keys : str or sequence of str
        Columns of ``adata.obs``, by name or by pattern such as ``"leiden_*"``.
    n_clusters : int or None, default None
        Number of clusters. None leaves the choice to the solver. The default solver is then EAC,
        which cuts its dendrogram at the longest lifetime.
    solver : solver of ``coterie.solvers``, name of a method or None, default None
        How the members are combined. None is ``LWEA``, ``PCE`` if labels are missing, or ``EAC`` if
        ``n_clusters`` is None; see :func:`coterie.solvers.methods.choose_method`. A number given here
        replaces the solver's own ``n_clusters``.
    key_added : str, default "coterie"
        Name of the results in ``adata``.
    soft : bool, default False
        Whether to write soft labels too (cells x clusters).
    missing : value, collection of values or None, default -1
        Values that mean "no label". NaN always does.
    member_weight : array, optional
        Positive weight of each member.
    random_state : int, default 0
        Seed, used if the solver has none.
    overwrite : bool, default False
        Whether to replace existing results of that name.

    Returns
    -------
    solver
        The fitted solver, for diagnoses, plots and the report.

    Notes
    -----
    The results are written to:

    - ``obs[key_added]``: the labels, categorical, "0", "1", ... by first appearance;
    - ``obs[key_added + "_confidence"]``: the confidence, from 0 to 1;
    - ``uns[key_added]``: ``method``, ``params``, ``members``, ``member_weights``, ``n_clusters`` and
      ``versions``. Parameters that are None are left out, because h5ad files cannot store them;
    - ``obsm[key_added + "_soft"]``, with ``soft``: one column per cluster, in the order of the
      categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> obs = pd.DataFrame({"leiden_0.5": ["0", "0", "1", "1"], "leiden_1": ["0", "0", "1", "2"]})
    >>> adata = SimpleNamespace(obs=obs, obs_names=obs.index, obsm={}, uns={})
    >>> from coterie.anndata import combine
    >>> model = combine(adata, "leiden_*", n_clusters=2)
    >>> adata.obs["coterie"].tolist(), adata.uns["coterie"]["method"]
    (['0', '0', '1', '1'], 'lwea')
    """
    _check_adata(adata)
    check_parameters(
        "combine",
        {
            "n_clusters": n_clusters,
            "solver": solver,
            "key_added": key_added,
            "random_state": random_state,
        },
        {
            "n_clusters": Integer(1, optional=True),
            "solver": SOLVER,
            "key_added": Kind(lambda value: isinstance(value, str) and value != "", "a name"),
            "random_state": SEED,
        },
    )
    written = _existing(adata, key_added)
    if written and not overwrite:
        raise ParameterError(
            f"combine: adata already has {', '.join(written)}; choose another key_added, or set "
            "overwrite=True"
        )
    own = (key_added, key_added + CONFIDENCE)
    members = _members(adata, keys, missing, member_weight, skip=own)
    model = clone(solver_of(choose_method(members, n_clusters).name if solver is None else solver))
    if n_clusters is not None:
        model.set_params(n_clusters=n_clusters)
    if model.random_state is None:
        model.set_params(random_state=random_state)
    model.fit(members)
    _write(adata, key_added, model, model.soft_labels() if soft else None)
    return model


def _check_adata(adata: Any) -> None:
    if not all(hasattr(adata, name) for name in ("obs", "obs_names", "obsm", "uns")):
        raise ParameterError(f"adata must be an AnnData, but is {type(adata).__name__}")
    if getattr(adata, "is_view", False):
        raise ParameterError(
            "adata is a view of another AnnData and cannot store the labels; pass adata.copy()"
        )


def _members(
    adata: Any,
    keys: str | Iterable[str],
    missing: Any,
    member_weight: ArrayLike | None,
    skip: tuple[str, ...] = (),
) -> Ensemble:
    """The ensemble of the columns of obs that match the names and patterns, in their order."""
    columns = [str(name) for name in adata.obs.columns]
    wanted = [keys] if isinstance(keys, str) else [*keys]
    if not wanted:
        raise ParameterError("keys is empty; give names of columns of adata.obs, or a pattern")
    chosen: set[str] = set()
    for key in wanted:
        if not isinstance(key, str):
            raise ParameterError(
                f"keys must be names of columns of adata.obs, but contains {key!r}"
            )
        if key in skip:
            raise ParameterError(
                f"keys contains {key!r}, which the result would overwrite; choose another key_added"
            )
        # an earlier result of the same name is not a member
        matches = {name for name in columns if fnmatchcase(name, key) and name not in skip}
        # a column name may contain brackets, which are then not a pattern
        matches = {key} if key in columns else matches
        if not matches:
            raise ParameterError(
                f"no column of adata.obs matches {key!r}{nearest(key, columns)} (it has: "
                f"{listed(columns)})"
            )
        chosen |= matches
    # the index of obs becomes the sample ids, unless cells share a name
    return Ensemble.from_labels(
        adata.obs[[name for name in columns if name in chosen]],
        missing=missing,
        member_weight=member_weight,
    )


def _existing(adata: Any, key: str) -> list[str]:
    """Results of that name that adata already holds."""
    slots = (
        (adata.obs.columns, "obs", key),
        (adata.obs.columns, "obs", key + CONFIDENCE),
        (adata.uns, "uns", key),
        (adata.obsm, "obsm", key + SOFT),
    )
    return [f"{slot}[{name!r}]" for content, slot, name in slots if name in content]


def _write(adata: Any, key: str, model: LabelConsensus, memberships: Any) -> None:
    import pandas as pd

    categories = [str(cluster) for cluster in range(model.n_clusters_)]
    adata.obs[key] = pd.Categorical.from_codes(model.labels_, categories=categories)
    adata.obs[key + CONFIDENCE] = model.sample_confidence_
    if memberships is not None:
        adata.obsm[key + SOFT] = memberships
    elif key + SOFT in adata.obsm:
        # these soft labels belong to the labels that were overwritten
        del adata.obsm[key + SOFT]
    adata.uns[key] = {
        "method": model.method_name(),
        "params": _settings(model),
        "members": np.array(model.ensemble_.members, dtype=object),
        "member_weights": model.member_weights_,
        "n_clusters": int(model.n_clusters_),
        "versions": versions(),
    }


def _settings(model: LabelConsensus) -> dict[str, Any]:
    """The parameters as values that an h5ad file can store."""
    settings = {
        name: value if isinstance(value, bool | int | float | str) else " ".join(str(value).split())
        for name, value in model.get_params(deep=False).items()
        if value is not None and name not in NOT_SETTINGS
    }
    if isinstance(model.random_state, int | np.integer):
        settings["random_state"] = int(model.random_state)
    return settings
