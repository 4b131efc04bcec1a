//! A study's results, held against its claims.

use crate::draw::Chart;
use crate::judge::{Judged, Verdict};
use crate::status::{Status, answer, tally};
use crate::study::{Outcomes, Study};
use crate::table::Table;
use sojourn_report::{Finished, ReportError, Rest};
use sojourn_scenario::{Outcome, split};
use sojourn_world::{Axis, ByWorld, RunResult, ScenarioInfo, WorldName};

/// What came out of a study, in all worlds that it was run in.
#[derive(Debug)]
pub struct Reproduced<'a> {
    /// The worlds, the one that the others are held against first.
    pub worlds: Vec<WorldName>,
    /// The study.
    pub study: &'a Study,
    /// The chosen claims with what we found.
    pub claims: Vec<Judged<'a>>,
    /// All results of all settings and worlds, with figures at least; the setting is their first
    /// parameter.
    pub results: Vec<RunResult>,
    /// Where the rest of the results is.
    pub rest: Rest,
    /// A sentence for each run without a result.
    pub failures: Vec<String>,
    /// Of all scenarios together.
    pub info: ScenarioInfo,
    /// The study's charts from our results.
    pub charts: Vec<Chart>,
    /// The study's tables from our results.
    pub tables: Vec<Table>,
    /// What all runs took, by the names of the figures.
    pub cost: Vec<(String, f64)>,
}

impl<'a> Reproduced<'a> {
    /// Holds the `chosen` claims, by their indices, against what was found in each world, the
    /// first world first. Of results that are read back, `notes` are what was said of the runs
    /// without a result.
    ///
    /// # Errors
    /// When a run cannot be read of which a claim or a chart wants more than figures.
    pub fn new(
        study: &'a Study,
        chosen: &[usize],
        found: ByWorld<Outcomes>,
        cost: Vec<(String, f64)>,
        notes: Option<Vec<String>>,
    ) -> Result<Self, ReportError> {
        let mut claims: Vec<Judged<'_>> = chosen
            .iter()
            .map(|index| Judged {
                claim: &study.claims[*index],
                verdicts: ByWorld::default(),
            })
            .collect();
        for (world, outcomes) in &found {
            let verdicts = study.judge(chosen, world, outcomes);
            for (judged, verdict) in claims.iter_mut().zip(verdicts) {
                judged.verdicts.insert(world.clone(), verdict);
            }
        }
        let worlds = found.keys().cloned().collect();
        let (charts, tables) = (study.charts(&found), study.tables(&found));
        let found: Vec<_> = found
            .into_iter()
            .map(|(world, outcomes)| Ok((world, outcomes.read()?)))
            .collect::<Result<_, ReportError>>()?;
        let (runs, failures, info) = gather(study, found);
        let (results, rest) = Rest::of(runs);
        Ok(Self {
            worlds,
            study,
            claims,
            results,
            rest,
            failures: notes.unwrap_or(failures),
            info,
            charts,
            tables,
            cost,
        })
    }

    /// How a world's claims came out, in a line without its end.
    pub fn headline(&self, world: &WorldName) -> String {
        let found = self
            .claims
            .iter()
            .filter_map(|it| Some((it.verdicts.get(world)?.status, it.claim.own)));
        let counts = tally(&found.collect::<Vec<_>>()).join("; ");
        let worse = match self.verdicts(world).filter(|it| it.is_worse).count() {
            0 => String::new(),
            worse => format!("; worse than recorded: {worse}"),
        };
        format!("{counts}{worse}")
    }

    /// Whether the source holds in a world, in a sentence.
    pub(crate) fn answer(&self, world: &WorldName) -> String {
        let found = self
            .claims
            .iter()
            .filter_map(|it| Some((it.verdicts.get(world)?.status, it.claim.own)));
        answer(&found.collect::<Vec<_>>())
    }

    /// Whether a claim came out worse than the study records of it, in any world.
    pub fn is_worse(&self) -> bool {
        let mut worlds = self.worlds.iter();
        worlds.any(|world| self.verdicts(world).any(|verdict| verdict.is_worse))
    }

    /// What was found of each claim in a world.
    pub(crate) fn verdicts(&self, world: &WorldName) -> impl Iterator<Item = &Verdict> {
        let claims = self.claims.iter();
        claims.filter_map(move |claim| claim.verdicts.get(world))
    }

    /// How many claims came out so in a world.
    pub fn count(&self, world: &WorldName, status: Status) -> usize {
        let verdicts = self.verdicts(world);
        verdicts.filter(|verdict| verdict.status == status).count()
    }
}

/// All results of all settings and worlds as those of one scenario, the setting a parameter.
fn gather(
    study: &Study,
    found: Vec<(WorldName, Vec<Vec<Outcome<Finished>>>)>,
) -> (Vec<Finished>, Vec<String>, ScenarioInfo) {
    let (mut runs, mut failures) = (Vec::new(), Vec::new());
    let mut axes = Vec::new();
    Axis::add(&mut axes, "setting", []);
    for (world, outcomes) in found {
        for (setting, outcomes) in study.settings.iter().zip(outcomes) {
            let scenario = setting.scenarios.get(&world);
            let Some(scenario) = scenario.filter(|_| !outcomes.is_empty()) else {
                continue;
            };
            Axis::add(&mut axes, "setting", [&setting.name]);
            for axis in &scenario.info.axes {
                Axis::add(&mut axes, &axis.field, &axis.values);
            }
            let (mut good, bad) = split(&scenario.cells, outcomes);
            for run in &mut good {
                let name = ("setting".to_owned(), setting.name.clone());
                run.figures.params.insert(0, name);
            }
            runs.append(&mut good);
            let bad = bad.into_iter();
            failures.extend(bad.map(|line| format!("{} ({world}): {line}", setting.name)));
        }
    }
    let info = ScenarioInfo {
        name: study.name.clone(),
        title: study.title.clone(),
        description: study.description.clone(),
        version: 1,
        axes,
        source: Some(study.text.clone()),
        shard: None,
    };
    (runs, failures, info)
}
