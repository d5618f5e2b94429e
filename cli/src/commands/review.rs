//! `ziggurat review`: the account of a game.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde_json::json;
use ziggurat_advice::Advisor;
use ziggurat_records::{Game, MOST_BYTES, Rules};
use ziggurat_review::{Review, Totals, page, review, table, text, to_json, totals_json};

use crate::{
    advice::tell_if_unproven,
    failure::{Exit, Explain, Failure},
    output::{print, print_json, write_whole},
};

/// Show where a game was won and lost: the luck of every roll, what every move lost, and the account of both
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat review game.rgn --table finkel-7.zgt\n\
\x20 ziggurat review game.json --table finkel-7.zgt --html game.html\n\
\x20 ziggurat review games/*.rgn --table finkel-7.zgt")]
pub struct Args {
    /// Records of games, RGN or JSON; `-` for one on standard input
    #[arg(required = true, value_name = "GAME")]
    games: Vec<PathBuf>,

    /// The table of the rules they were played by, .zgt or .rgu
    #[arg(long, value_name = "FILE")]
    table: PathBuf,

    /// Print JSON: a line for each game
    #[arg(long)]
    json: bool,

    /// Write the account of the game as a page to step through, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Replace the page if it exists
    #[arg(long, requires = "html")]
    force: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let advisor = Advisor::open(&args.table)?;
    if args.html.is_some() && args.games.len() > 1 {
        return Err(Failure::bad_input(
            "a page has the account of one game, and several are named",
        )
        .help("name one game with --html"));
    }
    let mut reviews = Vec::new();
    for file in &args.games {
        let shown = file.display().to_string();
        let game = read_game(file, &advisor)?;
        let review = review(game, &advisor).context(format!("cannot review {shown}"))?;
        reviews.push((shown, review));
    }
    if let Some(html) = &args.html {
        let name = args.games[0].file_name().unwrap_or_default().to_string_lossy();
        write_whole(html, args.force, &page(&reviews[0].1, &name))?;
    }
    if args.json {
        print_lines(&reviews)?;
    } else {
        match &reviews[..] {
            [(_, only)] => print(&text(only))?,
            several => print(&table(several))?,
        }
        tell_if_unproven(advisor.table());
    }
    Ok(Exit::Success)
}

/// A game by the rules of a table.
fn read_game(file: &Path, advisor: &Advisor) -> Result<Game, Failure> {
    let shown = if file == Path::new("-") {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let mut bytes = Vec::new();
    // One more byte than a record may have, so that the reader refuses it.
    let most = MOST_BYTES as u64 + 1;
    let read = if file == Path::new("-") {
        io::stdin().take(most).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    read.context(format!("cannot read {shown}")).or_bad_input()?;
    ziggurat_records::read(&bytes, Rules::Known(advisor.ruleset())).context(shown).or_bad_input()
}

/// A line for each game, and one for all if there are several.
fn print_lines(reviews: &[(String, Review)]) -> Result<(), Failure> {
    let mut sums = [Totals::default(); 2];
    for (name, review) in reviews {
        let mut line = to_json(review);
        line["file"] = name.as_str().into();
        print_json(&line)?;
        for (sum, totals) in sums.iter_mut().zip(&review.totals) {
            *sum += *totals;
        }
    }
    if reviews.len() > 1 {
        let [light, dark] = sums.map(|sum| totals_json(&sum));
        print_json(&json!({"games": reviews.len(), "light": light, "dark": dark}))?;
    }
    Ok(())
}
