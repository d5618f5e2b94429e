//! Options of `coordinator` and `worker` from a file, in TOML, each under its name:
//!
//! ```toml
//! dir = "/var/lib/ziggurat"
//! memory = "6GiB"
//! threads = 4
//! insecure = true
//! ```
//!
//! The command line counts more than variables (`ZIGGURAT_MEMORY`), these more than the file, and the file more than defaults.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use clap::{
    ArgAction, ArgMatches, Command,
    error::{ContextKind, ContextValue},
};
use toml::de::{DeTable, DeValue};
use ziggurat_game::{UnknownName, without_mark};

use crate::{
    end_with,
    failure::{Explain, Failure},
};

/// The commands that take such a file.
const SERVICES: [&str; 2] = ["coordinator", "worker"];

/// What is done to a worker that is there already takes none.
const OF_ANOTHER: [&str; 2] = ["drain", "forget"];

/// Options that have a meaning only together: where one of them is given, the file has no say in the others.
const SECURITY: [&str; 4] = ["token-file", "tls-ca", "tls-cert", "tls-key"];

/// The option that names the file.
#[derive(clap::Args, Debug)]
pub struct ConfigArgs {
    /// A file with options, in TOML: `memory = "6GiB"`. The command line counts more, variables too
    #[arg(long = "config", value_name = "FILE", env = "ZIGGURAT_CONFIG")]
    _config: Option<PathBuf>,
}

/// An option in a file.
struct Entry {
    /// Its name.
    name: String,
    /// The line it is on, from 1.
    line: usize,
    /// As it is typed on the command line.
    arguments: Vec<String>,
}

/// Reads the command line, and the file that it names, or its variable. Variables that are empty count as not set.
///
/// # Errors
/// If there is something wrong in the file. Where something is wrong with the command line, this ends the process.
pub fn read(command: Command, arguments: Vec<OsString>) -> Result<ArgMatches, Failure> {
    let mut command = without_empty_variables(command);
    let service = arguments.get(1).and_then(|name| name.to_str());
    let service = service.filter(|name| SERVICES.contains(name)).map(str::to_owned);
    let is_of_another = arguments
        .get(2)
        .and_then(|name| name.to_str())
        .is_some_and(|name| OF_ANOTHER.contains(&name));
    let service = service.filter(|_| !is_of_another);
    let file = typed(&arguments, "config").or_else(|| variable("config")).map(PathBuf::from);
    let (Some(service), Some(file)) = (service, file) else {
        let matches = command.try_get_matches_from(arguments);
        return Ok(matches.unwrap_or_else(|error| end_with(&error)));
    };
    let shown = file.display();
    let text = fs::read_to_string(&file).context(format!("cannot read {shown}")).or_bad_input()?;
    let text = without_mark(&text);
    let at = |line: usize, what: String| Failure::bad_input(format!("{shown}:{line}: {what}"));
    let options = options(&mut command, &service);
    let mut of_file = entries(text, options).map_err(|(line, what)| at(line, what))?;
    of_file.retain(|entry| !is_overridden(&entry.name, &arguments));
    let lines = of_file.iter().flat_map(|entry| &entry.arguments).map(OsString::from);
    let all: Vec<OsString> = arguments.iter().cloned().chain(lines).collect();
    command.try_get_matches_from_mut(all).map_err(|error| {
        let Some(entry) = of_file.iter().find(|entry| is_about(&error, &entry.name)) else {
            end_with(&error)
        };
        let message = error.render().to_string();
        let message = message.lines().next().unwrap_or_default();
        at(entry.line, message.trim_start_matches("error: ").to_owned())
    })
}

/// A command for which variables that are empty are not there.
fn without_empty_variables(command: Command) -> Command {
    let is_empty = |name: &OsStr| env::var_os(name).is_some_and(|value| value.is_empty());
    command.mut_subcommands(|service| {
        service.mut_args(|option| match option.get_env().is_some_and(is_empty) {
            true => option.env(None::<&str>),
            false => option,
        })
    })
}

