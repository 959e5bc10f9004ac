use super::*;

#[test]
fn a_command_is_seen_through_what_runs_it() {
    for command in [
        "rm x",
        "/bin/rm x",
        "'/usr/bin/rm' x",
        "\\rm x",
        "r\"m\" x",
        "$'rm' x",
        "(bash <<< '2>&1 rm x')",
        "echo \"$(bash <<< '2>&1 rm x')\"",
        "(A='b;c' rm x) <<< y",
        "a[1|1]=1 rm x",
        "(a[1|1]=1 rm x) <<< y",
        "env rm x",
        "env -i A=1 rm x",
        "env -u HOME rm x",
        "env -S 'rm x'",
        "command rm x",
        "command -p rm x",
        "builtin command rm x",
        "exec -a me rm x",
        "nohup rm x",
        "nice rm x",
        "nice -n 5 rm x",
        "nice -5 rm x",
        "timeout 5 rm x",
        "timeout -k 5 10s rm x",
        "timeout --signal=KILL 1 rm x",
        "sudo rm x",
        "sudo -u root -- rm x",
        "sudo -E env A=1 nice timeout 3 /bin/rm x",
        "stdbuf -oL rm x",
        "flock /tmp/l rm x",
        "flock /tmp/l -c 'rm x'",
        "su root -c 'rm x'",
        "script -qc 'rm x' out",
        "xargs -n 1 rm x",
        "find . -name y -exec rm x ;",
        "sh -c 'rm x'",
        "sh -c \"rm x\"",
        "bash -lc 'cd /; rm x'",
        "bash -o pipefail -c 'rm x'",
        "bash -c 'bash -c \"rm x\"'",
        "eval rm x",
        "eval 'rm x'",
        "A=1 rm x",
        "A=1 B+=2 rm x",
        ">out rm x",
        "2>&1 rm x",
        "</dev/null >>out 2>err rm x",
        "&>out rm x",
        "! rm x",
        "time rm x",
        "time -p rm x",
        "if rm x; then true; fi",
        "if true; then rm x; fi",
        "if a; then b; elif c; then d; else rm x; fi",
        "while true; do rm x; done",
        "until rm x; do true; done",
        "for f in a b; do rm x; done",
        "{ rm x; }",
        "{ { rm x; }; }",
        "(rm x)",
        "( ! rm x )",
        "echo $(rm x)",
        "echo \"$(rm x)\"",
        "echo `rm x`",
        "diff <(rm x) y",
        "case a in a) rm x;; esac",
        "f() { rm x; }",
        "function f { rm x; }",
        "bash <<< 'rm x'",
        "bash <<EOF\nrm x\nEOF",
        "true # it\nrm x",
        "a && b || rm x",
        "rm x > out",
        "A=$(echo 1) rm x",
        "A=$(echo \"1 )\" 2) rm x",
        "A=`echo 1` rm x",
        "A=${B:-1 2} rm x",
        "a[0]=1 rm x",
        "a[1 + 1]+=1 rm x",
        "env A=$(echo 1) rm x",
        "env A='b c' rm x",
        "env -S\"rm x\"",
        "env -iS\"rm x\"",
        "env -Srm x",
        "env -S 'rm\\_x'",
        "env -S 'A=1 rm x'",
        "env --split-string=\"rm x\"",
        "env -S '-i rm x'",
        "env -S '-u A rm x'",
        "env -S'-C / rm x'",
        "env -S '-- rm x'",
        "env '-S-i rm x'",
        "env -S '-iu A rm x'",
        "rbash -c 'rm x'",
        "su --command='rm x'",
        "sh -c 'A=$(echo 1) rm x'",
        "sh -c 'exec \"$@\"' _ rm x",
        "sh -c '$1 $2' _ rm x",
        ">$(echo f) rm x",
        ">`echo f` rm x",
        "$'\\x72m' x",
        "$'\\162\\u006d' x",
        "r$'m' x",
        "true; $'r\\x6d' x",
        "A=<(true) rm x",
        "A=>(cat) rm x",
        "sort <(a) <(true) | rm x",
        "git -c alias.x='!rm x' x",
        "git -C /tmp -c core.pager='rm x' log",
        "jobs -x rm x",
        "trap 'rm x' EXIT",
        "trap -- 'rm x' EXIT",
        "cat <<EOF | sh\nrm x\nEOF",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\na\nEOF\nrm x",
    ] {
        let seen = inside(command);
        assert!(
            seen.commands.iter().any(|inner| inner == "rm x"),
            "{command}: {seen:?}"
        );
        assert!(!seen.has_more, "{command}");
    }
}

