//! Which squares carry digits, and in which order.
//!
//! A *shared* square is on both players' paths, a *private* one on one player's only. Each
//! shared square is one digit of the shared configuration, each private square one digit of a
//! player's private configuration.
//!
//! The digit of a shared square is 0 (empty), then the own visits of the square in path order,
//! then the opponent's. Shared squares are in path order, the furthest along the path first (most
//! significant). Two squares that are each other's mirror (as the last squares of the long
//! tracks are) stand next to each other, at the place of the one further along, so that a prefix
//! of the order can be closed under exchanging the players.

use ziggurat_game::{Path, PathPosition, Ruleset, Square};

/// A shared square and who can stand on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedSquare {
    /// The physical square, in the frame of the player whose pieces are "own".
    pub square: Square,
    /// The own path positions on it, ascending: digits 1..=own.len().
    pub own: Vec<PathPosition>,
    /// The opponent's path positions on it, ascending: the digits after those.
    pub opponent: Vec<PathPosition>,
    /// The place in the order of the mirrored square, where the other player sees this one.
    pub mirror: usize,
}

impl SharedSquare {
    /// How many values the digit has.
    pub fn base(&self) -> usize {
        1 + self.own.len() + self.opponent.len()
    }

    /// What a digit says: nothing, or whose piece stands on which path position.
    pub fn occupant(&self, digit: u8) -> Option<Occupant> {
        let digit = usize::from(digit).checked_sub(1)?;
        Some(match digit.checked_sub(self.own.len()) {
            None => Occupant::Own(self.own[digit]),
            Some(visit) => Occupant::Opponent(self.opponent[visit]),
        })
    }

    /// The digit the other player writes, on the mirrored square, for `digit` on this one.
    pub fn swapped(&self, digit: u8) -> u8 {
        let (own, opponent) = (self.own.len() as u8, self.opponent.len() as u8);
        match digit {
            0 => 0,
            d if d <= own => d + opponent,
            d => d - own,
        }
    }
}

/// Whose piece stands on a shared square, and on which path position of theirs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occupant {
    /// A piece of the player whose frame it is.
    Own(PathPosition),
    /// A piece of the other player.
    Opponent(PathPosition),
}

/// Where a path position is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the player's private configuration.
    Private,
    /// As a digit of the shared configuration.
    Shared {
        /// The square's place in the order.
        square: usize,
        /// The digit it then has.
        digit: u8,
    },
}

/// The digits of a ruleset's positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// The shared squares, most significant first.
    pub shared: Vec<SharedSquare>,
    /// The private squares in the order of their first visit: the path positions on each.
    pub private: Vec<Vec<PathPosition>>,
    /// Where an own piece on path position 1..=len is written down (entry 0 is unused).
    pub own_place: Vec<Place>,
    /// The same for an opponent's piece on a path position of the opponent's own path.
    pub opponent_place: Vec<Place>,
}

impl Geometry {
    /// The geometry of a ruleset's path.
    pub fn new(ruleset: &Ruleset) -> Self {
        let path = ruleset.path();
        let squares = distinct_squares(path);
        let is_shared = |square: &Square| squares.contains(&square.mirror());
        let visits = |square: Square| -> Vec<PathPosition> {
            path.positions().filter(|&(_, s)| s == square).map(|(at, _)| at).collect()
        };
        let furthest = |square: Square| visits(square).last().copied().unwrap_or(0);

        let private =
            squares.iter().filter(|s| !is_shared(s)).map(|&s| visits(s)).collect::<Vec<_>>();
        let mut order: Vec<Square> = squares.iter().copied().filter(is_shared).collect();
        order.sort_by_key(|&s| {
            let pair = furthest(s).max(furthest(s.mirror()));
            std::cmp::Reverse((pair, furthest(s)))
        });
        let place_of = |square: Square| order.iter().position(|&s| s == square);
        let shared: Vec<SharedSquare> = order
            .iter()
            .map(|&square| SharedSquare {
                square,
                own: visits(square),
                opponent: visits(square.mirror()),
                mirror: place_of(square.mirror()).expect("a shared square's mirror is shared"),
            })
            .collect();

        let place = |at: PathPosition, opponent: bool| {
            let square = path.square(at);
            match place_of(if opponent { square.mirror() } else { square }) {
                None => Place::Private,
                Some(place) => {
                    let SharedSquare { own, opponent: theirs, .. } = &shared[place];
                    let list = if opponent { theirs } else { own };
                    let visit = list.iter().position(|&v| v == at).expect("the visit is listed");
                    let before = if opponent { own.len() } else { 0 };
                    Place::Shared { square: place, digit: (1 + before + visit) as u8 }
                }
            }
        };
        let places = |opponent: bool| {
            let on_path = (1..=path.len()).map(|at| place(at, opponent));
            std::iter::once(Place::Private).chain(on_path).collect()
        };
        let (own_place, opponent_place) = (places(false), places(true));
        Self { shared, private, own_place, opponent_place }
    }

    /// Whether a player comes by some shared square more than once. If not, shared configurations in descending order
    /// have the pieces furthest along first, or nearly so where squares have mirrors.
    pub fn visits_squares_again(&self) -> bool {
        self.shared.iter().any(|square| square.own.len() > 1)
    }

    /// Whether the `depth` most significant shared squares contain each one's mirror.
    pub fn is_closed_under_swap(&self, depth: usize) -> bool {
        self.shared[..depth].iter().all(|square| square.mirror < depth)
    }
}

/// The squares of a path in the order of their first visit.
fn distinct_squares(path: &Path) -> Vec<Square> {
    let mut squares: Vec<Square> = Vec::new();
    for &square in path.squares() {
        if !squares.contains(&square) {
            squares.push(square);
        }
    }
    squares
}
