//! With which flags one may come who only watches: those that name a session, or a place in one.
//! Others start programs, read files or write some.

/// The flags that name a session, in all dialects. Each may have a value.
const NAMES_A_SESSION: [&str; 5] = ["--session", "--resume", "-r", "--continue", "-c"];

/// The flag that names a place. Its value never stands by itself.
const NAMES_A_PLACE: &str = "--cursor";

/// The first word that is neither such a flag nor the value of one.
pub(super) fn other_flag(words: &[String]) -> Option<&str> {
    let mut may_be_value = false;
    words.iter().map(String::as_str).find(|word| {
        let flag = word.split_once('=').map_or(*word, |(flag, _)| flag);
        let names_a_session = NAMES_A_SESSION.contains(&flag);
        let is_value = may_be_value && !word.starts_with('-');
        may_be_value = names_a_session && flag == *word;
        !names_a_session && !is_value && flag != NAMES_A_PLACE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_may_be_named_and_nothing_else() {
        for (words, other) in [
            (vec![], None),
            (vec!["--session", "abc"], None),
            (vec!["--session=abc", "--continue"], None),
            (vec!["--continue", "abc"], None),
            (vec!["--continue=abc", "run"], Some("run")),
            (vec!["--continue", "abc", "--cursor=e:7"], None),
            (vec!["--cursor", "e:7"], Some("e:7")),
            (vec!["--session", "abc", "run"], Some("run")),
            (vec!["--session", "-e"], Some("-e")),
            (vec!["-e", "./program"], Some("-e")),
            (vec!["--model=x"], Some("--model=x")),
            (vec!["@/etc/passwd"], Some("@/etc/passwd")),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(other_flag(&words), other, "{words:?}");
        }
    }
}
