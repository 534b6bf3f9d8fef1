"""Install one commit into asv's environment: copy its two files, and let it see the packages of another interpreter.

python asv_install.py TREE SITE_PACKAGES...
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Copy, and write the search path."""
    tree, *others = sys.argv[1:]
    here = Path(sysconfig.get_path("purelib"))
    for name in ("kernels.py", "spins.json"):
        shutil.copy(Path(tree) / name, here / name)
    (here / "others.pth").write_text("\n".join(others) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
