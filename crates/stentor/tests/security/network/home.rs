//! Without `HOME` the user's home is the one of the password database, for us and our children.

use rustix::process::getuid;

use crate::world::World;

/// The home of the user who runs the test.
fn home_of_user() -> Option<String> {
    let user = getuid().as_raw().to_string();
    let entries = std::fs::read_to_string("/etc/passwd").ok()?;
    let entry = entries
        .lines()
        .find(|line| line.split(':').nth(2) == Some(&user))?;
    entry.split(':').nth(5).map(str::to_owned)
}

#[test]
fn a_program_started_with_path_alone_finds_the_users_home() {
    let Some(home) = home_of_user() else {
        return;
    };
    let plan = "[[turn]]\ntool = \"bash\"\narguments = { command = \"echo home is $HOME\" }\n\
                [[turn]]\ntext = \"{{last_tool_result}}\"\n";
    let world = World::new(plan, "");
    let config = world
        .command(&["config", "--json"])
        .env_remove("HOME")
        .output();
    let config = String::from_utf8(config.unwrap().stdout).unwrap();
    let expected = format!("\"path\": \"{home}/.config/stentor/config.toml\"");
    assert!(config.contains(&expected), "{config}");

    // Nothing of the user's own is read or written from here on.
    let mut command = world.command(&["-p", "hi", "--model", "script/plan.toml"]);
    command
        .env_remove("HOME")
        .env("STENTOR_CONFIG_DIR", world.path("home/.config/stentor"))
        .env("STENTOR_DATA_DIR", world.path("home/data"))
        .env("STENTOR_PERMISSION_MODE", "all");
    let out = command.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    let out = String::from_utf8(out.stdout).unwrap();
    assert!(out.contains(&format!("home is {home}")), "{out}{err}");
}
