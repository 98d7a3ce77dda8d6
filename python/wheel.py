"""Builds the package's wheel (PEP 517). The same sources give the same bytes."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
VERSION = re.search(r'^__version__ = "(.+)"$', (SOURCES / "tapc/__init__.py").read_text(), re.M).group(1)
INFO = f"tapc-{VERSION}.dist-info"

METADATA = f"""Metadata-Version: 2.1
Name: tapc
Version: {VERSION}
Summary: Compile tensor programs with tapc, and run them on NumPy arrays
Requires-Python: >=3.9
Requires-Dist: numpy>=1.23
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

"""
WHEEL = "Wheel-Version: 1.0\nGenerator: tapc\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    files = {str(f.relative_to(SOURCES)): f.read_bytes() for f in sorted((SOURCES / "tapc").iterdir()) if f.suffix in (".py", ".typed")}
    files[f"{INFO}/METADATA"] = METADATA.encode() + (HERE / "README.md").read_bytes()
    files[f"{INFO}/WHEEL"] = WHEEL.encode()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{INFO}/RECORD"] = f"{record}{INFO}/RECORD,,\n".encode()
    path = f"tapc-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return path


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    raise NotImplementedError("the sources are those of the repository")
