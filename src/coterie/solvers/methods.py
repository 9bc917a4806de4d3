"""The methods by name: the one place to change when a method is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from coterie.core.errors import ParameterError
from coterie.core.params import nearest

if TYPE_CHECKING:
    from coterie.solvers.base import LabelConsensus


@dataclass(frozen=True)
class Method:
    """What there is to know of a method before it is imported."""

    name: str
    home: str
    summary: str
    cost: str
    paper: str
    # time and memory by the number N of distinct rows
    scaling: Literal["linear", "quadratic"]
    # takes missing labels as they are
    missing: bool = True
    # a sample of weight two is the sample given twice
    weights: bool = True
    # gives on distinct rows what it gives on samples
    exact: bool = True
    # has a random part, settled by the seed
    random: bool = False
    # the settings that the paper tries: parameter, values
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def load(self) -> type[LabelConsensus]:
        """The estimator."""
        module, _, attribute = self.home.partition(":")
        found: type[LabelConsensus] = getattr(import_module(module), attribute)
        return found

    def settings(self) -> Iterator[dict[str, Any]]:
        """Every combination of the grid's values; one empty setting where there is no grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


# distinct label rows from which on the default must not compare each with each: a gigabyte a matrix
MANY_ROWS = 12_000

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="eac",
            home="coterie.solvers.eac:EAC",
            summary="Evidence accumulation: hierarchical clustering of how often samples meet. "
            "Finds the number of clusters itself, and is the default where -k is left out.",
            cost="O(N^2 m) time, 10 bytes a pair of microclusters",
            paper="A. Fred, A. K. Jain. Combining multiple clusterings using evidence "
            "accumulation. IEEE TPAMI 27, 2005.",
            scaling="quadratic",
        ),
        Method(
            name="spce",
            home="coterie.solvers.spce:SPCE",
            summary="Self-paced: learns a graph with as many components as clusters, from the "
            "pairs that members agree on to those they dispute.",
            cost="O(N^2 (m + c)) a pass, 24 bytes a pair of microclusters",
            paper="P. Zhou, L. Du, X. Liu, Y.-D. Shen, M. Fan, X. Li. Self-paced clustering "
            "ensemble. IEEE TNNLS 32, 2021.",
            scaling="quadratic",
            grid={"theta": tuple(k / 10 for k in range(10))},
        ),
        Method(
            name="eccms",
            home="coterie.solvers.ec_cms:ECCMS",
            summary="Enhances the co-association by spreading its confident part, then average "
            "link.",
            cost="O(N^2 b) a pass for blocks of b confident microclusters, 48 bytes a pair",
            paper="Y. Jia, S. Tao, R. Wang, Y. Wang. Ensemble clustering via co-association matrix "
            "self-enhancement. IEEE TNNLS, 2023.",
            scaling="quadratic",
            grid={"alpha": (0.7, 0.75, 0.8, 0.85, 0.9), "lam": (0.01, 0.1, 0.2, 0.4, 1.0)},
        ),
        Method(
            name="trce",
            home="coterie.solvers.trce:TRCE",
            summary="Robust at three levels: members, samples and the graph are each allowed to "
            "be wrong.",
            cost="O(N^2 (m + c)) a pass, 16 bytes a pair of microclusters",
            paper="P. Zhou, L. Du, Y.-D. Shen, X. Li. Tri-level robust clustering ensemble with "
            "multiple graph learning. AAAI, 2021.",
            scaling="quadratic",
            grid={"lam": tuple(10.0**power for power in range(-5, 6))},
        ),
        Method(
            name="pce",
            home="coterie.solvers.pce:PCE",
            summary="For partial labels: fills in what members did not see while it combines "
            "them. Linear in N.",
            cost="O(N m (c + m) c) a pass",
            paper="P. Zhou, L. Du, X. Liu, Z. Ling, X. Ji, X. Li, Y.-D. Shen. Partial clustering "
            "ensemble. IEEE TKDE, 2023.",
            scaling="linear",
            random=True,
            grid={"gamma": tuple(10.0**power for power in range(-3, 4))},
        ),
        Method(
            name="ceshl",
            home="coterie.solvers.ceshl:CESHL",
            summary="Learns the hypergraph of base clusters itself until it falls into one part "
            "per cluster. Linear in N.",
            cost="O(N k c) a quasi-Newton step, O(N k) memory",
            paper="P. Zhou, X. Wang, L. Du, X. Li. Clustering ensemble via structured hypergraph "
            "learning. Information Fusion 78, 2022.",
            scaling="linear",
            grid={"lam": tuple(10.0**power for power in range(-3, 4))},
        ),
        Method(
            name="lwea",
            home="coterie.solvers.lwea:LWEA",
            summary="Evidence accumulation in which base clusters that the members keep together count "
            "more. The default.",
            cost="O(N^2 m) time, 16 bytes a pair of microclusters",
            paper="D. Huang, C.-D. Wang, J.-H. Lai. Locally weighted ensemble clustering. IEEE "
            "Transactions on Cybernetics 48, 2018.",
            scaling="quadratic",
            grid={"theta": (0.2, 0.4, 0.6, 0.8, 1.0)},
        ),
        Method(
            name="lwgp",
            home="coterie.solvers.lwgp:LWGP",
            summary="Cuts the graph of samples and base clusters, links weighted by reliability. Linear "
            "in N.",
            cost="O(N m^2 + min(k, N)^3) time, O(N m + min(k, N)^2) memory",
            paper="D. Huang, C.-D. Wang, J.-H. Lai. Locally weighted ensemble clustering. IEEE "
            "Transactions on Cybernetics 48, 2018.",
            scaling="linear",
            random=True,
            grid={"theta": (0.2, 0.4, 0.6, 0.8, 1.0)},
        ),
        Method(
            name="usenc",
            home="coterie.solvers.usenc:USENC",
            summary="Transfer cut of the graph of samples and base clusters: for very many samples. "
            "Linear in N.",
            cost="O(N m^2 + min(k, N)^3) time, O(N m + min(k, N)^2) memory",
            paper="D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai, C.-K. Kwoh. Ultra-scalable spectral "
            "clustering and ensemble clustering. IEEE TKDE 32, 2020.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="hbgf",
            home="coterie.solvers.hbgf:HBGF",
            summary="Cuts samples and base clusters as one graph, by eigenvectors or into balanced "
            "parts. Linear in N.",
            cost="O(N m min(k, N) + min(k, N)^3) time, O(N m + min(k, N)^2) memory",
            paper="X. Z. Fern, C. E. Brodley. Solving cluster ensemble problems by bipartite graph "
            "partitioning. ICML, 2004.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="kc",
            home="coterie.solvers.kc:KC",
            summary="k-means on the rows of the co-association matrix, which is not formed unless "
            "labels are missing.",
            cost="O(N m k + k^3) time and O(N k c) a round; 32 bytes a pair with missing labels",
            paper="T. Li, C. Ding. Weighted consensus clustering. SIAM Data Mining, 2008.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="similarity",
            home="coterie.solvers.similarity:SimilarityConsensus",
            summary="Any similarity of the samples, cut in any way: linkage, spectral, transfer cut or "
            "balanced parts.",
            cost="that of the similarity, O(N^2) to O(N^2 c) for the cut; 24 bytes a pair, 72 for metis",
            paper="Methods by their two halves; each half has its own paper.",
            scaling="quadratic",
            random=True,
        ),
        Method(
            name="nmfc",
            home="coterie.solvers.nmfc:NMFC",
            summary="Factors the co-association into non-negative memberships. Linear in N.",
            cost="O(N m c) a pass, some hundred passes a start",
            paper="T. Li, C. Ding, M. I. Jordan. Solving consensus and semi-supervised clustering "
            "problems using nonnegative matrix factorization. ICDM, 2007.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="voting",
            home="coterie.solvers.voting:MajorityVoting",
            summary="Renames every member's clusters to match a reference, then the majority decides.",
            cost="O(N m) a round",
            paper="A. Topchy, M. H. Law, A. K. Jain, A. Fred. Analysis of consensus partition in "
            "cluster ensemble. ICDM, 2004.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="kcc",
            home="coterie.solvers.kcc:KCC",
            summary="k-means on label rows, with a distance for each utility of agreement. Linear in N.",
            cost="O(N m c) a round",
            paper="J. Wu, H. Liu, H. Xiong, J. Cao, J. Chen. K-means-based consensus clustering: a "
            "unified view. IEEE TKDE 27, 2015.",
            scaling="linear",
            random=True,
            grid={"utility": ("U_H", "U_c", "U_cos", "U_Lp"), "normalised": (False, True)},
        ),
        Method(
            name="bce",
            home="coterie.solvers.bce:BCE",
            summary="A mixed-membership model of the label rows, fitted by variational EM. Linear in N.",
            cost="O(N m c) an inner round, some tens a pass",
            paper="H. Wang, H. Shan, A. Banerjee. Bayesian cluster ensembles. Statistical Analysis and "
            "Data Mining 4, 2011.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="sccbg",
            home="coterie.solvers.sccbg:SCCBG",
            summary="Self-paced: learns a graph of samples and base clusters with one part per cluster.",
            cost="O(N q) a sweep for q overlapping pairs of base clusters, O(N k) memory",
            paper="P. Zhou, L. Du, X. Li. Self-paced consensus clustering with bipartite graph. IJCAI, "
            "2020.",
            scaling="linear",
            grid={"gamma": tuple(10.0**power for power in range(-5, 1))},
        ),
        Method(
            name="imvc",
            home="coterie.solvers.imvc:IMVC",
            summary="For partial labels: turns members to a common embedding and fills their missing "
            "rows.",
            cost="O(N m c + N c^2) a pass",
            paper="X. Liu et al. Efficient and effective regularized incomplete multi-view clustering. "
            "IEEE TPAMI 43, 2021.",
            scaling="linear",
            random=True,
            grid={"lam": tuple(2.0**power for power in range(-15, 16, 3))},
        ),
        Method(
            name="osimvc",
            home="coterie.solvers.osimvc:OSIMVC",
            summary="For partial labels: as IMVC, but straight to a partition.",
            cost="O(N m c + N c^2) a pass",
            paper="Y. Zhang et al. One-stage incomplete multi-view clustering via late fusion. ACM MM, "
            "2021.",
            scaling="linear",
            random=True,
            grid={"lam": tuple(2.0**power for power in range(-15, 16))},
        ),
        Method(
            name="pta",
            home="coterie.solvers.pta:PTA",
            summary="Random walks on the strongest links; linkage of where they lead.",
            cost="O(N^2 (m + T K)) time, 40 bytes a pair of microclusters",
            paper="D. Huang, J.-H. Lai, C.-D. Wang. Robust ensemble clustering using probability "
            "trajectories. IEEE TKDE 28, 2016.",
            scaling="quadratic",
            exact=False,
            grid={"linkage": ("average", "complete", "single")},
        ),
        Method(
            name="ptgp",
            home="coterie.solvers.ptgp:PTGP",
            summary="Random walks on the strongest links; cut through the base clusters.",
            cost="O(N^2 (m + T K)) time, 40 bytes a pair of microclusters",
            paper="D. Huang, J.-H. Lai, C.-D. Wang. Robust ensemble clustering using probability "
            "trajectories. IEEE TKDE 28, 2016.",
            scaling="quadratic",
            exact=False,
            random=True,
        ),
        Method(
            name="ecpcs-hc",
            home="coterie.solvers.ecpcs_hc:ECPCSHC",
            summary="Similarity spread among base clusters by random walks, then average link.",
            cost="O(t k^3 + N^2 m) time, 24 bytes a pair of microclusters",
            paper="D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh. Enhanced ensemble clustering via "
            "fast propagation of cluster-wise similarities. IEEE TSMC: Systems 51, 2021.",
            scaling="quadratic",
        ),
        Method(
            name="ecpcs-mc",
            home="coterie.solvers.ecpcs_mc:ECPCSMC",
            summary="Groups base clusters by spread similarity; samples vote. Linear in N.",
            cost="O(N m + t k^3) time, O(N m + k^2) memory",
            paper="D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh. Enhanced ensemble clustering via "
            "fast propagation of cluster-wise similarities. IEEE TSMC: Systems 51, 2021.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="lce",
            home="coterie.solvers.lce:LCE",
            summary="Refines the incidence by links between base clusters, then a spectral cut. Linear "
            "in N.",
            cost="O(k sum k_j^2 + N k min(k, N)) time, O(N k) memory",
            paper="N. Iam-On, T. Boongoen, S. Garrett, C. Price. A link-based approach to the cluster "
            "ensemble problem. IEEE TPAMI 33, 2011.",
            scaling="linear",
            random=True,
            grid={"links": ("triples", "quality")},
        ),
        Method(
            name="cspa",
            home="coterie.solvers.cspa:CSPA",
            summary="Balanced partition of the co-association graph.",
            cost="O(N^2 m) time, 48 bytes a pair of microclusters",
            paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
            "multiple partitions. JMLR 3, 2002.",
            scaling="quadratic",
            exact=False,
            random=True,
        ),
        Method(
            name="hgpa",
            home="coterie.solvers.hgpa:HGPA",
            summary="Balanced partition of the samples that cuts few base clusters. Linear in N.",
            cost="O(N m c) time, O(N m) memory",
            paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
            "multiple partitions. JMLR 3, 2002.",
            scaling="linear",
            exact=False,
            random=True,
        ),
        Method(
            name="mcla",
            home="coterie.solvers.mcla:MCLA",
            summary="Groups like base clusters; each sample joins the group it is most in. Linear in N.",
            cost="O(N m^2 + k^2) time, O(N (m + c) + k^2) memory",
            paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
            "multiple partitions. JMLR 3, 2002.",
            scaling="linear",
            random=True,
        ),
        Method(
            name="drec",
            home="coterie.solvers.drec:DREC",
            summary="Writes every distinct row as a mixture of all of them, odd rows left unexplained, "
            "and cuts the graph of alike mixtures.",
            cost="O(N k q + N^2 q) for incidence of rank q, 32 bytes a pair of microclusters",
            paper="J. Zhou, H. Zheng, L. Pan. Ensemble clustering based on dense representation. "
            "Neurocomputing 357, 2019.",
            scaling="quadratic",
            weights=False,
            exact=False,
            random=True,
            grid={"lam": (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)},
        ),
        Method(
            name="rsec-h",
            home="coterie.solvers.rsec:RSECH",
            summary="Low-rank mixtures of the co-association with column errors, learned with a "
            "spectral partition; labels from that partition.",
            cost="O(N q^2 + N^2 (j + c)) a pass in the range of rank q, 56 bytes a pair",
            paper="Z. Tao, H. Liu, S. Li, Y. Fu. Robust spectral ensemble clustering. CIKM, 2016.",
            scaling="quadratic",
            random=True,
            grid={"lam1": (0.01, 0.1, 0.5, 1.0), "lam2": (0.01, 0.1, 0.5, 1.0)},
        ),
        Method(
            name="rsec-z",
            home="coterie.solvers.rsec:RSECZ",
            summary="As rsec-h, with labels from the graph of the mixtures.",
            cost="O(N q^2 + N^2 (j + c)) a pass in the range of rank q, 56 bytes a pair",
            paper="Z. Tao, H. Liu, S. Li, Y. Fu. Robust spectral ensemble clustering. CIKM, 2016.",
            scaling="quadratic",
            random=True,
            grid={"lam1": (0.01, 0.1, 0.5, 1.0), "lam2": (0.01, 0.1, 0.5, 1.0)},
        ),
        Method(
            name="rce",
            home="coterie.solvers.rce:RCE",
            summary="Learns how probable it is that pairs belong together: near the members once sparse "
            "errors are taken off, of low rank.",
            cost="O(N^3) a pass whatever the number of members, 104 bytes a pair of microclusters",
            paper="P. Zhou, L. Du, H. Wang, L. Shi, Y.-D. Shen. Learning a robust consensus matrix for "
            "clustering ensemble via Kullback-Leibler divergence minimization. IJCAI, 2015.",
            scaling="quadratic",
            random=True,
            grid={
                "lam1": tuple(10.0**power for power in range(-4, 5)),
                "lam2": tuple(10.0**power for power in range(-4, 5)),
            },
        ),
    )
}


def default_method(n_clusters: int | str | None, n_microclusters: int = 0) -> str:
    """The method that combines where none is named.

    By mean rank over public pools LWEA is second to EC-CMS, which takes some hundred times as long;
    EAC finds the number of clusters itself. LWGP comes next of those whose cost does not grow with
    the square of the distinct label rows. How much memory there is does not matter: the same
    labels have to give the same answer anywhere.
    """
    if n_clusters is None:
        return "eac"
    return "lwea" if n_microclusters <= MANY_ROWS else "lwgp"


def solver_of(given: LabelConsensus | str) -> LabelConsensus:
    """A solver, or the method of that name with its default settings; n_clusters is still to be set."""
    if not isinstance(given, str):
        return given
    make: Any = find_method(given).load()
    solver: LabelConsensus = make(n_clusters=None)
    return solver


def find_method(name: str) -> Method:
    """A method by name; an unknown name gets the known ones and the nearest."""
    if name.lower() in METHODS:
        return METHODS[name.lower()]
    raise ParameterError(
        f"unknown method {name!r}{nearest(name.lower(), METHODS)} (known: {', '.join(METHODS)})"
    )
