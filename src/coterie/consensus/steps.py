"""The steps of a fit of ConsensusClustering: features, members, their combination, outliers, the verdict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from coterie.consensus.prototyping import SPECTRAL, PrototypeSteps, predicts
from coterie.core.errors import ParameterError
from coterie.core.progress import following
from coterie.core.random import child_seeds
from coterie.core.text import counted, percent
from coterie.ensemble import Ensemble
from coterie.evidence.new_rows import clusters_of_rows
from coterie.generate.columns import is_table, read_columns, require_finite
from coterie.generate.features import explained_errors, refuse_not_finite
from coterie.generate.gaps import Gaps
from coterie.generate.members import Pool, Progress, make_pool
from coterie.generate.plans import ClusterCount, TooFewRows
from coterie.generate.prototypes import MEMBER_ROWS, take_rows
from coterie.generate.sources import FeatureSource, InMemory, is_lazy
from coterie.generate.tables import Preparation, TableEncoder
from coterie.numerics.nearest_points import NearestPoints
from coterie.select.resolution import many_clusters, shows_border
from coterie.select.structure import category_doubt, cloud_doubt, column_doubt
from coterie.solvers.base import LabelConsensus
from coterie.solvers.methods import configured, default_method
from coterie.trust import Verdict
from coterie.trust.verdict import expected_agreement, size_doubt

if TYPE_CHECKING:
    from coterie.select import Selection


# The stages of a fit, as a callback gets them.
CHOOSING, MAKING = "choosing the number of clusters", "making members"
# With fewer members, the criteria that compare halves of them vary much.
CHOOSING_MEMBERS = 30
# Samples in clusters smaller than this share of all samples are outliers, unless the user says otherwise.
SMALL_SHARE = 0.01
# How often the members may be fitted again without outliers, and the largest share that may be set aside.
MAX_ROUNDS = 5
MAX_ASIDE = 0.1


class FitSteps(PrototypeSteps):
    """What ``ConsensusClustering.fit`` does with its parameters, step by step."""

    def _source_of(self, X: Any) -> FeatureSource:
        if type(X).__module__.partition(".")[0] == "anndata":
            raise ParameterError(
                f"{type(self).__name__}: X is an AnnData object; give its features, such as "
                "adata.obsm['X_pca'] or adata.to_df()"
            )
        if not is_lazy(X) and not isinstance(X, FeatureSource):
            return InMemory(X)
        self._refuse_noise("rows in memory", "compute them first")
        if not predicts(self):
            raise ParameterError(
                f"{type(self).__name__}: {SPECTRAL}; for dask collections use 'kmeans', 'subsample', "
                "'features' or clusterers that can predict"
            )
        if not is_lazy(X):
            return X
        from coterie.scale import features_from_dask

        return features_from_dask(X, encode=self.prepare is not None)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        with explained_errors(X):
            features = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        refuse_not_finite(features, getattr(self, "feature_names_in_", None))
        return features

    def _prepared(self, X: Any, rng: np.random.Generator, total: int | None) -> Any:
        """The features of a table, with gaps; or the checked array. With prototypes, of drawn rows."""
        encoder = self.prepare
        if encoder == "auto":
            encoder = TableEncoder() if is_table(X) else None
        self._preparation: Preparation | None = None
        if encoder is None:
            features = self._checked(X, reset=True)
            self._drawn = self._draw(features, total, rng)
            if self._drawn is not None:
                features = features[self._drawn.base]
            if doubt := column_doubt(features, self._column_names()):
                warnings.warn(
                    f"{type(self).__name__}: {doubt} Scale the columns, for example with "
                    "sklearn.preprocessing.StandardScaler, or give a data frame, which is scaled",
                    UserWarning,
                    stacklevel=6,
                )
            return features
        self._drawn = self._draw(X, total, rng)
        if self._drawn is not None:
            columns = read_columns(X)
            X = take_rows(columns, self._drawn.base)
        self._preparation, features = Preparation.fit(X, encoder, rng)
        if self._drawn is not None:
            for plan in self._preparation.encoder.plans_:
                if plan.used and (numbers := columns[plan.name].numbers) is not None:
                    # checked here, because a later error would count rows from the start of a block
                    require_finite(plan.name, numbers)
        self.encoder_: TableEncoder = self._preparation.encoder
        self.n_features_in_: int = self.encoder_.n_features_in_
        self.feature_names_in_: NDArray[Any] = self.encoder_.feature_names_in_
        if len(features) < 2:
            raise ParameterError(f"n_samples={len(features)}: at least two samples are needed")
        return features

    @property
    def _gaps(self) -> Gaps | None:
        """The gaps of the features, if there are any."""
        gaps = None if self._preparation is None else self._preparation.gaps
        return gaps if gaps is not None and gaps.any else None

    def _fit_pool(self, rows: Any, seeds: NDArray[np.int64], total: int | None = None) -> Pool:
        """Prepare rows in memory, choose the number of clusters, and make the members.

        The members have their own seed, so that they are the same whether k is given or chosen. The
        rows may be a sample of ``total`` rows.
        """
        self._base = self._prepared(rows, np.random.default_rng(seeds[0]), total)
        self._features = self._base
        if self._drawn is not None:
            self._features = self._complete(self._base)[self._drawn.sample]
            # too little memory for the search is refused before any member is made
            NearestPoints.check(self._drawn.count, self._features.shape[1])
        self._n_clusters = self._chosen_n_clusters(np.random.default_rng(seeds[1]))
        pool = self._make_members(seeds[0])
        self._border = self._shows_border(pool, np.random.default_rng(seeds[0]))
        if self._border:
            pool = self._make_members(seeds[0])
        return pool if self._drawn is None else self._with_prototypes(pool)

    def _complete(self, X: Any) -> Any:
        # prototypes have no gaps
        return X if self._gaps is None or X is not self._base else self._gaps.filled_by_mean(X)

    def _chosen_n_clusters(self, rng: np.random.Generator) -> int | None:
        """The given number of clusters, or the one that is recommended."""
        if not isinstance(self.n_clusters, str | tuple):
            # Other methods test for the type int, and numpy's integers are not of this type.
            return None if self.n_clusters is None else int(self.n_clusters)
        self.selection_: Selection = self._choose(self._features, rng)
        _warn_of_choice(self.selection_)
        return self.selection_.recommended

    def _choose(self, X: Any, rng: np.random.Generator) -> Selection:
        """The comparison of numbers of clusters, on members of many sizes."""
        from coterie.select.compare import MAX_FITTED, Plan, choose, not_fitted, planned, select

        complete = self._complete(X)
        ks: Any = self.n_clusters
        if isinstance(ks, tuple):
            low, high = ks
            ks = range(low, max(low, min(high, X.shape[0])) + 1)
        n_members = max(CHOOSING_MEMBERS, self.n_members)
        plan = Plan(n_jobs=self.n_jobs)
        steps = planned(complete, ks, n_members, plan, self._progress(CHOOSING))
        choice, compared = choose(complete, ks, steps)
        member_rng = np.random.default_rng(child_seeds(rng, 1)[0])
        # other generators may not predict, or are meant for few rows
        fits_part = self.generator in ("auto", "kmeans")
        aside = not_fitted(X.shape[0], member_rng) if fits_part else None
        n_fitted = min(X.shape[0], MAX_FITTED) if fits_part else X.shape[0]
        with self._explained_rows():
            members = make_pool(
                complete,
                self.generator,
                n_members,
                self.member_clusters or (2, max(2 * int(compared.max()), int(np.sqrt(n_fitted)))),
                member_rng,
                self.n_jobs,
                steps.after_member,
                aside=aside,
                share=self.share,
                clusterer=self.clusterer,
            ).ensemble()
        return select(members, compared, plan, rng, steps, choice=choice)

    @contextmanager
    def _following(self) -> Iterator[None]:
        """Hand the steps of the fit to the user's callback, or to a progress bar that ends with them."""
        try:
            with following(self.callback) as self._callback:
                yield
        finally:
            self.__dict__.pop("_callback", None)

    def _progress(self, stage: str) -> Progress | None:
        """A callback that adds the stage; None without a callback."""
        callback = self._callback
        if callback is None:
            return None
        return lambda done, total: callback(done, total, stage)

    @property
    def _takes_few_clusters(self) -> bool:
        """Whether the members have as many clusters as the consensus, unless they cut across a border."""
        return self.generator in ("auto", "kmeans") and self.member_clusters is None

    def _shows_border(self, pool: Pool, rng: np.random.Generator) -> bool | None:
        """Whether many small clusters show a border that the members cut across; None if unsure."""
        if self._n_clusters is None or not self._takes_few_clusters:
            return False
        X = self._complete(self._features)
        return shows_border(X, pool.ensemble(), self._n_clusters, rng, self.n_jobs)

    def _make_members(self, seed: int, aside: NDArray[np.bool_] | None = None) -> Pool:
        """The members, fitted without the samples set aside."""
        rows, gaps, member_rows = self._base, self._gaps, None
        drawn, aside_sample = self._drawn, aside
        if drawn is not None:
            if aside is not None:
                aside_sample, aside = aside[drawn.sample_rows], aside[drawn.base]
            member_rows = MEMBER_ROWS
            if not self._can_label:
                # they are fitted on the prototypes themselves
                rows, gaps, member_rows = self._features, None, None
        with self._explained_rows():
            pool = make_pool(
                rows,
                self.generator,
                self.n_members,
                self._member_clusters(self._n_clusters, self._rows_for_sizes),
                np.random.default_rng(seed),
                self.n_jobs,
                self._progress(MAKING),
                gaps=gaps,
                aside=aside,
                label_aside=self.outliers == "assign" and drawn is None,
                share=self.share,
                clusterer=self.clusterer,
                member_rows=member_rows,
            )
        pool = replace(pool, prepare=self._preparation)
        if member_rows is None:
            return pool
        pool = replace(pool, labels=pool.predict(self._features))
        if aside_sample is not None and self.outliers == "noise":
            pool.labels[aside_sample] = -1
        return pool

    @contextmanager
    def _explained_rows(self) -> Iterator[None]:
        """Name the parameter that asks for more clusters than X has distinct rows."""
        try:
            yield
        except TooFewRows as error:
            reason = error.reason
            if error.constant:
                advice = f"{reason}; check how X was made"
            elif self.member_clusters is not None:
                advice = f"member_clusters is {self.member_clusters!r}, but {reason}; lower it"
            else:
                advice = f"n_clusters is {self.n_clusters!r}, but {reason}; ask for fewer clusters"
            raise ParameterError(f"{type(self).__name__}: {advice}") from None

    def _member_clusters(self, n_clusters: int | None, n: int) -> ClusterCount:
        if self.member_clusters is not None:
            return self.member_clusters
        if n_clusters is None:
            return "sqrt"
        if n_clusters == 1:
            return 2, max(20, int(np.sqrt(n)))
        if getattr(self, "_border", False):
            return many_clusters(n_clusters, n)
        if self._takes_few_clusters:
            return n_clusters
        return min(n_clusters, n), max(2 * n_clusters, int(np.sqrt(n)), 2)

    def _combined(
        self, source: FeatureSource, pool: Pool, seeds: NDArray[np.int64]
    ) -> tuple[Ensemble, LabelConsensus]:
        """The members as an ensemble, and the solver fitted on it."""
        ensemble = source.ensemble(pool)
        method = self.solver
        if method is None:
            method = default_method(self._n_clusters, ensemble.n_microclusters)
        solver = configured(method, self._n_clusters, np.random.default_rng(seeds[2]))
        with warnings.catch_warnings():
            if hasattr(self, "selection_") and self._n_clusters == 1:
                # The user has just been warned that there is one cluster only.
                warnings.simplefilter("ignore", ConvergenceWarning)
            return ensemble, solver.fit(ensemble)

    def _without_outliers(
        self,
        source: InMemory,
        pool: Pool,
        ensemble: Ensemble,
        solver: LabelConsensus,
        seeds: NDArray[np.int64],
    ) -> tuple[Pool, Ensemble, LabelConsensus]:
        """Set samples in small clusters aside and fit the members again, until no cluster is small.

        Returns the first fit if too many samples would be set aside, or small clusters remain.
        """
        n = ensemble.n_samples
        self.set_aside_ = np.zeros(n, dtype=bool)
        least = max(2, int(np.ceil(SMALL_SHARE * n)))
        if self.min_cluster_size != "auto":
            least = self.min_cluster_size or 1
        if self._n_clusters is None:
            self._refuse_noise("a number of clusters", "set {n_clusters}")
            return pool, ensemble, solver
        if unable := pool.cannot_predict():
            self._refuse_noise(
                f"members that can label rows they were not fitted on, which {unable[0]} cannot",
                "use another {generator}",
            )
            return pool, ensemble, solver
        first = pool, ensemble, solver
        aside = self.set_aside_
        for _ in range(MAX_ROUNDS):
            clusters = np.maximum(solver.labels_, 0)
            small = (solver.labels_ >= 0) & (np.bincount(clusters)[clusters] < least)
            if not small.any():
                self.set_aside_ = aside
                return pool, ensemble, solver
            aside = aside | small
            if aside.sum() > MAX_ASIDE * n:
                warnings.warn(
                    f"{type(self).__name__}: with min_cluster_size={least}, "
                    f"{percent(aside.sum() / n)} of the samples would be outliers, so smaller clusters are "
                    "kept; lower min_cluster_size or n_clusters",
                    UserWarning,
                    stacklevel=3,
                )
                break
            try:
                again = self._make_members(seeds[0], aside)
                pool = again if self._drawn is None else self._relabelled(pool, again)
                ensemble, solver = self._combined(source, pool, seeds)
            except ParameterError:
                # too few distinct rows are left
                break
        return first

    def _refuse_noise(self, needed: str, advice: str) -> None:
        """Raise ParameterError if outliers should be labelled as noise, but cannot be set aside."""
        if self.outliers == "noise":
            raise ParameterError(
                f"{type(self).__name__}: labelling outliers as noise needs {needed}",
                f"{advice}, or leave out {{outliers}}",
            )

    def _verdict(
        self, pool: Pool, ensemble: Ensemble, solver: LabelConsensus, rng: np.random.Generator
    ) -> Verdict:
        n_clusters = solver.n_clusters_
        if n_clusters == 1:
            chosen = hasattr(self, "selection_") and not self.selection_.structure
            return Verdict.of_one_cluster("No separate clusters were found." if chosen else "")
        groups = [plan.group for plan in pool.plans]
        agreement = expected_agreement(ensemble, solver.partition_of, rng, groups=groups)
        doubts = [size_doubt(solver.cluster_votes_)]
        noise = self.outliers == "noise"
        remarks = [] if noise else solver.cluster_votes_.remarks()
        X = self._complete(self._features)
        doubts += [column_doubt(X, self._column_names())]
        if hasattr(self, "set_aside_"):
            kept, labels = ~self.set_aside_, solver.labels_
            if self._drawn is not None:
                rows = self._drawn.sample_rows
                kept, labels = kept[rows], labels[rows]
        else:
            # of rows in partitions, only a sample is in memory
            kept = np.ones(X.shape[0], dtype=bool)
            labels = clusters_of_rows(ensemble, solver.cluster_votes_.labels, pool.predict(X))
        if self._takes_few_clusters and not self._border:
            # outliers would widen the cloud
            slices = cloud_doubt(X[kept], labels[kept], rng)
            if slices and self._border is None:
                slices = (
                    "Members with many small clusters sometimes show a border that the partition cuts "
                    "across, and sometimes not."
                )
            elif slices and self._chosen_for_borders(n_clusters):
                slices = (
                    f"The choice of their number found {n_clusters} separated clusters, but these clusters "
                    "are not better separated than those of a single cloud with the same spread, so they may "
                    "cut across the borders."
                )
            doubts.append(slices)
            if slices is None and hasattr(self, "encoder_"):
                categories = self.encoder_.category_features_
                doubts.append(category_doubt(X[kept], labels[kept], categories, rng))
        if self.prototypes_ is not None:
            remarks.append(str(self.prototypes_))
        if count := int(self.set_aside_.sum()) if hasattr(self, "set_aside_") else 0:
            remarks.append(
                f"{counted(count, 'outlier')} {'was' if count == 1 else 'were'} set aside while the "
                f"members were made{', without a cluster (-1)' if noise else ''}."
            )
        return Verdict.of(agreement, doubts, remarks)

    def _chosen_for_borders(self, n_clusters: int) -> bool:
        """Whether the choice of the number found so many clusters with borders between them."""
        selection: Selection | None = getattr(self, "selection_", None)
        return selection is not None and "borders" in selection.evidence.get(n_clusters, "")

    def _column_names(self) -> list[str] | None:
        if hasattr(self, "encoder_"):
            return [str(name) for name in self.encoder_.get_feature_names_out()]
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]


def _warn_of_choice(selection: Selection) -> None:
    """Warn if one cluster was chosen, or if structure could not be tested."""
    if not selection.structure:
        warnings.warn(
            f"ConsensusClustering: {selection.reason} The partitions into more clusters are in "
            "selection_.labels; the confidence with one cluster is always 1 and carries no information",
            UserWarning,
            stacklevel=7,
        )
    elif not selection.tested:
        warnings.warn(f"ConsensusClustering: {selection.reason}", UserWarning, stacklevel=7)
