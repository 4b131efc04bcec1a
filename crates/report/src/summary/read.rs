//! Reads a summary back. Cumulative distributions and series stay empty.

use super::FORMAT;
use serde_json::{Map, Value};
use sojourn_qdisc::{Field, Report, Value as QdiscValue};
use sojourn_units::{Rate, Span};
use sojourn_world::{
    Aggregate, Amount, Axis, Cost, Distribution, FlowResult, Gathering, LinkResult, Measured,
    Metric, RunResult, ScenarioInfo, WorldName,
};

/// What a summary holds.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) info: ScenarioInfo,
    pub(crate) results: Vec<RunResult>,
}

/// Reads a summary; the error names the key and what should stand there.
pub(crate) fn read(text: &str) -> Result<Summary, String> {
    let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let root = Node::root(&root);
    let format = root.text("format")?;
    if format != FORMAT {
        return Err(format!("its format is `{format}`, expected `{FORMAT}`"));
    }
    let info = ScenarioInfo {
        name: root.text("scenario")?,
        title: root.text("title")?,
        description: root.text("description")?,
        version: u32::try_from(root.count("version")?)
            .map_err(|_| "`version` is too large".to_owned())?,
        axes: root
            .list("axes")?
            .iter()
            .map(axis)
            .collect::<Result<_, _>>()?,
        source: match root.get("source")?.value {
            Value::Null => None,
            _ => Some(root.text("source")?),
        },
    };
    let results = root
        .list("cells")?
        .iter()
        .map(run)
        .collect::<Result<_, _>>()?;
    Ok(Summary { info, results })
}

/// A value and where it stands.
struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    fn root(value: &'a Value) -> Self {
        Self {
            value,
            path: String::new(),
        }
    }

    fn below(&self, key: &str, value: &'a Value) -> Self {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        Self { value, path }
    }

    fn wants(&self, what: &str) -> String {
        format!("`{}` should be {what}", self.path)
    }

    fn get(&self, key: &str) -> Result<Self, String> {
        let value = self.object()?.get(key);
        let value = value.ok_or_else(|| match self.path.as_str() {
            "" => format!("`{key}` is missing"),
            path => format!("`{key}` is missing in `{path}`"),
        })?;
        Ok(self.below(key, value))
    }

    fn object(&self) -> Result<&'a Map<String, Value>, String> {
        self.value
            .as_object()
            .ok_or_else(|| self.wants("an object"))
    }

    /// The members of an object, each with its name.
    fn members(&self, key: &str) -> Result<Vec<(String, Self)>, String> {
        let node = self.get(key)?;
        let members = node.object()?.iter();
        Ok(members
            .map(|(name, value)| (name.clone(), node.below(name, value)))
            .collect())
    }

    fn list(&self, key: &str) -> Result<Vec<Self>, String> {
        let node = self.get(key)?;
        let list = node.value.as_array().ok_or_else(|| node.wants("a list"))?;
        Ok(list
            .iter()
            .enumerate()
            .map(|(i, value)| node.below(&i.to_string(), value))
            .collect())
    }

    fn as_text(&self) -> Result<&'a str, String> {
        self.value.as_str().ok_or_else(|| self.wants("a string"))
    }

    fn text(&self, key: &str) -> Result<String, String> {
        Ok(self.get(key)?.as_text()?.to_owned())
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        let node = self.get(key)?;
        node.value
            .as_bool()
            .ok_or_else(|| node.wants("true or false"))
    }

    fn count(&self, key: &str) -> Result<u64, String> {
        let node = self.get(key)?;
        node.value
            .as_u64()
            .ok_or_else(|| node.wants("a whole number, not negative"))
    }

    fn number_or_none(&self, key: &str) -> Result<Option<f64>, String> {
        let node = self.get(key)?;
        match node.value {
            Value::Null => Ok(None),
            value => Ok(Some(value.as_f64().ok_or_else(|| node.wants("a number"))?)),
        }
    }

    /// A number; `null` stands for one that is not finite.
    fn number(&self, key: &str) -> Result<f64, String> {
        Ok(self.number_or_none(key)?.unwrap_or(f64::NAN))
    }
}

fn axis(node: &Node<'_>) -> Result<Axis, String> {
    let values = node.list("values")?;
    Ok(Axis {
        field: node.text("field")?,
        values: values
            .iter()
            .map(|value| value.as_text().map(str::to_owned))
            .collect::<Result<_, _>>()?,
    })
}

fn run(node: &Node<'_>) -> Result<RunResult, String> {
    let world = node.get("world")?.as_text()?;
    let world = WorldName::parse(world).ok_or_else(|| {
        format!(
            "`{}.world` is `{world}`, which is no world's name",
            node.path
        )
    })?;
    let params = node.members("params")?.into_iter();
    let params = params.map(|(key, value)| Ok((key, value.as_text()?.to_owned())));
    let links = node.members("links")?.into_iter();
    let links = links.map(|(name, value)| Ok((name, link(&value)?)));
    let flows = node.members("flows")?.into_iter();
    let flows = flows.map(|(name, value)| Ok((name, flow(&value)?)));
    let aggregate = node.get("aggregate")?;
    let cost = node.get("cost")?;
    let digest = node.text("digest")?;
    Ok(RunResult {
        world,
        seed: node.count("seed")?,
        params: params.collect::<Result<_, String>>()?,
        links: links.collect::<Result<_, String>>()?,
        flows: flows.collect::<Result<_, String>>()?,
        aggregate: Aggregate {
            jain: aggregate.number_or_none("jain")?,
            goodput_bps: aggregate.number("goodput_bps")?,
        },
        cost: Cost {
            events: cost.count("events")?,
            bottleneck_packets: cost.count("bottleneck_packets")?,
            cpu_s: cost.number("cpu_s")?,
            wall_s: cost.number("wall_s")?,
            peak_rss_bytes: cost.count("peak_rss_bytes")?,
        },
        digest: u64::from_str_radix(&digest, 16)
            .map_err(|_| format!("`{}.digest` should be a hexadecimal number", node.path))?,
    })
}

