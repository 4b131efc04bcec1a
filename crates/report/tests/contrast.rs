//! The page's colours can be read in both themes: WCAG 2.1, level AA, from the style's variables.

use sojourn_report::STYLE;
use std::collections::BTreeMap;

type Colours<'a> = BTreeMap<&'a str, [f64; 3]>;

/// The colours of the rule that begins so, with its parts between 0 and 1.
fn colours(rule: &str) -> Colours<'static> {
    let from = STYLE.find(rule).expect("the style has the rule");
    let body = &STYLE[from..from + STYLE[from..].find('}').unwrap()];
    let part = |hex: &str, at: usize| {
        let value = u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        f64::from(value) / 255.0
    };
    let lines = body.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("--")?.split_once(": #")?;
        let hex = value.trim_end_matches(';');
        Some((name, [part(hex, 0), part(hex, 2), part(hex, 4)]))
    });
    lines.collect()
}

/// Relative luminance, as WCAG defines it.
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = colour.map(|c| match c {
        ..=0.03928 => c / 12.92,
        _ => libm::pow((c + 0.055) / 1.055, 2.4),
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn text_and_lines_stand_out_in_both_themes() {
    let dark = colours(":root[data-theme='dark']");
    assert_eq!(dark, colours(":root:not([data-theme='light'])"));
    for (theme, colours) in [("light", colours(":root {")), ("dark", dark)] {
        let mut pairs = Vec::new();
        for behind in ["bg", "card"] {
            let words = ["ink", "soft", "accent", "good", "bad", "fail"];
            pairs.extend(words.map(|word| (word, behind, 4.5)));
            let lines = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
            pairs.extend(lines.map(|line| (line, behind, 3.0)));
        }
        pairs.extend([
            ("accent", "accent-soft", 4.5),
            ("ink", "accent-soft", 4.5),
            ("good", "good-soft", 4.5),
            ("bad", "bad-soft", 4.5),
            ("card", "bad", 4.5),
        ]);
        for (front, behind, least) in pairs {
            let found = contrast(colours[front], colours[behind]);
            assert!(found >= least, "{theme}: {front} on {behind}: {found:.2}");
        }
    }
}
