"""Sphinx's settings. Sources are the repository's own pages where they lie, so that links are the same here and there.

`make docs` runs it as: sphinx-build -W -c docs/site . build/docs
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "packaging")]

import generated  # noqa: E402
import outside  # noqa: E402

import espalier  # noqa: E402

project = "Espalier"
author = "The Espalier authors"
project_copyright = author
version = release = espalier.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["*.md", "bench/METHOD.md", "docs/**.md", "src/*/README.md"]
exclude_patterns = [".*", "build", "dist", "tests", "python", "bench/[!M]*", "**/.*"]
html_additional_pages = {"index": "start.html"}
templates_path = ["templates"]

source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_url_schemes = ["http", "https", "mailto"]
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "code"
smartquotes = False  # options begin with two hyphens
highlight_language = "none"  # many blocks are drawings; those that are code say so

html_theme = "furo"
html_title = f"Espalier {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"


def setup(app: Any) -> dict[str, bool]:
    """Adds what is made from the program itself, and what becomes of links to files that are no pages."""
    generated.setup(app)
    outside.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
