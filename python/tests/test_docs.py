"""The examples of docs/guides/python.md run, in one session and in their order."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sotto
from sotto import _train

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not _train.has_torch, reason="built without LibTorch")
def test_the_page_runs(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    page = (ROOT / "docs" / "guides" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) >= 5
    shutil.copytree(ROOT / "recipes", tmp_path / "recipes")
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    package = Path(sotto.__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-B", "page.py"], cwd=tmp_path, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(package),
                                          "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
