"""Tell whether a network, or the limit of a flow, is a KKT point or the global optimum of the max-margin problem."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from .._validation import invalid, positive
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import one_target_of
from ..datasets._bias import about_columns, bare_inputs
from ..flow import TwoLayerSolution
from ..layered._problem import ArrayData
from ..layered._refused import refuse_layers
from ..losses import LossName, ReductionName
from ..networks import Network
from ..networks._parts import one_output
from ._bounds import DualNorm, dual_norm
from ._certificate import Certificate, MultiClassCertificate, class_parts
from ._certify_fit import certify_fit
from ._certify_outputs import certify_outputs, is_of_outputs
from ._certify_regularised import Tolerances, Training, certify_regularised, training_of
from ._fit_certificate import FitCertificate
from ._inputs import Deadline, check_inputs, row_space
from ._kkt import KKT, kkt
from ._local import Local, local_optimality
from ._mapping import check_net
from ._max_margin import max_margin
from ._output_certificate import OutputCertificate
from ._regularised_certificate import RegularisedCertificate
from ._solution import MaxMarginSolution

KKT_TOL = 1e-8  # of the largest residual, relative
GAP_TOL = 1e-9  # relative gap to the global optimum that counts as none
CLEAR_GAIN = 1e-9  # a norm that is smaller by less than this, relatively, can be rounding where weights are large
SUPPORT_TOL = 1e-7  # margins within this of the least one, relatively, can have a multiplier
WALL_TOL = 1e-8  # |w·x| beside |w||x| that counts as a kink


@overload
def certify(
    solution: Network,
    data: Dataset,
    *,
    weight_decay: None = None,
    loss: None = None,
    reduction: None = None,
    kkt_tol: float = KKT_TOL,
    gap_tol: float = GAP_TOL,
    support_tol: float = SUPPORT_TOL,
    wall_tol: float = WALL_TOL,
    max_seconds: float | None = None,
) -> Certificate: ...


@overload
def certify(
    solution: Network,
    data: Dataset,
    *,
    weight_decay: float,
    loss: LossName,
    reduction: ReductionName | None = None,
    kkt_tol: float = KKT_TOL,
    gap_tol: float = GAP_TOL,
    support_tol: float = SUPPORT_TOL,
    wall_tol: float = WALL_TOL,
    max_seconds: float | None = None,
) -> RegularisedCertificate: ...


@overload
def certify(
    solution: Network,
    data: Dataset,
    *,
    weight_decay: None = None,
    loss: Literal["squared"],
    reduction: ReductionName | None = None,
    kkt_tol: float = KKT_TOL,
    gap_tol: float = GAP_TOL,
    support_tol: float = SUPPORT_TOL,
    wall_tol: float = WALL_TOL,
    max_seconds: float | None = None,
) -> FitCertificate: ...


@overload
def certify(
    solution: Any,
    data: Dataset,
    *,
    weight_decay: float | None = None,
    loss: LossName | None = None,
    reduction: ReductionName | None = None,
    kkt_tol: float = KKT_TOL,
    gap_tol: float = GAP_TOL,
    support_tol: float = SUPPORT_TOL,
    wall_tol: float = WALL_TOL,
    max_seconds: float | None = None,
) -> Any: ...  # what the settings of the solution ask for


@overload
def certify(
    solution: Any,
    data: MultiClassDataset,
    *,
    weight_decay: None = None,
    loss: None = None,
    reduction: None = None,
    kkt_tol: float = KKT_TOL,
    gap_tol: float = GAP_TOL,
    support_tol: float = SUPPORT_TOL,
    wall_tol: float = WALL_TOL,
    max_seconds: float | None = None,
) -> MultiClassCertificate: ...


@overload
def certify(
    solution: TwoLayerSolution | Network,
    data: MultiClassDataset | ArrayData,
    *,
    weight_decay: float | None = None,
    loss: Literal["squared", "cross_entropy"] | None = None,
    reduction: ReductionName | None = None,
    kkt_tol: float = KKT_TOL,
    gap_tol: float = GAP_TOL,
    support_tol: float = SUPPORT_TOL,
    wall_tol: float = WALL_TOL,
    max_seconds: float | None = None,
) -> RegularisedCertificate | OutputCertificate: ...


def certify(
    solution: Any,
    data: Dataset | MultiClassDataset | ArrayData,
    *,
    weight_decay: float | None = None,
    loss: LossName | Literal["cross_entropy"] | None = None,
    reduction: ReductionName | None = None,
    kkt_tol: float = KKT_TOL,
    gap_tol: float = GAP_TOL,
    support_tol: float = SUPPORT_TOL,
    wall_tol: float = WALL_TOL,
    max_seconds: float | None = None,
) -> Certificate | RegularisedCertificate | FitCertificate | MultiClassCertificate | OutputCertificate:
    """Compare a network, or the limit of a flow, with the convex program of its problem.

    Without weight decay that is the max-margin program (with cross-entropy, that of all f_y - f_k), with it the
    regularised one (`convex.regularised`). For the squared loss without it, it is the least loss of all networks, and
    the least norm of those that fit alike.

    Parameters
    ----------
    solution : Network or solution of a flow, or those of K classes
        Of a solution, the network of its limit (``solution.limit.network``) if that is certified or, without weight
        decay and the squared loss, separates the data; else its final state.
    data : Dataset, or MultiClassDataset for K classes
        Or arrays (X, targets) or (X, targets, weights). A sample that counts nothing is left out. What the others count
        does not matter to margins.
    weight_decay, loss, reduction : float and str, optional
        For a network that was trained with weight decay, or with the squared loss; a solution knows its own. The
        reduction is "sum" if it is left out. A network of K outputs needs the loss, "squared" or "cross_entropy".
    kkt_tol, gap_tol : float, optional
        What counts as a KKT point (of an objective: a critical point), and as the global optimum; both relative.
    support_tol, wall_tol : float, optional
        Which margins are least (beside the largest target: which errors none), and which pre-activations zero. A run
        that was stopped early needs larger ones, and has residuals of their size; a polished limit does not. An error
        that is rounding of the terms of its output is none in any case, also where all targets are zero.
    max_seconds : float, optional
        Time limit of the convex program and the search for a way down, each.

    Returns
    -------
    Certificate
        Or `RegularisedCertificate` with weight decay, `FitCertificate` for the squared loss without it,
        `MultiClassCertificate` for K classes, `OutputCertificate` for K outputs without weight decay.

    Raises
    ------
    ValueError
        ``solution`` holds no network, or not one for each class; the dimensions do not agree, a tolerance is not
        positive, a run is asked about another problem than its own, or K classes were trained with weight decay or the
        squared loss.

    Examples
    --------
    The limit in [VSS, Theorem 3.2] is a KKT point with a zero neuron, and no local optimum:

    >>> import reluflow as rf
    >>> data = rf.Dataset([[1, 0.25], [-1, 0.25]], [1, 1])
    >>> certificate = rf.certify(rf.Network([[0, 2], [0, 0]], [2, 0]), data)
    >>> certificate.verdict, round(certificate.value, 6), round(certificate.lower, 6)
    ('kkt_not_global', 4.0, 1.940285)
    >>> certificate.local_optimum, certificate.improvement.value(0.01) < 4
    (False, True)

    With weight decay, a neuron that never sees the second sample ends at a critical point, and at no better one:

    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, 2.0])
    >>> for W in ([[1.0, -0.1]], [[1.0, 0.1]]):
    ...     net = rf.Network(W, [1.0])
    ...     sol = rf.integrate(data, net, until=100, loss="squared", weight_decay=0.5)
    ...     print(rf.certify(sol, data).verdict)
    critical_not_global
    global

    Without it, two neurons that fit one sample each are a fit, but one neuron needs a smaller norm:

    >>> fit = rf.certify(rf.Network([[1.0, 0.0], [0.0, 1.0]], [2.0, 2.0]), data, loss="squared")
    >>> fit.verdict, fit.loss, fit.value, round(fit.lower, 6)
    ('least_loss', 0.0, 4.0, 2.828427)
    """
    tolerances = Tolerances(
        positive(kkt_tol, "kkt_tol"),
        positive(gap_tol, "gap_tol"),
        positive(wall_tol, "wall_tol"),
        positive(support_tol, "support_tol"),
    )
    limit = None if max_seconds is None else positive(max_seconds, "max_seconds")
    if is_of_outputs(solution):
        asked = {"weight_decay": weight_decay, "loss": loss, "reduction": reduction}
        return certify_outputs(solution, data, asked, tolerances, limit)
    if not isinstance(data, MultiClassDataset):
        expected = "a Dataset, (X, y) or (X, y, weights) for one output, or a MultiClassDataset for K networks"
        data = one_target_of(data, getattr(solution, "final", solution), expected=expected)
    parts = class_parts(solution, data) if isinstance(data, MultiClassDataset) else (solution,)
    training = training_of(parts[0], weight_decay, loss, reduction)  # type: ignore[arg-type]  # it checks the loss
    if isinstance(data, MultiClassDataset):
        if training is not None:
            _refuse_classes(training)
        nets = [_network(part, only_certified=False) for part in parts]
        return MultiClassCertificate(
            tuple(_of_margin(net, data.binary(k), tolerances, limit) for k, net in enumerate(nets)), data
        )
    net = _network(solution, only_certified=training is not None)
    if training is not None and not training.weight_decay:
        return certify_fit(net, data, training.reduction, tolerances, limit)
    if training is not None:
        return certify_regularised(net, data, training, tolerances, limit)
    return _of_margin(net, data, tolerances, limit)


def _of_margin(net: Network, data: Dataset, tolerances: Tolerances, max_seconds: float | None) -> Certificate:
    """Compare a network with the max-margin program of the samples that count."""
    used = check_inputs(data).counts > 0
    if not used.all():
        data = Dataset(bare_inputs(data)[used], data.y[used], name=data.name, **about_columns(data))
        pattern = net.pattern
        if pattern is not None and pattern.shape[1] == len(used):
            net = net._with(net.W, net.a, np.ascontiguousarray(pattern[:, used]))
    checked = check_net(net, data)
    q_min = float((checked.y * net(checked.X)).min())
    if q_min <= 0:
        return _not_separating(net, q_min)
    scale = 1 / np.sqrt(q_min)
    scaled = net._with(scale * net.W, scale * net.a, net.pattern)
    found = kkt(scaled, checked, support_tol=tolerances.support, wall_tol=tolerances.boundary)
    return _judged(scaled, checked, found, tolerances.kkt, tolerances.gap, max_seconds)


def _network(solution: Any, only_certified: bool) -> Network:
    """Return the network to judge: a direction that separates can be tried, a critical point has to be certified."""
    refuse_layers(solution, "solution", "sol.limit of layers certifies that it is a KKT point")
    if isinstance(solution, Network):
        one_output(solution, "solution")
        return solution
    limit = getattr(solution, "limit", None)
    if not getattr(limit, "certified", False) and (only_certified or not getattr(limit, "margin", 0.0) > 0.0):
        limit = None
    for candidate in (getattr(limit, "network", None), getattr(solution, "final", None)):
        if isinstance(candidate, Network):
            one_output(candidate, "solution")
            return candidate
    raise invalid("solution", "be a Network or hold one in .limit.network or .final", f"a {type(solution).__name__}")


def _refuse_classes(training: Training) -> None:
    way = "rf.certify(solution[k], data.binary(k)) certifies one of them"
    if training.weight_decay:
        raise invalid("weight_decay", f"be left out for K classes ({way})", repr(training.weight_decay))
    expected = f"be of the logistic or exponential loss for K classes ({way})"
    raise invalid("solution", expected, f"the {training.loss} loss")


def _not_separating(net: Network, q_min: float) -> Certificate:
    message = (
        f"the least margin is {q_min:.6g}: the network does not separate the data, so it cannot be scaled to margin 1"
    )
    nothing = float("inf")
    return Certificate(
        "not_kkt",
        message,
        nothing,
        0.0,
        nothing,
        None,
        nothing,
        nothing,
        None,
        "no margin is positive",
        None,
        None,
        net,
    )


def _judged(
    net: Network, data: Dataset, found: KKT, kkt_tol: float, gap_tol: float, max_seconds: float | None
) -> Certificate:
    value = 0.5 * net.norm**2
    norm = _norm(net, data, found, Deadline(max_seconds))
    lower, upper, convex = 0.0, value, None
    if norm.upper > 0:
        lower = float(data.y @ found.duals) / max(norm.upper, 1.0)
    if (value - lower) / value > gap_tol:
        convex = max_margin(data, leak=net.leak, max_seconds=max_seconds)
        lower, upper = max(lower, convex.lower), min(value, convex.value)
    verdict, message = _verdict(value, lower, upper, found, kkt_tol, gap_tol)
    message += _width_note(verdict, net, convex)
    local = _local(net, data, found, verdict, Deadline(max_seconds))
    return Certificate(
        verdict=verdict,
        message=message,
        value=value,
        lower=lower,
        upper=upper,
        kkt=found,
        dual_norm_lower=norm.lower,
        dual_norm_upper=norm.upper,
        local_optimum=local.optimal,
        local_reason=local.reason,
        improvement=local.improvement,
        convex=convex,
        network=net,
    )


def _norm(net: Network, data: Dataset, found: KKT, deadline: Deadline) -> DualNorm:
    basis = row_space(data.X)
    R = np.ascontiguousarray(data.X @ basis)
    return dual_norm(R, found.duals, net.leak, neurons=net.W @ basis, deadline=deadline)


def _verdict(value: float, lower: float, upper: float, found: KKT, kkt_tol: float, gap_tol: float) -> tuple[str, str]:
    gap, residual = (value - lower) / value, found.residual
    numbers = f"P = {value:.12g}, {lower:.12g} <= P* <= {upper:.12g}, KKT residual {residual:.1e}"
    if gap <= gap_tol:
        return "global", f"{numbers}: the gap {max(gap, 0.0):.1e} is within gap_tol"
    if residual > kkt_tol:
        return "not_kkt", f"{numbers}: the residual exceeds kkt_tol = {kkt_tol:g} for the best multipliers"
    if upper < (1 - max(gap_tol, CLEAR_GAIN)) * value:
        return "kkt_not_global", f"{numbers}: a network of smaller norm has the same margins"
    return "undecided", f"{numbers}: the bounds of P* leave the global optimum open"


def _width_note(verdict: str, net: Network, convex: MaxMarginSolution | None) -> str:
    if verdict != "kkt_not_global" or convex is None or len(convex.neurons) <= net.width:
        return ""
    return f"; that network has {len(convex.neurons)} neurons, this one {net.width}"


def _local(net: Network, data: Dataset, found: KKT, verdict: str, deadline: Deadline) -> Local:
    if verdict == "global":
        return Local(True, "a global optimum is a local one", None)
    if verdict == "not_kkt":
        return Local(False, "a local optimum is a KKT point, and this is none", None)
    return local_optimality(net, data, found, deadline)
