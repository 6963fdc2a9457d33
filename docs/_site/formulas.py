"""Formulas between dollars, drawn as outlines: they need no network, no fonts and no script."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from sphinx.application import Sphinx

_SIZE = 10.0  # of a letter m, in the units of the drawing
_FONT = FontProperties(math_fontfamily="stix")
_STEPS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


@cache
def _drawn(formula: str, size: float) -> str:
    """Return a formula as SVG that stands on the line of the text beside it."""
    path = TextPath((0, 0), f"${formula}$", size=_SIZE, prop=_FONT)
    box = path.get_extents()
    steps = []
    for points, code in path.iter_segments(simplify=False, curves=True):
        ends = points.reshape(-1, 2) * (1, -1)  # upwards is negative in SVG
        numbers = " ".join(f"{x:.2f},{y:.2f}" for x, y in ends)
        steps.append("Z" if code == Path.CLOSEPOLY else f"{_STEPS[code]}{numbers}")
    scale = size / _SIZE
    return (
        f'<svg role="img" aria-label="{escape(formula)}" fill="currentColor" '
        f'viewBox="{box.x0:.2f} {-box.y1:.2f} {box.width:.2f} {box.height:.2f}" '
        f'style="width:{box.width * scale:.3f}em;max-width:100%;height:auto;'
        f'vertical-align:{box.y0 * scale:.3f}em;margin:0 .05em"><path d="{"".join(steps)}"/></svg>'
    )


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_drawn(_plain(node), 1.1))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    drawn = _drawn(_plain(node), 1.2)
    translator.body.append(f'<p style="text-align:center;margin:1em 0">{drawn}</p>')
    raise nodes.SkipNode


def _plain(node: nodes.Element) -> str:
    return " ".join(node.astext().split())


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the renderer known to Sphinx, as html_math_renderer = "outlines"."""
    app.add_html_math_renderer("outlines", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
