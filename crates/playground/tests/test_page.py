"""The playground in a browser: its runs are the program's, its link and its text carry them."""

import json
import subprocess

import pytest
from conftest import ROOT, TARGET, fits

# The digest, once the run is over.
DONE = """(!document.getElementById('digest-line').hidden
    && document.getElementById('stop').disabled
    && document.getElementById('digest').textContent)"""
# Another one than that of the argument.
OTHER = f"{DONE} !== arguments[0] && {DONE}"
FAILED = "!document.getElementById('failure').hidden"
WRONG = "!document.getElementById('problems').hidden"
HOME = {
    "down": "20mbit",
    "up": "5mbit",
    "rtt": "30ms",
    "duration": "60s",
    "warmup": "10s",
    "seed": "1",
}
TWO = ["1 down bulk cubic", "1 up bulk cubic"]


def link(site: str, flows: list[str] = TWO, **words: str) -> str:
    parts = [f"{word}={value}" for word, value in (HOME | words).items()]
    parts += [f"flow={flow}" for flow in flows]
    return f"{site}#{'&'.join(parts)}".replace(" ", "+")


def digests(program, path) -> list[str]:
    """Of the cells of a scenario, as the program runs them."""
    command = [program, "run", path, "--quiet", "--json"]
    said = subprocess.run(command, check=True, capture_output=True)
    return [cell["digest"] for cell in json.loads(said.stdout)["cells"]]


def toml(browser) -> str:
    return browser.values("#toml")[0]


@pytest.mark.parametrize(
    "flows, words",
    [
        (TWO, {"qdisc": "pfifo"}),
        (["4 down bulk bbr", "2 up bulk reno"], {"qdisc": "fq_codel target 3ms"}),
        ([*TWO, "1 up game"], {"qdisc": "cake diffserv4", "ecn": "true", "seed": "7"}),
        (["1 down web cubic", "1 up voip", "1 down dash bbr3"], {"qdisc": "pie", "rtt": "80ms"}),
    ],
    ids=["pfifo", "fq_codel", "cake", "pie"],
)
def test_the_digest_is_the_programs(browser, site, program, tmp_path, flows, words):
    browser.go(link(site, flows, **words))
    digest = browser.wait(DONE)
    path = tmp_path / "playground.toml"
    path.write_text(toml(browser))
    assert digests(program, path) == [digest]
    assert words["qdisc"] in toml(browser)


def test_a_file_with_a_sweep_runs_one_of_its_cells(browser, site, program):
    path = ROOT / "scenarios" / "demo.toml"
    browser.go(site)
    browser.wait(DONE)
    browser.ask("POST", f"/element/{browser.find('#open')}/value", {"text": str(path)})
    browser.wait("document.getElementById('cell').options.length === 4")
    first = browser.wait(DONE)
    browser.choose("#cell", "2")
    third = browser.wait(OTHER, first)
    assert [first, third] == digests(program, path)[0:3:2]


def test_charts_and_figures_are_there(browser, site):
    browser.go(link(site, qdisc="fq_codel"))
    browser.wait(DONE)
    titles = " ".join(browser.all("#charts h3"))
    for title in ["Round-trip time of the ping", "Packets in the queue", "Congestion windows"]:
        assert title in titles
    lines = """[...document.querySelectorAll('#charts path[fill=none]')]
        .map((path) => path.getAttribute('d').length)"""
    drawn = browser.wait(f"{lines}.length >= 8 && {lines}")
    assert min(drawn) > 500, drawn
    assert browser.all("#flows tbody th") == ["cubic-down", "cubic-up", "ping"]


def test_the_charts_grow_while_a_run_is_on(browser, site):
    browser.go(site)
    browser.wait(DONE)
    # A minute in real time: it is still on when a busy machine looks.
    browser.choose("#pace", "1")
    value = "document.getElementById('progress').value"
    browser.wait(f"{value} > 0.5 && {value} < 60")
    path = "document.querySelector('#charts path[fill=none]')?.getAttribute('d')"
    before = browser.wait(path)
    browser.wait(f"{path}?.length > arguments[0].length", before)
    browser.click("#stop")
    stopped = browser.wait(f"document.getElementById('said').textContent === 'Stopped.' && {value}")
    assert stopped < 60
    assert browser.run(f"return {value};") == stopped


def test_controls_change_the_link_and_the_link_the_controls(browser, site):
    browser.go(site)
    first = browser.wait(DONE)
    browser.write("[name=rtt]", "55ms")
    browser.choose("[name=discipline]", "codel")
    browser.write("[name=options]", "target 7ms")
    browser.choose("[name=cc]", "bbr")
    browser.wait("document.getElementById('digest-line').hidden")
    second = browser.wait(OTHER, first)
    written = toml(browser)
    for line in ['rtt = "55ms"', 'qdisc = "codel target 7ms"', 'name = "bbr-down"']:
        assert line in written.splitlines()
    address = browser.ask("GET", "/url")
    browser.go("about:blank")
    browser.go(address)
    assert browser.wait(DONE) == second
    assert toml(browser) == written
    fields = browser.values("[name=rtt], [name=discipline], [name=options], [name=cc]")
    assert fields == ["55ms", "codel", "target 7ms", "bbr", "cubic"]


