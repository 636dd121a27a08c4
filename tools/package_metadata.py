"""What a build adds to the package's metadata: where the project is, and a README whose links work on PyPI.

Hatchling calls the hook in an environment of its own, also from an sdist. The README's links are paths within the
repository; PyPI shows it alone, so they become addresses there, of the release's own tag. SANDBOX_GYM_REPOSITORY names
another repository, such as a fork's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY: Final = "https://github.com/sandbox-gym/sandbox-gym"
_LINK: Final = re.compile(r"(!?\[[^\]]*\]\()([^):#\s]+)([^)\s]*\))")
_VERSION: Final = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


class PackageMetadata(MetadataHookInterface):
    """`readme` and `urls`, which pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, object]) -> None:
        root = Path(self.root)
        found = _VERSION.search((root / "sandbox_gym" / "__init__.py").read_text("utf-8"))
        if found is None:
            raise ValueError("sandbox_gym/__init__.py has no __version__")
        repository = os.environ.get("SANDBOX_GYM_REPOSITORY", "").rstrip("/") or REPOSITORY
        tag = f"v{found[1]}"
        text = with_addresses((root / "README.md").read_text("utf-8"), repository, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = {
            "Homepage": repository,
            "Documentation": f"{repository}/blob/{tag}/docs/index.md",
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        }


def with_addresses(text: str, repository: str, tag: str) -> str:
    """The Markdown with an address for each link to a file of the repository; pictures as they are, not as pages."""

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}{repository}/{kind}/{tag}/{found[2]}{found[3]}"

    return _LINK.sub(absolute, text)
