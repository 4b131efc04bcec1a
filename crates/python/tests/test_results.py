"""Results: tables for data frames, series, files, displays."""

import pickle
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest

import sojourn


@pytest.fixture
def results(home: sojourn.Scenario) -> sojourn.Results:
    return sojourn.sweep(home, {"dumbbell.rtt": ["20ms", "0.1s"]}, seeds=2, series=True)


def test_data_frames_take_tables_over(results: sojourn.Results) -> None:
    flows = results.flows
    assert len(flows) == 2 * 2 * 2
    arrow = flows.to_pyarrow()
    assert arrow.schema.field("dumbbell.rtt_ms").type == pyarrow.float64()
    assert arrow.schema.field("seed").type == pyarrow.uint64()
    assert arrow.schema.field("goodput_bps").metadata[b"unit"] == b"bit/s"
    frame = polars.DataFrame(flows)
    assert frame.equals(flows.to_polars())
    assert frame["dumbbell.rtt_ms"].to_list() == [20.0] * 4 + [100.0] * 4
    pandas_frame = flows.to_pandas()
    assert isinstance(pandas_frame, pandas.DataFrame)
    probe = pandas_frame[pandas_frame["flow"] == "probe"]
    by_rtt = probe.groupby("dumbbell.rtt_ms")["rtt_ms_p50"].mean()
    assert 20 <= by_rtt[20.0] < 100 <= by_rtt[100.0]


def test_numbers_are_shared_and_not_copied(results: sojourn.Results) -> None:
    def address() -> int:
        column = pyarrow.table(results.flows).column("rtt_ms_mean")
        return column.chunk(0).buffers()[1].address

    assert address() == address()


def test_what_is_missing_is_null(results: sojourn.Results) -> None:
    flows = results.flows.to_polars()
    loss = flows.filter(flow="download")["loss_ratio"]
    assert loss.null_count() == len(loss)
    assert results.flows["loss_ratio"][0] is None


def test_columns_say_their_unit_and_meaning(results: sojourn.Results) -> None:
    flows = results.flows
    assert flows.unit("rtt_ms_p95") == "ms"
    assert flows.unit("dumbbell.rtt_ms") == "ms"
    assert flows.meaning("goodput_bps").startswith("Payload bits delivered")
    with pytest.raises(IndexError, match="no column `rtt`"):
        flows.unit("rtt")


def test_figures_are_signed_and_have_one_type(home: sojourn.Scenario) -> None:
    """A difference of two figures of unsigned integers was 18446744073709407203."""
    results = sojourn.run(home, duration="3s")
    frames = [table.to_pandas() for table in (results.runs, results.flows, results.links)]
    for frame in frames:
        unsigned = [name for name in frame if frame[name].dtype.kind == "u"]
        assert unsigned == ["seed"]
    for name in set(frames[0]) & set(frames[1]):
        assert frames[0][name].dtype == frames[1][name].dtype, name
    goodput = frames[1]["goodput_bps"]
    assert (goodput.min() - goodput).min() < 0


def test_swept_fields_are_ordered_and_options_are_numbers(home: sojourn.Scenario) -> None:
    queues = ["pie", "fq_codel target 10ms", "codel"]
    results = sojourn.sweep(home, {"dumbbell.qdisc": queues}, duration="3s")
    for table in (results.runs, results.flows, results.links):
        frame = table.to_pandas()
        swept = frame["dumbbell.qdisc"]
        assert swept.cat.ordered and list(swept.cat.categories) == queues
        means = frame.groupby("dumbbell.qdisc", observed=True)["cell"].mean()
        assert list(means.index) == queues
        assert sorted(frame["dumbbell.qdisc.target_ms"].unique()) == [5.0, 10.0, 15.0]
    assert results.runs["dumbbell.qdisc"] == queues


def test_names_that_there_are_not_are_refused_with_the_nearest(results: sojourn.Results) -> None:
    with pytest.raises(IndexError, match="no series `rttt`; did you mean `rtt`?"):
        results.series("rttt")
    with pytest.raises(IndexError, match="no column `goodputbps`; did you mean `goodput_bps`?"):
        results.flows["goodputbps"]
    with pytest.raises(IndexError, match="did you mean `goodput_bps`?"):
        results.flows.meaning("goodput_bpss")


def test_links_have_the_counts_of_their_queue(results: sojourn.Results) -> None:
    row = next(results.links.rows())
    assert row["link"] == "up"
    assert row["qdisc"] == "codel"
    assert row["offered_packets"] == row["dequeued_packets"] + row["dropped_packets"]
    assert isinstance(row["qdisc_maxpacket"], float)


def test_series_are_kept_on_request_only(
    results: sojourn.Results, home: sojourn.Scenario
) -> None:
    rtt = results.series("rtt").to_polars().filter(name="probe", seed=1, cell=0)
    assert rtt["t_s"].to_list()[:2] == [0.1, 0.2]
    assert rtt["unit"].unique().to_list() == ["ms"]
    metrics = set(results.series()["metric"])
    assert {"backlog", "goodput", "rtt"} <= metrics
    lean = sojourn.run(home)
    assert len(lean.series()) == 0
    assert len(pickle.dumps(lean)) < len(pickle.dumps(results)) / 4


def test_results_survive_pickling(results: sojourn.Results) -> None:
    again = pickle.loads(pickle.dumps(results))
    for table in ["runs", "flows", "links"]:
        assert getattr(again, table).to_polars().equals(getattr(results, table).to_polars())
    assert again.series().to_polars().equals(results.series().to_polars())


def test_results_add_up(home: sojourn.Scenario) -> None:
    both = sojourn.run(home, dumbbell__qdisc="pie") + sojourn.run(home, dumbbell__qdisc="codel")
    assert both.runs["dumbbell.qdisc"] == ["pie", "codel"]
    assert both.runs["cell"] == [0, 1]


def test_folders_are_those_of_the_program(results: sojourn.Results, tmp_path: Path) -> None:
    results.write(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").is_file()
    again = sojourn.load(tmp_path / "out")
    assert again.flows.to_polars().equals(results.flows.to_polars())
    with pytest.raises(sojourn.RunError, match="is not a folder with results: it has no summary.json"):
        sojourn.load(tmp_path)


def test_a_folder_of_another_scenario_is_left_alone(home: sojourn.Scenario, tmp_path: Path) -> None:
    results = sojourn.run(home, duration="2s", warmup="1s")
    other = sojourn.run(home, name="other", duration="2s", warmup="1s")
    results.write(tmp_path)
    results.write(tmp_path)
    (tmp_path / "run-1-up.pcapng").write_bytes(b"")
    with pytest.raises(sojourn.RunError, match="results of scenario `home`.*overwrite=True"):
        other.write(tmp_path)
    assert sojourn.load(tmp_path).name == "home"
    assert (tmp_path / "run-1-up.pcapng").exists()
    other.write(tmp_path, overwrite=True)
    assert sojourn.load(tmp_path).name == "other"
    assert not (tmp_path / "run-1-up.pcapng").exists()


def test_notebooks_show_results(results: sojourn.Results) -> None:
    page = results._repr_html_()
    assert "<th>dumbbell.rtt_ms</th>" in page
    assert "median induced RTT" in page
    assert results.flows._repr_html_().count("<tr>") == 1 + 8
    assert "srcdoc=" in results.report()._repr_html_()
    assert repr(results) == "<sojourn.Results of 'home': 4 runs>"