def test_the_example_of_l4s_has_both_queues_apart(browser, site, program, tmp_path):
    browser.go(site)
    first = browser.wait(DONE)
    browser.click("#controls fieldset:first-child button:nth-of-type(2)")
    digest = browser.wait(OTHER, first)
    path = tmp_path / "l4s.toml"
    path.write_text(toml(browser))
    assert digests(program, path) == [digest]
    titles = " ".join(browser.all("#charts h3"))
    for title in ["Delay of the L queue", "Delay of the C queue", "Share of marks"]:
        assert title in titles
    heads = browser.all("#links thead th")
    assert "Sojourn time (L) p99" in heads and "Sojourn time (C) p99" in heads
    assert browser.all("#flows tbody th") == ["prague-up", "cubic-up", "ping"]


def test_sliders_write_what_one_would_write(browser, site):
    browser.go(site)
    browser.wait(DONE)
    browser.choose("[data-for=down]", "120")
    assert browser.values("[name=down]") == ["1gbit"]
    browser.choose("[data-for=rtt]", "60")
    assert browser.values("[name=rtt]") == ["24ms"]
    browser.choose("[name=rtt]", "600ms")
    assert browser.values("[data-for=rtt]") == ["120"]


def test_a_text_of_ones_own_is_carried_by_the_link(browser, site, program, tmp_path):
    text = (ROOT / "scenarios" / "basics" / "two-rtts.toml").read_text() + "# Grüße ✓\n"
    browser.go(site)
    browser.wait(DONE)
    browser.choose("#toml", text)
    address = browser.wait("location.hash.startsWith('#toml=') && location.href")
    browser.go("about:blank")
    browser.go(address)
    digest = browser.wait(DONE)
    assert toml(browser) == text
    path = tmp_path / "own.toml"
    path.write_text(text)
    assert digests(program, path)[0] == digest
    browser.click("#to-controls")
    browser.wait(OTHER, digest)
    assert 'name = "playground"' in toml(browser)


def test_wrong_input_is_answered_with_line_field_and_help(browser, site):
    browser.go(site)
    browser.wait(DONE)
    browser.write("[name=down]", "20")
    browser.wait(WRONG)
    said = browser.text("#problems")
    for part in ["line 9, column", "dumbbell.down.rate", "needs a unit"]:
        assert part in said
    assert browser.all("[aria-invalid=true]", "name") == ["down"]
    browser.click("#problems button")
    start, end = browser.all("#toml", "selectionStart")[0], browser.all("#toml", "selectionEnd")[0]
    assert toml(browser)[start:end].startswith('"20"')
    browser.write("[name=down]", "25mbit")
    browser.wait(f"!({WRONG}) && {DONE}")
    assert browser.all("[aria-invalid=true]", "name") == []


def test_what_only_the_kernel_has_is_refused(browser, site):
    browser.go(link(site, ["1 down bulk bic"], qdisc="pfifo"))
    browser.wait(FAILED)
    assert "bic" in browser.text("#failure")


def test_what_a_link_has_wrong_is_refused_and_not_left_out(browser, site):
    browser.go(link(site, ["2 down ftp", "1 sideways bulk cubic"], qdisc="fq_codle"))
    browser.wait(WRONG)
    said = browser.text("#problems")
    for part in ["ftp", "sideways", "did you mean `fq_codel`?"]:
        assert part in said
    assert browser.values("[name=app]") == ["ftp", "bulk"]
    assert browser.values("[name=discipline]") == ["fq_codle"]


def test_flows_of_one_kind_have_names_of_their_own(browser, site):
    browser.go(link(site, ["2 down bulk cubic"] * 2 + ["1 down bulk cubic"]))
    browser.wait(DONE)
    names = [f"cubic-down{end}" for end in ["-1", "-2", "-b-1", "-b-2", "-c"]]
    assert browser.all("#flows tbody th") == [*names, "ping"]


def test_a_damaged_link_is_said_to_be_one(browser, site):
    browser.go(f"{site}#toml=AAAA")
    browser.wait(FAILED)
    assert "damaged" in browser.text("#failure")


def test_kept_runs_stay_in_the_charts(browser, site):
    browser.go(link(site, qdisc="pfifo"))
    first = browser.wait(DONE)
    browser.click("#keep")
    browser.choose("[name=discipline]", "fq_codel")
    browser.wait(OTHER, first)
    legend = "#charts figure:first-child [data-series]"
    browser.wait("document.querySelectorAll(arguments[0]).length === 2", legend)
    assert browser.all(legend) == ["1 pfifo: ping", "2 fq_codel: ping"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_fits_its_window(browser, site, width, theme):
    browser.size(width, 900)
    address, fragment = link(site, qdisc="fq_codel").split("#")
    browser.go(f"{address}?theme={theme}#{fragment}")
    browser.wait(DONE)
    fits(browser, width, theme, "#controls *, .status *, #charts svg")
    pictures = TARGET / "playground-pictures"
    pictures.mkdir(exist_ok=True)
    browser.picture(pictures / f"{width}-{theme}.png")