#[test]
fn what_a_command_only_speaks_of_is_not_inside_it() {
    for command in [
        "echo rm x",
        "grep 'rm x' file",
        "git commit -m 'rm x'",
        "command -v rm",
        "rm\u{a0}x",
        "env A=1 echo rm x",
        "timeout 5 echo rm x",
        "bash script.sh rm x",
    ] {
        let seen = inside(command);
        let is_rm = |inner: &String| inner == "rm" || inner.starts_with("rm ");
        assert!(!seen.commands.iter().any(is_rm), "{command}: {seen:?}");
    }
}

#[test]
fn what_only_a_shell_knows_is_told_from_what_can_be_read() {
    for command in [
        "rm${IFS}x",
        "$X x",
        "\"$X\" x",
        "r$@m x",
        "$(echo rm) x",
        "`echo rm` x",
        "/bin/r? x",
        "/bin/[r]m x",
        "{rm,x}",
        "true && $X x",
        "echo $($X x)",
        "echo $(( $($X x) ))",
        "echo $( ($X x) )",
        "echo $(($X x) )",
        "if true; then $X x; fi",
        "A=1 $X x",
        "env $X x",
        "env -i $X x",
        "sudo -n \"$X\" x",
        "timeout 5 $X x",
        "sh -c \"$(echo 'rm x')\"",
        "sh -c \"$X\"",
        "sh -c \"true $X\"",
        "sh -c '$0 x' rm",
        "eval \"$X\"",
        "eval true $X",
        "trap \"$X\" EXIT",
        "env -S \"$X x\"",
        "env -S\"$X x\"",
        ". <(echo rm x)",
        "source /dev/stdin",
        ". \"$X\"",
        "bash <(echo rm x)",
        "echo rm x | sh",
        "echo rm x | sh -",
        "echo rm x | sh -s a",
        "echo rm x | bash -o pipefail",
        "echo rm x | bash -e /dev/stdin",
        "echo rm x | sudo bash",
        "echo rm x | sh </dev/fd/0",
        "bash <<< \"$X\"",
        "echo rm x | xargs env",
        "echo rm | xargs -I{} {} x",
        "cat <<EOF | sh\ntrue\nEOF",
        "sh <<EOF\n$X x\nEOF",
        "cat <<EOF\ntrue\nEOF\n$X x",
        "$'\\x72m' x; $X",
        "sh < <(echo rm x)",
        "ENV=<(echo rm x) sh -i -c true",
        "export ENV=f; sh -i",
        "env ENV=f dash -ic true",
        "git -c alias.x=\"!$X\" x",
        "A='!rm x' git --config-env=alias.x=A x",
        "git --config-env alias.x=A x",
        "fc -s rm",
        "fc -ls",
        "if true; then $'\\x65nv' sh -c \"$(echo 'rm x')\"; fi",
        "true; $'env' sh -c \"`echo rm x`\"",
    ] {
        assert!(inside(command).runs_unknown, "{command}");
    }
    for command in [
        "rm x",
        "ls *.rs $HOME {a,b}",
        "cd \"$DIR\" && make -j$(nproc)",
        "A=$X B=`y` make",
        "env A=\"b $x\" make",
        "echo $(( $x + (2 * $y) ))",
        "echo ${x:-$HOME}/a",
        "echo $'a' $x",
        "for f in $(ls); do echo $f; done",
        "while read -r x; do echo $x; done < in",
        "if [ -n \"$x\" ] && [[ $y ]]; then echo; fi",
        "timeout $T make",
        "timeout -k 1 9 make",
        "find . -name '*.rs' -exec wc {} +",
        "ls | xargs -n 1 grep time",
        "sh script.sh $x",
        "bash -e ./script.sh <in",
        "sh < script.sh",
        "bash --version",
        "sh -c 'cd \"$1\" && make' _ \"$x\"",
        ". ./env.sh",
        "trap - EXIT",
        "{ make; }",
        "> \"$f\" make",
        "cat > f <<'EOF'\n[package]\n$x = 1;\n* a\nEOF\nmake",
        "python3 - <<EOF\n[a]\nEOF",
        "diff <(sort a) <(sort b)",
        "ENV=production npm start",
        "bash -ic make",
        "git -c user.name=me commit -m x",
        "jobs -l",
        "fc -l 1 5",
        "echo $'a' `date`; make -j$(nproc)",
    ] {
        let seen = inside(command);
        assert!(!seen.runs_unknown, "{command}: {seen:?}");
    }
}

