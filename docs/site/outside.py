"""Links of pages to files of the repository that are no pages: the site has no copy of sources, so they become text.

Links to data and pictures stay: Sphinx copies those. A link to a file that does not exist stays, too, for Sphinx to
complain about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

# What is worth a copy.
_DATA = {".csv", ".json", ".svg", ".png"}


def setup(app: Any) -> None:
    app.connect("doctree-read", unlink)


def unlink(app: Any, doctree: nodes.document) -> None:
    """Replaces a link to a source file, or to a folder, by its text."""
    page = Path(app.env.doc2path(app.env.docname)).parent
    for link in list(doctree.findall(nodes.Element)):
        if not isinstance(link, (addnodes.pending_xref, addnodes.download_reference)):
            continue
        target = str(link.get("reftarget", "")).split("#")[0]
        file = page / target
        if target and file.suffix not in _DATA and file.suffix != ".md" and file.exists():
            link.replace_self(nodes.inline("", "", *link.children))
