"""sbom.py WHEEL FILE: what a wheel of `make dist` is made of, as a CycloneDX list: its own files by their digests, the
Python packages that it asks for, and what was compiled or linked into its binaries, with versions.

The same wheel on the same machine gives the same bytes: number and time of the list come from the wheel and
SOURCE_DATE_EPOCH. Runs where `make dist` has run, which knows the versions.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import Message
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

# Debian's packages whose code ends up in the binaries, with their licences. Of hwloc and UCX only types are used.
LINKED = {
    "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgcc-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "nlohmann-json3-dev": "MIT",
    "libasio-dev": "BSL-1.0",
}


def compose(wheel: Path) -> Bom:
    """The list. Raises CalledProcessError where one of Debian's packages is not installed."""
    data = wheel.read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        name = next(it for it in archive.namelist() if it.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(archive.read(name).decode())
        files = [_describe_file(it, archive.read(it)) for it in sorted(archive.namelist())]
    made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), UTC)
    return Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(data).hexdigest()),
        metadata=BomMetaData(component=_describe_wheel(about, data), timestamp=made),
        components=[*files, *_describe_requirements(about), *_describe_linked()],
    )


def _describe_wheel(about: Message, data: bytes) -> Component:
    name, number = str(about["Name"]), str(about["Version"])
    return Component(
        name=name, version=number, type=ComponentType.LIBRARY, bom_ref=name,
        purl=PackageURL("pypi", None, name, number),
        licenses=[LicenseExpression(str(about["License-Expression"]))], hashes=[_digest(data)],
    )  # fmt: skip


def _describe_file(name: str, data: bytes) -> Component:
    return Component(name=name, type=ComponentType.FILE, bom_ref=f"file:{name}", hashes=[_digest(data)])


def _describe_requirements(about: Message) -> Iterator[Component]:
    """What pip installs beside it; the version is a range, so none is named. Extras are optional."""
    for text in about.get_all("Requires-Dist") or []:
        name = re.split(r"[^A-Za-z0-9._-]", text)[0]
        scope = ComponentScope.OPTIONAL if "extra ==" in text else ComponentScope.REQUIRED
        yield Component(
            name=name, type=ComponentType.LIBRARY, bom_ref=f"pypi:{name}", description=text, scope=scope,
            purl=PackageURL("pypi", None, name),
        )  # fmt: skip


def _describe_linked() -> Iterator[Component]:
    yield Component(
        name="nanobind", version=version("nanobind"), type=ComponentType.LIBRARY, bom_ref="linked:nanobind",
        purl=PackageURL("pypi", None, "nanobind", version("nanobind")), licenses=[LicenseExpression("BSD-3-Clause")],
    )  # fmt: skip
    for name, terms in LINKED.items():
        number = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True
        ).stdout
        yield Component(
            name=name, version=number, type=ComponentType.LIBRARY, bom_ref=f"linked:{name}",
            purl=PackageURL("deb", "debian", name, number), licenses=[LicenseExpression(terms)],
        )  # fmt: skip


def _digest(data: bytes) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Path(sys.argv[2]).write_text(JsonV1Dot6(compose(Path(sys.argv[1]))).output_as_string(indent=2), encoding="utf-8")
