"""What a queue does to the traffic that waits in it.

>>> import sojourn
>>> results = sojourn.run("scenarios/demo.toml", seeds=3)
>>> results.flows.to_pandas()[["dumbbell.qdisc", "flow", "induced_rtt_ms_p50"]]

A scenario is a file, its text, a ``dict`` of the same shape, or a `Scenario`. Results are tables
that pandas, polars and pyarrow take over; the names of columns end with their unit.
"""

from ._native import VERSION as _VERSION
from ._run import load, run, sweep
from ._scenario import Scenario
from .aqm import Aqm
from .cards import Card, evaluate
from .errors import Problem, RunError, ScenarioError
from .lines import Figure, Line, fit
from .partitions import Partitions
from .results import Report, Results, Table
from .studies import Reproduction, reproduce, studies
from .tcp import CongestionControl

__version__: str = _VERSION.split(" ", 1)[0]

__all__ = [
    "Aqm",
    "Card",
    "CongestionControl",
    "Figure",
    "Line",
    "Partitions",
    "Problem",
    "Report",
    "Reproduction",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Table",
    "evaluate",
    "fit",
    "load",
    "reproduce",
    "run",
    "studies",
    "sweep",
]
