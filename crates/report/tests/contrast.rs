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

#[test]
fn printed_pages_are_light_and_keep_the_colours_of_legends() {
    let light = &STYLE[..STYLE.find('}').expect("the first rule ends")];
    assert!(light.contains(" print-color-adjust: exact"), "{light}");
    for dark in [
        ":root[data-theme='dark']",
        ":root:not([data-theme='light'])",
    ] {
        let before = &STYLE[..STYLE.find(dark).expect("the style has the rule")];
        let media = before.rfind("@media").map(|at| &before[at..]);
        assert!(media.is_some_and(|media| media.starts_with("@media screen")));
    }
}

/// A colour in Oklab (Ottosson, 2020), where a distance is about what eyes see of it.
fn oklab(colour: [f64; 3]) -> [f64; 3] {
    let linear = colour.map(|c| match c {
        ..=0.04045 => c / 12.92,
        _ => libm::pow((c + 0.055) / 1.055, 2.4),
    });
    let times = |rows: [[f64; 3]; 3], v: [f64; 3]| {
        rows.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    };
    let cones = [
        [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
        [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
        [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
    ];
    let axes = [
        [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
        [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
        [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
    ];
    times(axes, times(cones, linear).map(libm::cbrt))
}

#[test]
fn lines_can_be_told_apart_in_both_themes() {
    for rule in [":root {", ":root[data-theme='dark']"] {
        let colours = colours(rule);
        let lines: Vec<_> = (0..8).map(|n| oklab(colours[&*format!("c{n}")])).collect();
        for (number, a) in lines.iter().enumerate() {
            for (other, b) in lines.iter().enumerate().skip(number + 1) {
                let squares: f64 = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum();
                let far = squares.sqrt();
                assert!(far >= 0.099, "{rule} c{number} and c{other}: {far:.3}");
            }
        }
    }
}