/// The options of a command that may be in a file, and whether they take a value.
fn options(command: &mut Command, service: &str) -> Vec<(String, bool)> {
    command.build();
    let service = command.find_subcommand(service).expect("it is one of the commands");
    let options = service.get_arguments().filter_map(|option| {
        let takes_value = option.get_action().takes_values();
        let is_option = takes_value || matches!(option.get_action(), ArgAction::SetTrue);
        let name = option.get_long().filter(|name| is_option && *name != "config")?;
        Some((name.to_owned(), takes_value))
    });
    options.collect()
}

/// What a file says of `options`; where it is not right, the line, and why.
fn entries(text: &str, options: Vec<(String, bool)>) -> Result<Vec<Entry>, (usize, String)> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| {
        (line_of(error.span().unwrap_or_default().start), error.message().to_owned())
    })?;
    let mut entries = Vec::new();
    for (key, value) in table.get_ref() {
        let (name, line) = (key.get_ref().as_ref(), line_of(key.span().start));
        let Some(&(_, takes_value)) = options.iter().find(|(known, _)| known == name) else {
            let known = options.iter().map(|(known, _)| known.as_str());
            return Err((line, UnknownName::new("option", name, known).to_string()));
        };
        let arguments = match value.get_ref() {
            DeValue::Boolean(is_set) if !takes_value => {
                is_set.then(|| format!("--{name}")).into_iter().collect()
            }
            _ if !takes_value => return Err((line, format!("write {name} = true or false"))),
            DeValue::String(text) => vec![format!("--{name}={text}")],
            DeValue::Integer(number) => vec![format!("--{name}={}", number.as_str())],
            DeValue::Float(number) => vec![format!("--{name}={}", number.as_str())],
            _ => return Err((line, format!("write {name} = \"...\""))),
        };
        entries.push(Entry { name: name.to_owned(), line, arguments });
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

/// Whether the command line or a variable has more to say of an option than a file.
fn is_overridden(name: &str, arguments: &[OsString]) -> bool {
    let together = if SECURITY.contains(&name) { &SECURITY[..] } else { &[name] };
    together.iter().any(|name| typed(arguments, name).is_some() || variable(name).is_some())
}

/// The value of an option on the command line; of one that takes none, what comes after it.
fn typed(arguments: &[OsString], name: &str) -> Option<OsString> {
    let option = format!("--{name}");
    arguments.iter().enumerate().find_map(|(at, argument)| {
        match argument.as_bytes().strip_prefix(option.as_bytes())? {
            b"" => Some(arguments.get(at + 1).cloned().unwrap_or_default()),
            rest => rest.strip_prefix(b"=").map(|value| OsStr::from_bytes(value).to_owned()),
        }
    })
}

/// The value of an option's variable, if that has any.
fn variable(name: &str) -> Option<OsString> {
    let name = format!("ZIGGURAT_{}", name.replace('-', "_").to_uppercase());
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether an error on the command line is about an option.
fn is_about(error: &clap::Error, name: &str) -> bool {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else {
        return false;
    };
    shown.strip_prefix("--").is_some_and(|shown| shown.split([' ', '=']).next() == Some(name))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn every_option_of_a_service_has_a_variable_of_its_name() {
        let mut command = Cli::command();
        for service in SERVICES {
            let options = options(&mut command, service);
            assert!(options.len() > 10, "{service}");
            for (name, _) in options {
                let variable = format!("ZIGGURAT_{}", name.replace('-', "_").to_uppercase());
                let service = command.find_subcommand(service).unwrap();
                let option = service.get_arguments().find(|one| one.get_long() == Some(&name));
                let option = option.unwrap();
                // Those of a coordinator's address and of secrets are read where they are needed.
                let help = option.get_help().map(ToString::to_string).unwrap_or_default();
                let has = option.get_env() == Some(OsStr::new(&variable))
                    || help.contains(&format!("[env: {variable}]"));
                assert!(has, "--{name} has no variable {variable}");
            }
        }
    }
}
