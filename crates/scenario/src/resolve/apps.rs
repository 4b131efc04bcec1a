//! The traffic model of a flow.

use super::Resolver;
use crate::format::{App, DashTable, RuleWord, WebTable};
use crate::quantity::{Bytes, Duration};
use sojourn_apps::dash::{Outage, Rule, Viewing};
use sojourn_apps::{Message, Pages, Spec as AppSpec};
use sojourn_units::Span;

/// Largest payload of a message, so that it fits an IP packet with its headers.
pub(super) const MOST_PAYLOAD: u64 = 65_000;
/// Defaults of `ping`: a common probe, ten times a second.
const PING_SIZE: u16 = 64;
const PING_INTERVAL: Span = Span::from_millis(100);
/// A device's report in the study "home-broadband".
const TELEMETRY_SIZE: Bytes = Bytes(100);
/// G.711 (RFC 3551): 64 kbit/s in packets of 20 ms, and RTP's header.
const VOIP_SIZE: Bytes = Bytes(172);
const PACKET_INTERVAL: Span = Span::from_millis(20);
/// The video call of the study "home-broadband".
const VIDEO_SIZE: Bytes = Bytes(700);
const COMMAND: Bytes = Bytes(60);
const PICTURE: Bytes = Bytes(200);
/// dash.js: `stableBufferTime` and `bufferTimeAtTopQuality`.
const BUFFER: Span = Span::from_secs(12);
const BUFFER_AT_TOP: Span = Span::from_secs(30);
const PREFILL: Span = Span::from_secs(4);
/// BOLA's least buffer: no choice is left at or below it.
const BOLA_LEAST: Span = Span::from_secs(10);
/// 70 objects of 30 kB: the HTTP Archive's median page.
const OBJECT: u64 = 30_000;
const MOST_OBJECT: u32 = 10_000_000;
const PAUSE: Span = Span::from_secs(5);

