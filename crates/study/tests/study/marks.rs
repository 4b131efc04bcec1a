//! Mistakes in marks of known deviations.

use super::{parse, study};

#[test]
fn mistakes_in_marks_have_a_line() {
    let head = "id = \"X1\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n";
    for (mark, place, message) in [
        (
            "\"because\"",
            "claim.X1.check.deviation",
            "expected a table with `verdict`, `why`",
        ),
        (
            "{ verdict = \"reference\", why = \"It is so.\", reference = \"ns-2 has it.\" }",
            "claim.X1.check.deviation.within",
            "is missing",
        ),
        (
            "{ verdict = \"open\", why = \"so\", within = \"1 < 2\" }",
            "claim.X1.check.deviation.why",
            "is not a sentence with a full stop",
        ),
        (
            "{ verdict = \"open\", why = \"It is so.\", within = \"link.utilisation[fifo] < link.utilisation[codel]\" }",
            "claim.X1.check.deviation.within",
            "has no number, so it is not a bound",
        ),
        (
            "{ verdict = \"open\", world = \"life\", why = \"It is so.\", within = \"1 < 2\" }",
            "claim.X1.check.deviation.world",
            "did you mean `live`?",
        ),
        (
            "{ why = \"It is so.\", within = \"1 < 2\" }",
            "claim.X1.check.deviation",
            "`verdict`",
        ),
        (
            "{ verdict = \"modell\", why = \"It is so.\", within = \"1 < 2\" }",
            "claim.X1.check.deviation.verdict",
            "did you mean `model`?",
        ),
        (
            "{ verdict = \"reference\", why = \"It is so.\", within = \"1 < 2\" }",
            "claim.X1.check.deviation",
            "`reference` is missing",
        ),
        (
            "{ verdict = \"open\", why = \"It is so.\", within = \"1 < 2\", reference = \"it\" }",
            "claim.X1.check.deviation.reference",
            "is not a sentence with a full stop",
        ),
    ] {
        let text = study(&format!(
            "{head}check = [{{ holds = \"2 < 1\", deviation = {mark} }}]"
        ));
        let error = parse(&text).expect_err(mark);
        assert!(
            error.contains("study.toml:17:") && error.contains(place) && error.contains(message),
            "{mark}\n{error}"
        );
    }
}

#[test]
fn an_order_needs_three_seeds() {
    let text = study(
        "id = \"X1\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\nseeds = 2\n\
         check = [\"link.utilisation[codel] < link.utilisation[fifo]\"]",
    );
    let error = parse(&text).expect_err("two are too few");
    assert!(
        error.contains("claim.X1.seeds: 2 seeds are too few")
            && error.contains("it needs 3 at least"),
        "{error}"
    );
}
