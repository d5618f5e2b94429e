//! `ziggurat analyse`: what a table says of whole games.

mod json;
mod plots;
mod text;

use std::path::{Path, PathBuf};

use rayon::{ThreadPool, ThreadPoolBuilder};
use ziggurat_advice::{Advisor, Policy, Weights};
use ziggurat_analysis::{
    Account, AnalysisError, Analyst, Distribution, Games, Perfect, Question, Surface, memory_bytes,
};
use ziggurat_kernel::PROGRAM_MEMORY_BYTES;
use ziggurat_table::Tell;

use crate::{
    advice::tell_if_unproven,
    failure::{Exit, Explain, Failure},
    job::threads,
    needs::check_available,
    output::{bytes, print, print_json},
    progress::watched,
    resources,
};

/// Say how long games last, how much of them is luck, how hard the decisions are, and what policies are worth
///
/// Without --policy, of games between perfect players. All numbers come from linear equations, not from simulation, each with the
/// largest distance that it may have from the true one. docs/ANALYSIS.md says what they mean.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat analyse finkel-5.zgt\n\
\x20 ziggurat analyse finkel-5.zgt --policy random\n\
\x20 ziggurat analyse finkel-5.zgt --policy mine.toml --against greedy --json")]
pub struct Args {
    /// A solved table, .zgt or .rgu
    file: PathBuf,

    /// How one player chooses moves: perfect, random, furthest, rearmost, greedy, gain, or a file with weights of features
    #[arg(long, value_name = "NAME|FILE", default_value = "perfect")]
    policy: String,

    /// How the other player does
    #[arg(long, value_name = "NAME|FILE", default_value = "perfect")]
    against: String,

    /// Find also how well the best player does against the policy, who knows it
    #[arg(long)]
    best_response: bool,

    /// Find only how likely the policy wins, and what it loses in all decisions: in a tenth of the time, and less memory
    #[arg(long, conflicts_with_all = ["best_response", "distribution", "plots"])]
    chances: bool,

    /// Find also how likely games of each length are: this takes memory for all policy graphs at a time, and a pass over all
    /// positions for each roll of a long game
    #[arg(long)]
    distribution: bool,

    /// Draw pictures into this directory, as SVG; takes what --distribution takes
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,

    /// Threads; 0 is one per core. The numbers do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads())]
    threads: usize,