impl Resolver<'_> {
    #[expect(clippy::too_many_lines, reason = "an arm for each app")]
    pub(super) fn app(&mut self, app: &App, path: &str) -> Option<AppSpec> {
        let path = format!("{path}.app");
        match app {
            App::Bulk => Some(AppSpec::Bulk),
            App::File(file) => {
                if file.size.0 == 0 {
                    self.complain(&format!("{path}.size"), "must be above zero");
                    return None;
                }
                Some(AppSpec::File { size: file.size.0 })
            }
            App::Cbr(cbr) => {
                let size = self.payload(cbr.size, &path)?;
                let interval = match (cbr.interval, cbr.rate) {
                    (Some(interval), None) => self.above_zero(interval, &path, "interval")?,
                    (None, Some(rate)) => rate.0.time_for(u64::from(size)),
                    (Some(_), Some(_)) => {
                        let path = format!("{path}.rate");
                        self.complain(&path, "cbr has either an `interval` or a `rate`");
                        return None;
                    }
                    (None, None) => {
                        self.complain(&path, "missing key `interval` (or `rate`)");
                        return None;
                    }
                };
                Some(AppSpec::Cbr { size, interval })
            }
            App::Ping(ping) => Some(AppSpec::Ping {
                size: match ping.size {
                    None => PING_SIZE,
                    Some(size) => self.payload(size, &path)?,
                },
                interval: match ping.interval {
                    None => PING_INTERVAL,
                    Some(interval) => self.above_zero(interval, &path, "interval")?,
                },
            }),
            App::OnOff(onoff) => Some(AppSpec::OnOff {
                size: self.payload(onoff.size, &path)?,
                rate: onoff.rate.0,
                on: self.above_zero(onoff.on, &path, "on")?,
                off: self.above_zero(onoff.off, &path, "off")?,
            }),
            App::Telemetry(telemetry) => {
                let size = telemetry.size.unwrap_or(TELEMETRY_SIZE);
                let least = Message::LEAST;
                if size.0 < u64::from(least) {
                    let message = format!("a message needs {least} bytes at least");
                    self.complain(&format!("{path}.size"), message);
                    return None;
                }
                Some(AppSpec::Telemetry {
                    size: self.payload(size, &path)?.into(),
                    interval: self.above_zero(telemetry.interval, &path, "interval")?,
                })
            }
            App::Voip(voip) => Some(AppSpec::Voip {
                size: self.payload(voip.size.unwrap_or(VOIP_SIZE), &path)?,
                interval: self.interval(voip.interval, &path)?,
            }),
            App::Video(video) => Some(AppSpec::Video {
                size: self.payload(video.size.unwrap_or(VIDEO_SIZE), &path)?,
                interval: self.interval(video.interval, &path)?,
            }),
            App::Game(game) => Some(AppSpec::Game {
                command: self.payload_of(game.command.unwrap_or(COMMAND), &path, "command")?,
                picture: self.payload_of(game.picture.unwrap_or(PICTURE), &path, "picture")?,
                interval: self.interval(game.interval, &path)?,
            }),
            App::Dash(dash) => self.dash(dash, &path),
            App::Web(web) => self.web(web, &path),
        }
    }

    fn dash(&mut self, dash: &DashTable, path: &str) -> Option<AppSpec> {
        let rule = match dash.rule {
            None | Some(RuleWord::Throughput) => Rule::Throughput,
            Some(RuleWord::Bola) => Rule::Bola,
        };
        let manifest = match self.videos.get(dash.manifest.as_deref()) {
            Ok(manifest) => manifest,
            Err(message) => {
                self.complain(&format!("{path}.manifest"), message);
                return None;
            }
        };
        let buffer = match (dash.buffer, rule) {
            (Some(buffer), _) => self.above_zero(buffer, path, "buffer")?,
            (None, Rule::Throughput) => BUFFER,
            (None, Rule::Bola) => BUFFER_AT_TOP,
        };
        if rule == Rule::Bola && buffer <= BOLA_LEAST {
            self.complain(&format!("{path}.buffer"), "with bola it must be above 10 s");
            return None;
        }
        let lasts = dash.outage.map_or(Span::ZERO, |outage| outage.0);
        let after = dash.outage_start.map_or(Span::ZERO, |start| start.0);
        Some(AppSpec::Dash {
            viewing: Viewing {
                manifest,
                rule,
                prefill: dash.prefill.map_or(PREFILL, |prefill| prefill.0),
                buffer,
                buffer_at_top: dash.buffer_at_top.map_or(BUFFER_AT_TOP, |buffer| buffer.0),
            },
            outage: (!lasts.is_zero()).then_some(Outage { after, lasts }),
        })
    }

    fn web(&mut self, web: &WebTable, path: &str) -> Option<AppSpec> {
        let mut within = |value: Option<u32>, default: u32, most: u32, key: &str| {
            let value = value.unwrap_or(default);
            if (1..=most).contains(&value) {
                return Some(value);
            }
            let message = format!("{value} is not a number from 1 to {most}");
            self.complain(&format!("{path}.{key}"), message);
            None
        };
        let objects = within(web.objects, 70, 10_000, "objects")?;
        let connections = within(web.connections, 6, 64, "connections")?;
        let size = web.size.map_or(OBJECT, |size| size.0);
        let Some(mean_size) = u32::try_from(size)
            .ok()
            .filter(|size| (1..=MOST_OBJECT).contains(size))
        else {
            let message = format!("{size} is not a size of 1 to {MOST_OBJECT} bytes");
            self.complain(&format!("{path}.size"), message);
            return None;
        };
        Some(AppSpec::Web(Pages {
            objects,
            mean_size,
            connections: connections as u8,
            pause: web.pause.map_or(PAUSE, |pause| pause.0),
        }))
    }

    fn payload(&mut self, size: Bytes, path: &str) -> Option<u16> {
        self.payload_of(size, path, "size")
    }

    fn payload_of(&mut self, size: Bytes, path: &str, key: &str) -> Option<u16> {
        match size.0 {
            1..=MOST_PAYLOAD => Some(size.0 as u16),
            other => {
                let message = format!("{other} is not a payload of 1 to {MOST_PAYLOAD} bytes");
                self.complain(&format!("{path}.{key}"), message);
                None
            }
        }
    }

    /// The time between packets; 20 ms unless told otherwise.
    fn interval(&mut self, interval: Option<Duration>, path: &str) -> Option<Span> {
        match interval {
            None => Some(PACKET_INTERVAL),
            Some(interval) => self.above_zero(interval, path, "interval"),
        }
    }

    fn above_zero(&mut self, time: Duration, path: &str, key: &str) -> Option<Span> {
        if time.0.is_zero() {
            self.complain(&format!("{path}.{key}"), "must be above zero");
            return None;
        }
        Some(time.0)
    }
}
