"""Plays seeded random games with the package RoyalUr and writes what it saw as JSON lines.

    play.py GAMES SEED RULESET...

One line per game says which ruleset follows: {"ruleset": "finkel"}. Then one line per roll:

    position  the pieces before the roll, as Ziggurat writes positions: own/opponent, each the
              path positions on the board or -, then +k for k scored
    roll      the roll
    moves     all legal moves as [from, to] path positions, 0 the hand, ascending
    move      the one made, null if the turn passes
    after     the pieces afterwards, still seen by the player who rolled
    next      who rolls next: "own", "opponent", or null if the game is won

This script only asks the package and translates its answers: no rule is decided here.
"""

import json
import random
import sys

from royalur import Game, GameSettings, PathType, PlayerType
from royalur.model import Roll
from royalur.rules import WaitingForMoveGameState, WinGameState

LIGHT, DARK = PlayerType.LIGHT, PlayerType.DARK
MASTERS = GameSettings.create_masters()
RULESETS = {
    "finkel": GameSettings.create_finkel(),
    "masters": MASTERS,
    "aseb": GameSettings.create_aseb(),
    # Extra rolls for captures, and paths that visit squares twice.
    "blitz": MASTERS.with_captures_grant_extra_rolls(True).with_starting_piece_count(5),
    "skiriuk": GameSettings.create_finkel().with_paths(PathType.SKIRIUK),
    "murray": GameSettings.create_finkel().with_paths(PathType.MURRAY),
}


def side(board, path, player):
    """The pieces of one player, as Ziggurat writes them."""
    on_board = []
    for index, tile in enumerate(path):
        piece = board.get(tile)
        if piece and piece.owner is player.player and piece.path_index == index:
            on_board.append(str(index + 1))
    scored = f"+{player.score}" if player.score else ""
    return (",".join(on_board) or "-") + scored


def sides(state, paths):
    """The pieces of each player."""
    return {
        LIGHT: side(state.board, paths.light, state.light_player),
        DARK: side(state.board, paths.dark, state.dark_player),
    }


def squares(move, path_length):
    """A move as [from, to] path positions."""
    source = 0 if move.is_introducing_piece() else move.get_source_piece().path_index + 1
    scores = move.is_scoring_piece()
    return [source, path_length + 1 if scores else move.get_dest_piece().path_index + 1]


def play(rules, paths, dice):
    """One random game, roll by roll."""
    length = len(paths.light)
    # How often the piece that is furthest along moves: some games are races, others scrums.
    haste = dice.random()
    state = rules.generate_initial_game_state()
    pieces = sides(state, paths)
    while not isinstance(state, WinGameState):
        mover = state.get_turn()
        other = mover.get_other_player()
        before = pieces
        # Every roll that any of the games' dice can make, equally often.
        roll = dice.randrange(5)
        state = rules.apply_roll(state, Roll(roll))[-1]
        moves, made = [], None
        if isinstance(state, WaitingForMoveGameState):
            choices = [(squares(move, length), move) for move in state.available_moves]
            choices.sort(key=lambda choice: choice[0])
            moves = [choice[0] for choice in choices]
            made, move = choices[-1] if dice.random() < haste else dice.choice(choices)
            state = rules.apply_move(state, move)[-1]
            pieces = sides(state, paths)
        if isinstance(state, WinGameState):
            following = None
        else:
            following = "own" if state.get_turn() is mover else "opponent"
        yield {
            "position": f"{before[mover]}/{before[other]}",
            "roll": roll,
            "moves": moves,
            "move": made,
            "after": f"{pieces[mover]}/{pieces[other]}",
            "next": following,
        }


def main():
    games, seed = int(sys.argv[1]), int(sys.argv[2])
    for name in sys.argv[3:]:
        settings = RULESETS[name]
        rules = Game.create(settings).rules
        dice = random.Random(f"{name} {seed}")
        for _ in range(games):
            print(json.dumps({"ruleset": name}))
            for record in play(rules, settings.paths, dice):
                print(json.dumps(record))


if __name__ == "__main__":
    main()
