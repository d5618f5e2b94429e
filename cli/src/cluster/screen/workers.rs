//! The workers, with their shards and speed.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    style::{Color, Style, Stylize},
    widgets::{Cell, Row, Table},
};
use ziggurat_rpc::proto::WorkerStatus;

use crate::{cluster::words, output::bytes};

/// Draws as many of them as there is room for, under a header.
pub fn draw(frame: &mut Frame, area: Rect, workers: &[WorkerStatus]) {
    if area.height < 2 || workers.is_empty() {
        return;
    }
    let widest = workers.iter().map(|worker| worker.name.chars().count()).max().unwrap_or(0);
    let header = Row::new(["worker", "shards", "speed", "memory", "state"]).dim();
    let rows = workers.iter().map(|worker| {
        let color = if worker.connected { Color::Reset } else { Color::Red };
        Row::new(
            [
                worker.name.clone(),
                worker.shards.to_string(),
                words::speed(worker.positions_per_second),
                bytes(worker.resident_bytes),
                words::worker_state(worker),
            ]
            .map(Cell::from),
        )
        .style(Style::new().fg(color))
    });
    let widths = [
        Constraint::Length(widest.clamp(6, 24) as u16),
        Constraint::Length(6),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Min(10),
    ];
    let table = Table::new(rows, widths).header(header).column_spacing(2);
    frame.render_widget(table, area);
}
