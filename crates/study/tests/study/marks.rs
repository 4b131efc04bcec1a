//! Mistakes in marks of known deviations.

use super::{parse, study};

#[test]
fn mistakes_in_marks_have_a_line() {
    let head = "id = \"X1\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n";
    for (mark, place, message) in [
        (
            "\"because\"",
            "claim.X1.check.deviation",
            "expected a table with `why`",
        ),
        (
            "{ why = \"It is so.\" }",
            "claim.X1.check.deviation",
            "`within`",
        ),
        (
            "{ why = \"so\", within = \"1 < 2\" }",
            "claim.X1.check.deviation.why",
            "is no sentence with a full stop",
        ),
        (
            "{ why = \"It is so.\", within = \"link.utilisation[fifo] < link.utilisation[codel]\" }",
            "claim.X1.check.deviation.within",
            "has no number, so it is no bound",
        ),
        (
            "{ world = \"life\", why = \"It is so.\", within = \"1 < 2\" }",
            "claim.X1.check.deviation.world",
            "did you mean `live`?",
        ),
        (
            "{ seeds = \"4..2\", why = \"It is so.\", within = \"1 < 2\" }",
            "claim.X1.check.deviation.seeds",
            "`4..2` is no number of seeds",
        ),
        (
            "{ why = \"It is so.\", within = \"1 < 2\", reference = { agrees = \"uss\", says = \"It has it.\" } }",
            "claim.X1.check.deviation.reference.agrees",
            "did you mean `us`?",
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