#[test]
fn what_is_too_deep_or_too_long_is_not_taken_for_seen() {
    let mut deep = "rm x".to_owned();
    for _ in 0..MAX_DEPTH + 1 {
        deep = format!("eval {deep}");
    }
    assert!(inside(&deep).has_more);
    let long = "sudo ".repeat(20_000);
    assert!(inside(&long).has_more);
}

proptest::proptest! {
    #[test]
    fn no_command_makes_it_fail(command in "[a-c \"'`$(){}|&;<>#\\\\\n=-]{0,60}") {
        inside(&command);
    }

    /// The shell itself is asked whether the innermost command runs.
    #[test]
    fn what_a_shell_runs_through_others_is_seen(
        layers in proptest::collection::vec(0..LAYERS.len(), 0..5),
    ) {
        let mut command = "rm x".to_owned();
        for layer in layers {
            command = wrap(LAYERS[layer], &command);
        }
        let folder = tempfile::tempdir().unwrap();
        if runs_rm(&command, folder.path()) {
            let seen = inside(&command);
            let is_seen = seen.has_more || seen.runs_unknown || seen.commands.iter().any(|inner| inner == "rm x");
            proptest::prop_assert!(is_seen, "{command}: {seen:?}");
        }
    }
}

/// What can stand around a command. `C` is the command, `Q` is it between quotes.
const LAYERS: [&str; 57] = [
    "env C",
    "env -i PATH=$PATH C",
    "env -u HOME A=1 C",
    "command C",
    "command -p env C",
    "builtin command C",
    "exec C",
    "nohup C",
    "nice C",
    "nice -n 1 C",
    "timeout 60 C",
    "timeout -k 1 60s C",
    "setsid -w C",
    "stdbuf -oL C",
    "sh -c Q",
    "bash -lc Q",
    "bash -c Q x y",
    "env bash -e -c Q",
    "eval Q",
    "A=1 C",
    "A=1 B= C",
    "2>&1 C",
    ">/dev/null 2>&1 C",
    "! C",
    "time C",
    "time -p C",
    "if C; then true; fi",
    "if true; then C; fi",
    "if false; then true; else C; fi",
    "for a in b; do C; done",
    "{ C; }",
    "(C)",
    "echo $(C)",
    "echo \"$(C)\"",
    "true && C",
    "bash <<< Q",
    "A=$(echo 1 2) C",
    "A=`echo 1 2` C",
    "a[0]=1 C",
    "a[1 + 1]=1 C",
    "env -S Q",
    "env -SQ",
    "env --split-string=Q",
    ">$(echo /dev/null) C",
    "$'\\x65nv' C",
    "trap Q EXIT",
    "sh -c 'exec \"$@\"' _ C",
    "sh -c '\"$@\"' _ C",
    "sh -c \"$(echo Q)\"",
    ". <(echo Q)",
    "echo Q | sh",
    "cat <<E | sh\nC\nE\n",
    "A='b;c' C",
    "A=\"b|c\" C",
    "a[1|1]=1 C",
    ">'/dev/null' C",
    "cat <<< 'a;b' && C",
];

fn wrap(layer: &str, command: &str) -> String {
    let quoted = format!("'{}'", command.replace('\'', "'\\''"));
    let words = layer.split_inclusive(['C', 'Q']);
    words
        .map(
            |piece| match (piece.strip_suffix('C'), piece.strip_suffix('Q')) {
                (Some(before), _) => format!("{before}{command}"),
                (None, Some(before)) => format!("{before}{quoted}"),
                (None, None) => piece.to_owned(),
            },
        )
        .collect()
}

/// Runs a command in bash where `rm` is a program that only leaves a mark.
fn runs_rm(command: &str, folder: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mark = folder.join("rm-ran");
    let rm = folder.join("rm");
    std::fs::write(&rm, format!("#!/bin/sh\n: > '{}'\n", mark.display())).unwrap();
    std::fs::set_permissions(&rm, std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let ran = std::process::Command::new("bash")
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .stdin(std::process::Stdio::null())
        .output();
    ran.is_ok() && mark.exists()
}
