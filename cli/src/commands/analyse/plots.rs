//! Pictures of what was found, as SVG.

use std::{error::Error, fs, ops::Range, path::Path};

use plotters::{
    chart::ChartBuilder,
    drawing::IntoDrawingArea,
    element::Rectangle,
    prelude::SVGBackend,
    style::{Color, RGBColor, WHITE},
};
use ziggurat_advice::Advisor;
use ziggurat_analysis::{Distribution, GAP_BINS, LUCK_BINS, SURFACE_BINS, Surface};

use super::Findings;
use crate::{
    failure::{Explain, Failure},
    output::{game, write_whole},
};

/// The pictures: chances by how far both players are, luck of rolls, gaps between moves, lengths of games.
const FILES: [&str; 4] = ["chances.svg", "luck.svg", "gaps.svg", "lengths.svg"];

const SIZE: (u32, u32) = (800, 500);
const SQUARE: (u32, u32) = (620, 620);
const BAR: RGBColor = RGBColor(38, 84, 124);

/// Makes the directory, if it is not there.
///
/// # Errors
/// If it cannot be made, or has one of the pictures.
pub(super) fn prepare(directory: &Path) -> Result<(), Failure> {
    let shown = directory.display();
    fs::create_dir_all(directory).context(format!("cannot create {shown}")).or_bad_input()?;
    match FILES.iter().find(|file| directory.join(file).exists()) {
        Some(file) => {
            Err(Failure::bad_input(format!("{} already exists", directory.join(file).display()))
                .help("name another directory: --plots DIR"))
        }
        None => Ok(()),
    }
}

/// Draws all pictures into a directory.
///
/// # Errors
/// If they cannot be written.
pub(super) fn draw(
    directory: &Path,
    findings: &Findings,
    surface: &Surface,
    distribution: &Distribution,
    advisor: &Advisor,
) -> Result<(), Failure> {
    let [first, second] = &findings.policies;
    let whole = game(advisor.ruleset());
    let between = format!("{whole}, {first} against {second}");
    let player = findings.account.together();
    let share = |sum: f64, of: f64| if of > 0.0 { 100.0 * sum / of } else { 0.0 };

    let luck: Vec<Bar> = (-LUCK_BINS..)
        .zip(player.luck)
        .map(|(from, sum)| (f64::from(from)..f64::from(from + 1), share(sum, player.rolls)))
        .collect();
    let decisions = &player.decisions;
    let gaps: Vec<Bar> = decisions
        .gaps
        .iter()
        .zip(0..)
        .map(|(sum, at)| (f64::from(at)..f64::from(at + 1), share(*sum, decisions.weight)))
        .collect();
    let lengths: Vec<Bar> = distribution
        .probabilities
        .iter()
        .enumerate()
        .map(|(rolls, probability)| (rolls as f64 - 0.5..rolls as f64 + 0.5, 100.0 * probability))
        .collect();
    // A bar begins where the one before ends.
    let end_of_bin = |at: f64| {
        let mut ends = [0.0].into_iter().chain(GAP_BINS);
        ends.nth(at as usize).map_or_else(String::new, |end| end.to_string())
    };
    let plain = |at: f64| format!("{at}");
    let pictures = [
        chances(&whole, surface),
        bars(&Bars {
            title: &format!("Luck of a roll: {between}"),
            across: "luck in percentage points",
            up: "share of rolls in %",
            bars: within(&luck),
            label: &plain,
        }),
        bars(&Bars {
            title: &format!("The second best move: {between}"),
            across: "behind the best by percentage points",
            up: "share of decisions in %",
            bars: &gaps,
            label: &end_of_bin,
        }),
        bars(&Bars {
            title: &format!("Length of a game: {between}"),
            across: "rolls",
            up: "share of games in %",
            bars: within(&lengths),
            label: &plain,
        }),
    ];
    for (file, picture) in FILES.into_iter().zip(pictures) {
        let picture = picture.map_err(|error| anyhow::anyhow!("cannot draw {file}: {error}"))?;
        write_whole(&directory.join(file), false, &picture)?;
    }
    Ok(())
}

/// From where to where on the horizontal axis, and how high.
type Bar = (Range<f64>, f64);

/// What a bar chart shows.
struct Bars<'a> {
    title: &'a str,
    across: &'a str,
    up: &'a str,
    bars: &'a [Bar],
    label: &'a dyn Fn(f64) -> String,
}

/// The bars without those at both ends that are too low to be seen.
fn within(bars: &[Bar]) -> &[Bar] {
    let highest = bars.iter().map(|(_, height)| *height).fold(0.0, f64::max);
    let is_seen = |(_, height): &Bar| *height > highest / 1000.0;
    let first = bars.iter().position(is_seen).unwrap_or(0);
    let last = bars.iter().rposition(is_seen).map_or(bars.len(), |last| last + 1);
    &bars[first..last]
}

fn bars(chart: &Bars<'_>) -> Result<String, Box<dyn Error>> {
    let Bars { title, across, up, bars, label } = chart;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let from = bars.first().map_or(0.0, |(at, _)| at.start);
        let to = bars.last().map_or(1.0, |(at, _)| at.end);
        let high = bars.iter().map(|(_, height)| *height).fold(0.0, f64::max) * 1.05;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(60)
            .build_cartesian_2d(from..to, 0.0..high.max(f64::MIN_POSITIVE))?;
        let text = |at: &f64| label(*at);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_desc(*across)
            .y_desc(*up)
            .x_label_formatter(&text)
            .draw()?;
        let bar =
            |(at, height): &Bar| Rectangle::new([(at.start, 0.0), (at.end, *height)], BAR.filled());
        chart.draw_series(bars.iter().map(bar))?;
        root.present()?;
    }
    Ok(svg)
}

/// The mean chance of the player to move, from blue (none) by white (one half) to red.
fn chances(game: &str, surface: &Surface) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SQUARE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("Mean chance of the player to move: {game}"), ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..100.0, 0.0..100.0)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc("way of the player to move, in %")
            .y_desc("way of the other player, in %")
            .draw()?;
        let edge = |at: usize| 100.0 * at as f64 / SURFACE_BINS as f64;
        let cells = (0..SURFACE_BINS * SURFACE_BINS).filter_map(|cell| {
            let (own, opponent) = (cell / SURFACE_BINS, cell % SURFACE_BINS);
            let chance = surface.mean(own, opponent)?;
            let corners = [(edge(own), edge(opponent)), (edge(own + 1), edge(opponent + 1))];
            Some(Rectangle::new(corners, colour(chance).filled()))
        });
        chart.draw_series(cells)?;
        root.present()?;
    }
    Ok(svg)
}

/// The colour of a chance.
fn colour(chance: f64) -> RGBColor {
    let off = (2.0 * chance - 1.0).clamp(-1.0, 1.0);
    let full = if off < 0.0 { BAR } else { RGBColor(178, 34, 52) };
    let mix = |full: u8| (255.0 + (f64::from(full) - 255.0) * off.abs()).round() as u8;
    RGBColor(mix(full.0), mix(full.1), mix(full.2))
}
