//! `ziggurat completions`: what a shell completes while a command is typed.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{
    Cli,
    failure::{Exit, Failure},
    output::print,
};

/// Print what a shell has to know to complete commands, options and names
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Such as: ziggurat completions bash > ~/.local/share/bash-completion/completions/ziggurat"
)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "ziggurat", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// Some rulesets, dice, types, formats and kinds of captures.
    const NAMES: [&str; 7] =
        ["finkel", "skiriuk", "binary15", "d6-ur", "percent16", "parquet", "same-lap"];

    #[test]
    fn every_shell_is_told_of_all_commands_rulesets_dice_and_formats() {
        for &shell in Shell::value_variants() {
            let mut script = Vec::new();
            generate(shell, &mut Cli::command(), "ziggurat", &mut script);
            let script = String::from_utf8(script).unwrap();
            // Fish is not told what stands without an option, Elvish and PowerShell of options alone.
            let told = match shell {
                Shell::Bash | Shell::Zsh => &NAMES[..],
                Shell::Fish => &NAMES[2..],
                _ => &[],
            };
            for name in told {
                assert!(script.contains(name), "{shell}: {name}");
            }
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
