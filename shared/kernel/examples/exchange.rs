//! The traffic of a team: `exchange finkel:5:2` solves finkel with 5 pieces with two members, which are dealt
//! its shards as workers are, and prints how many bytes go over the wire per halo position and superstep.

#[path = "../tests/common/team.rs"]
mod team;

use std::sync::atomic::Ordering;

use team::{Exchanged, Rules, solve};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_kernel::{Arrays, MemberIndex, Precision, Settings, shards, units, waves};
use ziggurat_planning::placement::{deal, shards_by_wave};

fn main() {
    for game in std::env::args().skip(1) {
        let mut parts = game.split(':');
        let mut next = || parts.next().expect("games are given as name:pieces:members");
        let (name, pieces, members) = (next(), next(), next());
        let members: usize = members.parse().expect("members are a number");
        let pieces = Some(pieces.parse().expect("pieces are a number"));
        let ruleset = Ruleset::builtin(name).expect("a built-in ruleset");
        let ruleset = ruleset.with(&Overrides { pieces, ..Overrides::default() });
        let encoding = Encoding::new(&ruleset.expect("a number of pieces")).expect("a ranking");
        print_exchanged(&game, &encoding, members);
    }
}

fn print_exchanged(game: &str, encoding: &Encoding, members: usize) {
    let settings = Settings { threads: 1, ..Settings::new(Precision::F64) };
    let owners = |tier: Tier, _: usize, _: u32| {
        let shards = shards(encoding, &settings, tier);
        let units = units(encoding, tier, &shards);
        let by_wave = shards_by_wave(shards.len(), &units, &waves(encoding, &units));
        let owners = deal(&by_wave, &vec![1.0; members]);
        let owners = owners.into_iter().map(MemberIndex).collect();
        (members, owners)
    };
    let rules = Rules {
        most_members: members,
        owners: &owners,
        orders_of_attempt: u32::MAX,
        arrays: Arrays::InMemory,
    };
    let exchanged = Exchanged::default();
    solve(encoding, &settings, &rules, &exchanged);
    let Exchanged { bytes, for_proofs, halo, halo_of_proofs, .. } = &exchanged;
    let [bytes, proofs, halo, halo_of_proofs] = [bytes, for_proofs, halo, halo_of_proofs]
        .map(|number| number.load(Ordering::Relaxed) as f64);
    println!(
        "{game}: {:.3} bytes per halo position and superstep (proofs {:.3}, all others {:.3}), \
         {:.3} interval sweeps per superstep",
        bytes / (halo + halo_of_proofs),
        proofs / halo_of_proofs,
        (bytes - proofs) / halo,
        halo_of_proofs / halo,
    );
}
