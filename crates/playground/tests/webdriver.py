"""A browser driven by WebDriver (W3C Recommendation, 2018): no more of it than the tests need."""

import base64
import json
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.request

# The name under which an element comes (section 11, "Elements").
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# How long a busy machine may take for what comes.
PATIENCE_S = 300


class Browser:
    """Headless Chromium behind chromedriver."""

    def __init__(self) -> None:
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True
        )
        said = iter(self.driver.stdout.readline, "")
        port = next(m[1] for line in said if (m := re.search(r"on port (\d+)\.", line)))
        self.url = f"http://127.0.0.1:{port}/session"
        options = {
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                # Nothing moves under the pointer.
                "--force-prefers-reduced-motion",
                "--force-device-scale-factor=1",
            ]
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        session = self.ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self.url += f"/{session['sessionId']}"

    def ask(self, method: str, path: str, body: object = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            why = json.load(error)["value"]
            raise RuntimeError(f"{path}: {why['error']}: {why['message']}") from None

    def close(self) -> None:
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(30)

    def go(self, url: str) -> None:
        self.ask("POST", "/url", {"url": url})

    def run(self, script: str, *args: object) -> object:
        """The value of a function's body in the page."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def wait(self, what: str, *args: object) -> object:
        """What an expression in the page comes to, once that is true; on a busy machine late."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if value := self.run(f"return {what};", *args):
                return value
            time.sleep(0.05)
        raise TimeoutError(f"{what} did not come true; the page says: {self.text('main')[:2000]}")

    def find(self, css: str) -> str:
        return self.ask("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css: str) -> None:
        self.ask("POST", f"/element/{self.find(css)}/click", {})

    def write(self, css: str, text: str) -> None:
        """Types a text in the place of what is there."""
        element = self.find(css)
        self.ask("POST", f"/element/{element}/clear", {})
        self.ask("POST", f"/element/{element}/value", {"text": text})

    def choose(self, css: str, value: str) -> None:
        """Chooses from a list, or writes a text at once, and tells the page."""
        script = """
            const node = document.querySelector(arguments[0]);
            node.value = arguments[1];
            node.dispatchEvent(new Event(node.localName === 'select' ? 'change' : 'input'));
        """
        self.run(script, css, value)

    def values(self, css: str) -> list[str]:
        """Of all the fields there."""
        return self.all(css, "value")

    def all(self, css: str, what: str = "textContent") -> list[str]:
        """A property of all elements there, their text unless told otherwise."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e[arguments[1]]);"
        return self.run(script, css, what)

    def text(self, css: str) -> str:
        return self.ask("GET", f"/element/{self.find(css)}/text")

    def size(self, width: int, height: int) -> None:
        """The size of the page itself, whatever is around it."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics}
        self.ask("POST", "/goog/cdp/execute", command)

    def picture(
        self, path: pathlib.Path, css: str | None = None, height: float | None = None
    ) -> None:
        """The whole page as PNG, or an element with a margin, `height` pixels of it at most."""
        parameters: dict[str, object] = {"captureBeyondViewport": True}
        if css is not None:
            clip = self.run(
                """
                const box = document.querySelector(arguments[0]).getBoundingClientRect();
                const margin = 16;
                return { x: Math.max(box.x + scrollX - margin, 0), y: box.y + scrollY - margin,
                         width: box.width + 2 * margin, scale: 1,
                         height: Math.min(box.height + 2 * margin, arguments[1] ?? Infinity) };
                """,
                css,
                height,
            )
            parameters["clip"] = clip
        command = {"cmd": "Page.captureScreenshot", "params": parameters}
        shot = self.ask("POST", "/goog/cdp/execute", command)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """What the console has said of faults, since it was last asked."""
        log = self.ask("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]
