use super::*;

fn output(text: &str, dropped_bytes: u64) -> JobOutput {
    JobOutput {
        text: text.to_owned(),
        dropped_bytes,
        next: 0,
        whole: "Full output: /x.log".to_owned(),
    }
}

#[test]
fn a_model_reads_the_end_and_how_much_is_left_out() {
    assert_eq!(for_model(&output("a\nb\n", 0)), "a\nb\n");
    let long: String = (0..3000).map(|n| format!("{n}\n")).collect();
    let shown = for_model(&output(&long, 0));
    assert!(
        shown.starts_with("[3.8KB before this is left out. Full output: /x.log]\n1000\n"),
        "{shown}"
    );
    assert!(shown.ends_with("2999"));
    let dropped = for_model(&output(&"x".repeat(60 * 1024), 1 << 20));
    assert!(
        dropped.starts_with("[1.0MB before this is left out."),
        "{dropped}"
    );
}

#[test]
fn a_message_about_an_end_shows_a_few_lines() {
    assert_eq!(shown_end(&output(" \n", 0), "job-1"), "");
    assert_eq!(
        shown_end(&output("done\n", 0), "job-1"),
        "\nThe end of its output:\ndone"
    );
    let long: String = (0..30).map(|n| format!("{n}\n")).collect();
    let shown = shown_end(&output(&long, 0), "job-1");
    assert!(
        shown.starts_with("\nThe end of its output:\n10\n"),
        "{shown}"
    );
    assert!(shown.ends_with("29\n[There is more: read job-1 with the job tool.]"));
}
