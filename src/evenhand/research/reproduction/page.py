"""The reproduction as one page: nothing is loaded from anywhere, pictures and all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from importlib.metadata import version

from evenhand.report.document import inline_svg
from evenhand.report.document import page as whole_page
from evenhand.research.reproduction.figures import PICTURES, Picture
from evenhand.research.reproduction.measurements import Measurements
from evenhand.research.reproduction.statements import Statement

_TITLE = "The price of unfairness, reproduced"
_STYLE = """
:root { color-scheme: light; --ink: #222; --faint: #6b6b6b; --rule: #e2e2e2; }
body { font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: var(--ink);
  background: #fff; max-width: 60rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.8rem 0 .6rem; }
p.lead, footer { color: var(--faint); }
table { border-collapse: collapse; width: 100%; font-size: .88rem; line-height: 1.45; }
th, td { text-align: left; vertical-align: top; padding: .5rem .9rem .5rem 0;
  border-bottom: 1px solid var(--rule); }
th { color: var(--faint); font-weight: 600; }
td:first-child { font-weight: 600; min-width: 8.5rem; }
td:last-child { white-space: nowrap; padding-right: 0; }
.holds { color: #00684a; font-weight: 600; }
.fails { color: #b3261e; font-weight: 600; }
figure { margin: 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .92rem; }
figcaption dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .15rem .8rem;
  margin: .8rem 0; }
figcaption dt { color: var(--faint); } figcaption dd { margin: 0; }
figcaption dt.source { grid-column: 1 / -1; color: var(--ink); font-weight: 600;
  margin-top: .5rem; }
code { font-size: .9em; } sub, sup { line-height: 0; }
@media (max-width: 40rem) { td, th { padding-right: .5rem; } }
"""


def page(
    found: Measurements, rows: tuple[Statement, ...], drawings: Mapping[str, str], command: str
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    found
        What was measured.
    rows
        The statements.
    drawings
        SVG of every picture, by its name.
    command
        What to type to get this page again.
    """
    n_hold = sum(row.holds for row in rows)
    verdict = "All" if n_hold == len(rows) else f"{n_hold} of"
    sections = "\n".join(
        _section(number, picture, rows, drawings[picture.name])
        for number, picture in enumerate(PICTURES, 1)
    )
    table = "\n".join(map(_row, rows))
    body = f"""<h1>{_TITLE}</h1>
<p class="lead">Every theorem of S. Gaucher, A. Carpentier and C. Giraud, <i>The price of
unfairness in linear bandits with biased feedback</i>, and the lemmas behind them, run with evenhand
{escape(version("evenhand"))}. {verdict} {len(rows)} statements hold in what was measured.</p>
<table>
<thead><tr><th>Statement</th><th>The paper claims</th><th>Measured</th><th>Verdict</th></tr></thead>
<tbody>
{table}
</tbody>
</table>
{sections}
<h2>How it was run</h2>
<p>Regret is counted with true values; the noise is Gaussian with standard deviation 1, and δ = 1/T
unless said otherwise. F is the event that some estimate of a run is off by the precision
ε<sub>l</sub> of its phase or more. Limits are drawn with the constants that their proofs give.
Replication <i>i</i> sees the same noise for all policies; all randomness comes from seed
{found.seed}, so the same command gives the same page:</p>
<p><code>{escape(command)}</code></p>
<footer>{_size(found)}</footer>
"""
    return whole_page(_TITLE, body, _STYLE)


def _row(row: Statement) -> str:
    kind = "holds" if row.holds else "fails"
    return (
        f"<tr><td>{_symbols(row.source)}</td><td>{_symbols(row.claim)}</td>"
        f'<td>{_symbols(row.measured)}</td><td class="{kind}">{escape(row.verdict)}</td></tr>'
    )


def _section(number: int, picture: Picture, rows: tuple[Statement, ...], drawing: str) -> str:
    said = "\n".join(
        f'<dt class="source">{_symbols(row.source)}</dt>'
        f"<dt>Claimed</dt><dd>{_symbols(row.claim)}</dd>"
        f"<dt>Measured</dt><dd>{_symbols(row.measured)}</dd>"
        for row in picture.caption(rows)
    )
    return f"""<section>
<h2>{number}. {escape(picture.title)}</h2>
<figure>
{inline_svg(drawing, picture.name, picture.title)}
<figcaption>{escape(picture.note)}
<dl>
{said}
</dl>
</figcaption>
</figure>
</section>"""


def _symbols(text: str) -> str:
    """Return text with its subscripts and powers as a reader expects them.

    Examples
    --------
    >>> _symbols("κ_*^(1/3) ≤ ε_(l+1)")
    'κ<sub>*</sub><sup>1/3</sup> ≤ ε<sub>l+1</sub>'
    """
    text = escape(text)
    # U+0302 is the hat of Δ̂
    text = re.sub(r"(?<=[κΔεμ\u0302])_(\(([^)]*)\)|\*|≠|min|l)", _subscript, text)
    return re.sub(r"\^\(([^)]*)\)", r"<sup>\1</sup>", text)


def _subscript(match: re.Match[str]) -> str:
    return f"<sub>{match[2] or match[1]}</sub>"


def _size(found: Measurements) -> str:
    """Say how much was run."""
    plan = found.programme
    audited = sum(audit.runs for _, audit in (*found.lemmas, *found.failures))
    return (
        f"{plan.rate_in_horizon.replications:,} runs per problem and horizon in figure 1, "
        f"{plan.rate_in_kappa.replications:,} in 2, {plan.growth.replications:,} in 3, "
        f"{plan.transition.replications:,} in 4, {plan.blindness.replications:,} in 7; "
        f"{audited:,} runs looked into step by step in 5 and 6."
    )
