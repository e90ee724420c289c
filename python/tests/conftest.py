"""What the tests share: the program beside the package, and a seeded source of inputs."""

import os
import subprocess

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def program():
    """Runs the command line; its output, or what it says on stderr where it fails."""
    path = os.environ.get("SOTTO")
    if not path:
        pytest.skip("SOTTO does not name the program")

    def run(*arguments, **options):
        return subprocess.run([path, *map(str, arguments)], capture_output=True, timeout=120,
                              **options)

    return run
