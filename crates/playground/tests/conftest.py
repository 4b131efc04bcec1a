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


def fits(browser, width: int, theme: str, css: str, but: str | None = None) -> None:
    """The page is in this theme and no wider than its window, nor is anything of `css`, apart
    from what stands in `but`."""
    assert browser.run("return document.documentElement.dataset.theme;") == theme
    scroll, inner = browser.run("return [document.documentElement.scrollWidth, innerWidth];")
    assert scroll <= inner == width
    script = """
        const [css, but] = arguments;
        return [...document.querySelectorAll(css)]
            .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
            .filter((node) => !but || !node.closest(but))
            .map((node) => node.outerHTML.slice(0, 80));
    """
    assert browser.run(script, css, but) == []
