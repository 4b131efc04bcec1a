"""The page on a server of this machine, and a browser."""

import functools
import http.server
import os
import pathlib
import threading

import pytest
from webdriver import Browser

ROOT = pathlib.Path(__file__).resolve().parents[3]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files, and nothing said of them."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def site():
    """Where the page is served."""
    folder = TARGET / "playground"
    assert (folder / "sojourn.wasm").exists(), f"{folder} is not built: make playground"
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    """The same with nothing open, whose console must stay silent."""
    chromium.go("about:blank")
    chromium.size(1440, 900)
    chromium.complaints()
    yield chromium
    assert chromium.complaints() == []


@pytest.fixture(scope="session")
def program():
    """The native program."""
    path = TARGET / "debug" / "sojourn"
    assert path.exists(), f"{path} is not built: cargo build -p sojourn-cli"
    return path
