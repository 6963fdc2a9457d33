"""How the documentation site is built; `make docs` runs it, and a warning is an error."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "evenhand"
author = "The evenhand developers"
copyright = author
release = version = version_of("evenhand")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "commands",
    "docstrings",
    "formulas",
]
exclude_patterns = ["package.md", "_site"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "dollarmath"]

default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
add_module_names = False
python_maximum_signature_line_length = 80
smartquotes = False

html_theme = "furo"
html_math_renderer = "outlines"
html_title = f"evenhand {release}"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
