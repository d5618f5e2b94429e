"""Reads raw .zgt tables, with nothing but Python 3.11: an example of what docs/TABLES.md says.

    ziggurat solve finkel --pieces 3 --raw
    python3 docs/zgt.py finkel-3.zgt start 4,8+1/3,12

prints the chance of the player to move for each position, in percent, as `ziggurat table get` does.
"""

import json
import mmap
import struct
import sys
import tomllib
from functools import cache
from itertools import combinations


class Table:
    def __init__(self, file):
        with open(file, "rb") as opened:
            self.bytes = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, length = struct.unpack_from("<8sII", self.bytes)
        if magic != b"\x89ZGT\r\n\x1a\n" or version != 3:
            raise ValueError(f"{file} is no .zgt table of version 3")
        header = json.loads(self.bytes[16 : 16 + length])
        if header["compression"] != "raw" or header["encoder_version"] != 1:
            raise ValueError(f"{file} is not raw, or ordered in another way: ziggurat export --raw")
        self.value_type, self.positions = header["value_type"], header["positions"]
        offset, length = struct.unpack_from("<QQ", self.bytes, len(self.bytes) - 40)
        index = json.loads(self.bytes[offset : offset + length])
        # Where the values of a tier begin, by the pieces left of who just moved and who is to move.
        self.start = {
            (entry["tier"]["just_moved"], entry["tier"]["to_move"]): entry["frames"][0][0]
            for entry in index
        }
        self.set_ruleset(tomllib.loads(header["ruleset"]))

    def set_ruleset(self, ruleset):
        self.pieces, path = ruleset["pieces"], [tuple(square) for square in ruleset["path"]]
        mirror = lambda square: (4 - square[0], square[1])
        # A square's visits are its positions on the path, from 1 on.
        visits = {}
        for at, square in enumerate(path, 1):
            visits.setdefault(square, []).append(at)
        shared = [square for square in visits if mirror(square) in visits]
        last = lambda square: visits[square][-1]
        shared.sort(key=lambda s: (max(last(s), last(mirror(s))), last(s)), reverse=True)
        # The digits of a shared square: nothing, a visit of who just moved, a visit of who is to move.
        self.squares = [(visits[square], visits[mirror(square)]) for square in shared]
        on_shared = {at for own, _ in self.squares for at in own}
        private = [visits[square] for square in visits if visits[square][0] not in on_shared]
        # Private configurations by number of pieces, then progress; of a square at most one visit.
        masks = [
            sum(1 << at for at in chosen)
            for count in range(self.pieces + 1)
            for chosen in combinations([at for square in private for at in square], count)
            if all(len(set(square) & set(chosen)) <= 1 for square in private)
        ]
        self.private = sum(1 << at for square in private for at in square)
        bits = lambda mask: [at for at in range(64) if mask >> at & 1]
        masks.sort(key=lambda mask: (mask.bit_count(), sum(bits(mask)), mask))
        self.rank = {mask: rank for rank, mask in enumerate(masks)}
        # How many have at most so many pieces.
        self.count = [sum(mask.bit_count() <= k for mask in masks) for k in range(self.pieces + 1)]
        self.blocks = cache(self.blocks_after)

    def blocks_after(self, place, x, y):
        """The positions of all blocks from a shared square on, where x and y pieces are still to be placed."""
        if x < 0 or y < 0:
            return 0
        if place == len(self.squares):
            return self.count[x] * self.count[y]
        own, other = self.squares[place]
        after = lambda x, y: self.blocks(place + 1, x, y)
        return after(x, y) + len(own) * after(x - 1, y) + len(other) * after(x, y - 1)

    def index(self, just_moved, to_move):
        """The tier of a position and its place there; both players are a mask of path positions and the pieces scored."""
        (x_mask, x_scored), (y_mask, y_scored) = just_moved, to_move
        x, y = tier = self.pieces - x_scored, self.pieces - y_scored
        offset = 0
        for place, (own, other) in enumerate(self.squares):
            after = lambda x, y: self.blocks(place + 1, x, y)
            digits = [(x, y)] + [(x - 1, y)] * len(own) + [(x, y - 1)] * len(other)
            taken = [bool(x_mask >> at & 1) for at in own] + [bool(y_mask >> at & 1) for at in other]
            digit = taken.index(True) + 1 if any(taken) else 0
            offset += sum(after(*smaller) for smaller in digits[:digit])
            x, y = digits[digit]
        row, column = self.rank[x_mask & self.private], self.rank[y_mask & self.private]
        return tier, offset + row * self.count[y] + column

    def chance(self, own, opponent):
        """The chance that the player to move wins, 0 to 1; `own` is theirs."""
        if self.pieces in (own[1], opponent[1]):
            return float(own[1] == self.pieces)
        tier, at = self.index(opponent, own)
        kind, width = {"f64": ("d", 8), "f32": ("f", 4), "percent16": ("H", 2)}[self.value_type]
        (stored,) = struct.unpack_from("<" + kind, self.bytes, self.start[tier] + width * at)
        # Stored is what it is worth for who just moved: a number of 65535ths, or the chance less one half.
        return 1 - stored / 65535 if kind == "H" else 0.5 - stored


def side(text):
    """A side such as 4,8+1: pieces on the 4th and 8th square of the path, and one scored."""
    board, _, scored = text.partition("+")
    pieces = [int(at) for at in board.split(",")] if board not in ("", "-") else []
    return sum(1 << at for at in pieces), int(scored or 0)


if __name__ == "__main__":
    table = Table(sys.argv[1])
    for position in sys.argv[2:]:
        own, opponent = ("-/-" if position == "start" else position).split("/")
        print(f"{position}  {100 * table.chance(side(own), side(opponent)):.10f} %")