    /// Memory the whole process may use, such as 6GiB [default: what the system has available]
    #[arg(long, value_name = "SIZE", value_parser = resources::parse_size)]
    memory: Option<u64>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
pub(super) struct Findings {
    /// The policies.
    policies: [Policy; 2],
    /// Games between perfect players, if both are.
    perfect: Option<Perfect>,
    /// Games that the first policy begins, and games that the second begins.
    games: [Games; 2],
    account: Account,
    /// Games between the best player against the first policy and that policy; and those that the policy begins.
    best_response: Option<[Games; 2]>,
    /// How long games are.
    distribution: Option<Distribution>,
    /// The chance by how far the players are, for a picture.
    surface: Option<Surface>,
}

impl Findings {
    fn are_same(&self) -> bool {
        self.policies[0] == self.policies[1]
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let policies = [policy(&args.policy)?, policy(&args.against)?];
    let advisor = Advisor::open(&args.file)?;
    check_memory(args, &advisor, &policies)?;
    args.plots.as_deref().map_or(Ok(()), plots::prepare)?;
    let pool = ThreadPoolBuilder::new().num_threads(args.threads).build();
    let pool = pool.or_help("ask for fewer: --threads N")?;
    if args.chances {
        return chances(args, &advisor, &policies, &pool);
    }
    let findings = pool.install(|| find(args, &advisor, policies)).map_err(failure)?;
    if let (Some(directory), Some(surface), Some(distribution)) =
        (&args.plots, &findings.surface, &findings.distribution)
    {
        plots::draw(directory, &findings, surface, distribution, &advisor)?;
    }
    if args.json {
        print_json(&json::of(&findings, &advisor))?;
    } else {
        print(&text::of(&findings, &advisor))?;
        tell_if_unproven(advisor.table());
    }
    Ok(Exit::Success)
}

/// Prints the chances alone.
fn chances(
    args: &Args,
    advisor: &Advisor,
    policies: &[Policy; 2],
    pool: &ThreadPool,
) -> Result<Exit, Failure> {
    let title = format!("Chances in {}", args.file.display());
    let analyst = Analyst::new(advisor);
    let ask = |tell: &Tell<'_>| analyst.chances(policies.each_ref(), tell);
    let chances = pool.install(|| watched(&title, args.json, ask)).map_err(failure)?;
    let title = format!("Decisions in {}", args.file.display());
    let ask = |tell: &Tell<'_>| analyst.all_decisions(&policies[0], tell);
    let decisions = pool.install(|| watched(&title, args.json, ask)).map_err(failure)?;
    if args.json {
        print_json(&json::of_chances(policies, chances, &decisions, advisor))?;
    } else {
        print(&text::of_chances(policies, chances, &decisions, advisor))?;
        tell_if_unproven(advisor.table());
    }
    Ok(Exit::Success)
}

/// The policy of a name, or of a file.
fn policy(text: &str) -> Result<Policy, Failure> {
    let path = Path::new(text);
    if path.extension().is_some_and(|it| it == "toml") || path.components().count() > 1 {
        let weights = Weights::read(path).or_bad_input()?;
        return Ok(Policy::Weighted(weights.into()));
    }
    let named = text.parse().or_bad_input();
    named.map_err(|failure| {
        failure.help("or name a file with weights of features, such as mine.toml")
    })
}

fn failure(error: AnalysisError) -> Failure {
    match error {
        AnalysisError::Table(error) => error.into(),
        AnalysisError::TooManyPositions { .. } | AnalysisError::TooManyMoves { .. } => {
            Failure::refused(error)
        }
        AnalysisError::NoEnd { .. } => Failure::of(Exit::Failed, error),
    }
}

/// Refuses what does not fit memory.
fn check_memory(args: &Args, advisor: &Advisor, policies: &[Policy; 2]) -> Result<(), Failure> {
    let encoding = advisor.table().encoding();
    let of_random =
        |policies: &[Policy]| policies.iter().filter(|it| **it == Policy::Random).count() as u64;
    let same = policies[0] == policies[1];
    let lists = of_random(if same { &policies[..1] } else { policies });
    let mut questions = if args.chances {
        vec![Question::Chances { lists: of_random(policies) }]
    } else if policies.iter().all(|policy| *policy == Policy::Perfect) {
        vec![Question::Account { same, lists }, Question::Perfect]
    } else {
        vec![Question::Account { same, lists }, Question::Games { lists: of_random(policies) }]
    };
    if args.best_response {
        questions.push(Question::Games { lists: 1 + of_random(&policies[..1]) });
    }
    if args.distribution || args.plots.is_some() {
        questions.push(Question::Distribution { same, lists });
    }
    let needed =
        PROGRAM_MEMORY_BYTES + memory_bytes(encoding, &questions) + advisor.table().held_bytes();
    let what = format!("analysing {}", args.file.display());
    if let Some(allowed) = args.memory.filter(|allowed| *allowed < needed) {
        let (takes, allows) = (bytes(needed), bytes(allowed));
        let said = format!("{what} takes {takes} of memory; --memory allows {allows}");
        return Err(Failure::refused(said).help(format!(
            "allow it (--memory {}MiB), or analyse a table with fewer pieces",
            needed.div_ceil(1 << 20)
        )));
    }
    check_available(&what, needed)
        .or_help("analyse a table with fewer pieces, or on a machine with more memory")
}

fn find(args: &Args, advisor: &Advisor, policies: [Policy; 2]) -> Result<Findings, AnalysisError> {
    let analyst = Analyst::new(advisor);
    let file = args.file.display();
    let [first, second] = policies.each_ref();
    let lengths = format!("Lengths of games of {file}");
    let is_perfect = [first, second].into_iter().all(|policy| *policy == Policy::Perfect);
    let (perfect, games) = if is_perfect {
        let perfect = watched(&lengths, args.json, |tell| analyst.perfect(tell))?;
        (Some(perfect), [perfect.shortest; 2])
    } else {
        (None, watched(&lengths, args.json, |tell| analyst.games([first, second], tell))?)
    };
    let mut longest = games[0].longest.max(games[1].longest);
    if let Some(perfect) = &perfect {
        longest = longest.max(perfect.longest.longest);
    }
    let visits = format!("Positions of games of {file}");
    let account =
        watched(&visits, args.json, |tell| analyst.account([first, second], longest, tell))?;
    let best_response = match args.best_response {
        true => {
            let title = format!("The best response to {first}");
            Some(watched(&title, args.json, |tell| analyst.best_response(first, tell))?)
        }
        false => None,
    };
    let distribution = match args.distribution || args.plots.is_some() {
        true => {
            let title = format!("All lengths of games of {file}");
            Some(watched(&title, args.json, |tell| analyst.distribution([first, second], tell))?)
        }
        false => None,
    };
    let surface = match args.plots {
        Some(_) => {
            let title = format!("Chances of {file}");
            Some(watched(&title, args.json, |tell| analyst.surface(tell))?)
        }
        None => None,
    };
    Ok(Findings { policies, perfect, games, account, best_response, distribution, surface })
}
