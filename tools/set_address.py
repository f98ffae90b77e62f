"""Write the address of the repository into pyproject.toml, and make the links of the README whole with it.

python tools/set_address.py https://HOST/OWNER/NAME

PyPI shows the README away from its files, so its links and pictures need the address there. It has one home,
`Source` of `[project.urls]`; a second call with another address changes both.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"https://[\w.-]+/[\w.-]+/[\w.-]*[\w-]")
LINK = re.compile(r"(!?)(\[[^]]*\])\(([^)#\s]+)([^)]*)\)")


def stated_address(pyproject: str) -> str | None:
    """Return the address that pyproject.toml has, or None."""
    address = tomllib.loads(pyproject)["project"].get("urls", {}).get("Source")
    return None if address is None else str(address)


def with_address(pyproject: str, address: str) -> str:
    """Return pyproject.toml with this address."""
    if stated_address(pyproject) is not None:
        return re.sub(r'^Source = ".*"$', f'Source = "{address}"', pyproject, flags=re.MULTILINE)
    return pyproject.replace("[project.scripts]", f'[project.urls]\nSource = "{address}"\n\n[project.scripts]', 1)


def with_whole_links(readme: str, address: str, before: str | None = None) -> str:
    """Return the README with this address in front of every link to a file, in place of the one before."""

    def whole(link: re.Match[str]) -> str:
        picture, text, target, rest = link.groups()
        for kind in ("blob", "raw"):
            target = target.removeprefix(f"{before}/{kind}/main/")
        if "://" not in target:
            target = f"{address}/{'raw' if picture else 'blob'}/main/{target}"
        return f"{picture}{text}({target}{rest})"

    return LINK.sub(whole, readme)


def main() -> None:
    if len(sys.argv) != 2 or not ADDRESS.fullmatch(sys.argv[1]):
        raise SystemExit(__doc__)
    address = sys.argv[1]
    pyproject, readme = ROOT / "pyproject.toml", ROOT / "README.md"
    settings = pyproject.read_text(encoding="utf-8")
    links = with_whole_links(readme.read_text(encoding="utf-8"), address, stated_address(settings))
    pyproject.write_text(with_address(settings, address), encoding="utf-8")
    readme.write_text(links, encoding="utf-8")


if __name__ == "__main__":
    main()