fn distribution(node: &Node<'_>) -> Result<Distribution, String> {
    let count = node.count("count")?;
    if count == 0 {
        return Ok(Distribution::default());
    }
    Ok(Distribution {
        count,
        mean: node.number("mean")?,
        min: node.number("min")?,
        p5: node.number("p5")?,
        p25: node.number("p25")?,
        p50: node.number("p50")?,
        p75: node.number("p75")?,
        p95: node.number("p95")?,
        p99: node.number("p99")?,
        max: node.number("max")?,
        cdf: Vec::new(),
    })
}

/// A distribution that older summaries lack.
fn distribution_or_none(node: &Node<'_>, key: &str) -> Result<Distribution, String> {
    if node.object()?.contains_key(key) {
        distribution(&node.get(key)?)
    } else {
        Ok(Distribution::default())
    }
}

fn link(node: &Node<'_>) -> Result<LinkResult, String> {
    Ok(LinkResult {
        offered_packets: node.count("offered_packets")?,
        offered_bytes: node.count("offered_bytes")?,
        dequeued_packets: node.count("dequeued_packets")?,
        dequeued_bytes: node.count("dequeued_bytes")?,
        dropped_packets: node.count("dropped_packets")?,
        marked_packets: node.count("marked_packets")?,
        utilisation: node.number_or_none("utilisation")?,
        backlog_packets_mean: node.number("backlog_packets_mean")?,
        sojourn: distribution(&node.get("sojourn_ms")?)?,
        qdisc: qdisc(&node.get("qdisc")?)?,
        series: Vec::new(),
    })
}

fn flow(node: &Node<'_>) -> Result<FlowResult, String> {
    Ok(FlowResult {
        app: node.text("app")?.into(),
        elastic: node.flag("elastic")?,
        goodput: Rate::from_bps(node.count("goodput_bps")?),
        sent_packets: node.count("sent_packets")?,
        retransmitted_packets: node.count("retransmitted_packets")?,
        rtt: distribution(&node.get("rtt_ms")?)?,
        induced_rtt: distribution(&node.get("induced_rtt_ms")?)?,
        spp_rtt: distribution_or_none(node, "spp_rtt_ms")?,
        spp_induced_rtt: distribution_or_none(node, "spp_induced_rtt_ms")?,
        delay: distribution(&node.get("delay_ms")?)?,
        throughput: distribution(&node.get("throughput_bps")?)?,
        measured: measured(node)?,
        loss_ratio: node.number_or_none("loss_ratio")?,
        blocked_messages: node.count("blocked_messages")?,
        completed: node.number_or_none("completed_s")?.map(Span::from_secs_f64),
        started: node.count("started")?,
        completion: distribution(&node.get("completion_ms")?)?,
        series: Vec::new(),
    })
}

/// What an app has measured: those of its metrics that are there.
fn measured(node: &Node<'_>) -> Result<Vec<Measured>, String> {
    let members = node.object()?;
    let present = Metric::ALL.into_iter();
    let present = present.filter(|metric| members.contains_key(metric.key()));
    let read = |metric: Metric| {
        let key = metric.key();
        let amount = match metric.gathering() {
            Gathering::Sum => Amount::Sum(node.number(key)?),
            Gathering::Sample => Amount::Spread(distribution(&node.get(key)?)?),
        };
        Ok(Measured { metric, amount })
    };
    present.map(read).collect()
}

fn qdisc(node: &Node<'_>) -> Result<Report, String> {
    let mut report = Report {
        kind: node.text("kind")?.into(),
        options: group(&node.get("options")?)?,
        ..Report::default()
    };
    for (name, value) in node.object()? {
        match name.as_str() {
            "kind" | "options" => {}
            "inner" => report.inner = Some(Box::new(qdisc(&node.below(name, value))?)),
            _ => report.stats.push(field(&node.below(name, value), name)?),
        }
    }
    Ok(report)
}

fn group(node: &Node<'_>) -> Result<Vec<Field>, String> {
    let members = node.object()?.iter();
    members
        .map(|(name, value)| field(&node.below(name, value), name))
        .collect()
}

fn field(node: &Node<'_>, name: &str) -> Result<Field, String> {
    let value = match node.value {
        Value::Null => QdiscValue::Float(f64::NAN),
        Value::Bool(b) => QdiscValue::Bool(*b),
        Value::Number(n) => match n.as_i64() {
            Some(i) => QdiscValue::Int(i),
            None => QdiscValue::Float(n.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => QdiscValue::Text(text.clone()),
        Value::Array(list) => {
            let groups = list.iter().enumerate();
            let groups = groups.map(|(i, value)| group(&node.below(&i.to_string(), value)));
            QdiscValue::Groups(groups.collect::<Result<_, _>>()?)
        }
        Value::Object(_) => return Err(node.wants("a value or a list of groups")),
    };
    Ok(Field {
        name: name.to_owned().into(),
        value,
    })
}
