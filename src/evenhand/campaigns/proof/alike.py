"""Whether evaluators favour their own by as much as each other (docs/people.md).

Notation
--------
R_0, m_0    residual sum of squares and rank with one bias for all;  R_1, m_1 with one for each
n           answers

(R_0 − R_1)/(m_1 − m_0) over R_1/(n − m_1) is F if they are alike; over σ², where that is known, χ².
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse, special

from evenhand.campaigns.proof.asked import Asked
from evenhand.campaigns.proof.planned import Planned, planned_fit
from evenhand.campaigns.proof.record import Record
from evenhand.campaigns.proof.squares import Fit, Sums

_RARE = 0.01


def differ(record: Record, run: Planned) -> bool:
    """Tell whether a choice rests on biases being alike that are seen not to be."""
    asked = record.asked
    apart = with_own_biases(asked)
    told = record.sums_of(run.told)
    if not run.over or apart is None or not told.counts.any():
        return False
    if _chance(asked, apart, told, run.known) >= _RARE:
        return False
    D = apart.span.coordinates(apart.options[:1] - apart.options[1:])
    if not apart.span.has(apart.options[:1] - apart.options[1:]).all() or not D.size:
        return True  # values cannot be told from such biases
    other = planned_fit(run, apart)
    fit = Fit.of(apart, told, run.known)
    if run.answer is None or other.leader(fit, told) != run.answer:
        return True
    winner = other.winner(fit, run.answer)
    return bool(float(winner.chances(-run.slack).max(initial=0.0)) >= run.delta)


def with_own_biases(asked: Asked) -> Asked | None:
    """Return the questions with a bias for each evaluator; None if nobody shares one."""
    d, rows = asked.n_features, asked.rows.tocsc()
    columns, parts = [], []
    for j, column in enumerate(asked.columns):
        entries = rows[:, [d + j]]
        (used,) = np.nonzero(entries.toarray().reshape(-1))
        who = np.unique(asked.evaluator[used])
        if column["kind"] != "bias" or column.get("evaluator") or not len(who) or who[0] < 0:
            columns.append(column)
            parts.append(entries)
            continue
        for e in who.tolist():
            name = asked.evaluators[e]
            columns.append({**column, "name": f"{column['name']} of {name}", "evaluator": name})
            parts.append(sparse.csc_array(entries.multiply((asked.evaluator == e)[:, None])))
    if len(columns) == len(asked.columns):
        return None
    options = np.zeros((len(asked.options), d + len(columns)))
    options[:, :d] = asked.options[:, :d]
    stacked = sparse.csr_array(sparse.hstack([rows[:, :d], *parts], format="csr"))
    return replace(asked, rows=stacked, columns=tuple(columns), options=options)


def _chance(asked: Asked, apart: Asked, told: Sums, known: bool) -> float:
    """Return how probable such a difference is by chance; 1 where nothing tells."""
    one, each = (Fit.of(model, told, False) for model in (asked, apart))
    more, gained = each.rank - one.rank, max(one.scatter - each.scatter, 0.0)
    if more <= 0:
        return 1.0
    if known:
        return float(special.chdtrc(more, gained))
    if each.freedom < 1.0 or each.scatter <= 1e-24 * each.size:
        return 1.0
    return float(special.fdtrc(more, each.freedom, gained / more / (each.scatter / each.freedom)))
