"""The pages of runs and studies in a browser: they fit, they are used by keys, charts are saved."""

import subprocess

import pytest
from conftest import ROOT, TARGET, fits

SWEEP = [
    "run",
    ROOT / "scenarios/demo.toml",
    "--set=duration=8s",
    "--set=warmup=2s",
    '--sweep=dumbbell.rtt=["20ms", "40ms", "80ms"]',
    "--seeds=3",
]
TALL = [
    "run",
    ROOT / "scenarios/basics/one-flow.toml",
    "--set=duration=8s",
    "--sweep=dumbbell.rtt=[10ms, 20ms, 40ms, 80ms]",
    "--sweep=dumbbell.down.rate=[4mbit, 8mbit, 16mbit]",
    "--sweep=flow.download.count=[1, 2]",
]
RADIO = ["run", ROOT / "scenarios/radio/chain.toml", "--set=duration=30s"]
RRUL = ["run", ROOT / "scenarios/flent/rrul.toml", "--set=duration=12s", "--set=warmup=5s"]
STUDY = ["reproduce", "cake", "--claims=C1,C3,C4", "--quick"]
# As soon as the script is done.
READY = "document.querySelectorAll('.save').length > 0 && document.readyState === 'complete'"
TAB, ESCAPE, RIGHT, ENTER = "\ue004", "\ue00c", "\ue014", "\ue007"


@pytest.fixture(scope="session")
def pages(program, tmp_path_factory):
    """Where the pages are, by their names."""
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    wanted = {"sweep": SWEEP, "tall": TALL, "radio": RADIO, "rrul": RRUL, "study": STUDY}
    for name, words in wanted.items():
        command = [program, *words, "--quiet", f"--out={folder / name}"]
        subprocess.run(command, capture_output=True, cwd=ROOT)
        found[name] = (folder / name / "report.html").as_uri()
    return found


def press(browser, key: str) -> None:
    strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
    keyboard = {"type": "key", "id": "keyboard", "actions": strokes}
    browser.ask("POST", "/actions", {"actions": [keyboard]})


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", ["sweep", "radio", "rrul", "study"])
def test_a_page_fits_its_window(browser, pages, name, width, theme):
    browser.size(width, 900)
    browser.go(f"{pages[name]}?theme={theme}")
    browser.wait(READY)
    # What is wider scrolls in a box of its own.
    fits(browser, width, theme, "main *", ".scroll, pre, figure.wide, .visually-hidden")
    pictures = TARGET / "report-pictures"
    pictures.mkdir(exist_ok=True)
    browser.picture(pictures / f"{name}-{width}-{theme}.png")


@pytest.mark.parametrize("name", ["sweep", "tall", "radio", "rrul"])
def test_charts_fit_paper(browser, pages, name):
    browser.size(1440, 900)
    browser.go(pages[name])
    browser.wait(READY)
    measure = """
        const drawn = [...document.querySelectorAll('.plot svg')];
        const sizes = drawn.map((svg) => [svg.clientWidth, svg.clientHeight]);
    """
    on_screen = browser.run(f"{measure} return sizes;")
    on_paper = browser.run(f"""
        window.dispatchEvent(new Event('beforeprint'));
        {measure}
        window.dispatchEvent(new Event('afterprint'));
        return sizes;
    """)
    # A page has 718 by 1046 pixels on A4, and 1016 in height on Letter.
    assert on_paper and all(width <= 704 and height <= 800 for width, height in on_paper)
    # What was too tall is in parts, and on the screen all is as before.
    assert (len(on_paper) > len(on_screen)) == (name == "tall")
    assert browser.run(f"{measure} return sizes;") == on_screen


@pytest.mark.parametrize("name", ["sweep", "radio", "rrul", "study"])
def test_every_chart_is_saved(browser, pages, name):
    browser.go(pages[name])
    browser.wait(READY)
    browser.run("""
        window.saved = [];
        P.download = (name, blob) => blob.arrayBuffer().then((bytes) => {
            const text = blob.type === 'image/png' ? '' : new TextDecoder().decode(bytes);
            saved.push({ name, type: blob.type, size: bytes.byteLength, text });
        });
        for (const item of document.querySelectorAll('.save button')) item.click();
    """)
    buttons = browser.all(".save button")
    menus = len(browser.all(".save"))
    assert buttons == ["SVG", "PNG", "CSV"] * menus
    browser.wait("saved.length >= arguments[0] && saved", len(buttons))
    saved = browser.run("""
        for (const file of saved.filter((one) => one.name.endsWith('.svg'))) {
            const tree = new DOMParser().parseFromString(file.text, 'image/svg+xml');
            file.wrong = tree.querySelector('parsererror') !== null;
            file.words = [...tree.querySelectorAll('text')].map((node) => node.textContent);
        }
        return saved;
    """)
    for file in saved:
        if file["name"].endswith(".svg"):
            assert not file["wrong"], file["name"]
            assert file["words"][0], f"{file['name']} has no title"
            # It stands alone: no colour is the page's, no size unknown.
            assert not any(word in file["text"] for word in ("var(--", "NaN", "undefined"))
        elif file["name"].endswith(".csv"):
            rows = file["text"].splitlines()
            assert len(rows) > 1, f"{file['name']} has no rows"
            assert "NaN" not in file["text"] and "undefined" not in file["text"], file["name"]
        else:
            assert (file["type"], file["size"] > 2000) == ("image/png", True), file["name"]


@pytest.mark.parametrize("name", ["sweep", "study"])
def test_a_page_is_used_by_keys(browser, pages, name):
    browser.go(f"{pages[name]}?theme=light")
    browser.wait(READY)
    press(browser, TAB)
    assert browser.run("return document.activeElement.className;") == "skip"
    while browser.run("return document.activeElement.id;") != "theme":
        press(browser, TAB)
    press(browser, ENTER)
    assert browser.run("return document.documentElement.dataset.theme;") == "dark"
    # A menu opens and closes, a chart tells its values.
    browser.run("document.querySelector('.save summary').focus();")
    press(browser, ENTER)
    assert browser.run("return document.querySelector('.save').open;")
    press(browser, TAB)
    assert browser.run("return document.activeElement.textContent;") == "SVG"
    press(browser, ESCAPE)
    assert not browser.run("return document.querySelector('.save').open;")
    assert browser.run("return document.activeElement.localName;") == "summary"
    browser.run("document.querySelector('main figure svg [tabindex=\"0\"]').focus();")
    first = browser.run("return document.activeElement.getAttribute('aria-label');")
    press(browser, RIGHT)
    second = browser.run("return document.activeElement.getAttribute('aria-label');")
    assert first and second and first != second
    shown = "[...document.querySelectorAll('.tip')].filter((tip) => !tip.hidden).length"
    assert browser.run(f"return {shown};") == 1
    press(browser, ESCAPE)
    assert browser.run(f"return {shown};") == 0
