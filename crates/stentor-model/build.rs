//! Makes JSON of the catalogue: people write TOML, but every start reads it, and reading TOML took
//! half of a start.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    const SOURCE: &str = "src/catalogue/models.toml";
    println!("cargo::rerun-if-changed={SOURCE}");
    let catalogue: toml::Table = fs::read_to_string(SOURCE)?.parse()?;
    let folder = env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?;
    let json = serde_json::to_vec(&catalogue)?;
    fs::write(Path::new(&folder).join("models.json"), json)?;
    Ok(())
}
