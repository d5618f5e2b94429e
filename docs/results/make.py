#!/usr/bin/env python3
"""Makes rows of the book of results anew, says whether they changed, and writes results.json, README.md and pictures.

usage: docs/results/make.py PROGRAM [--keep DIR] [ROW...]

PROGRAM is a ziggurat; a ROW is a ruleset with a number of pieces, such as finkel-3. Without one, all rows of the book are
made; with --page none is, and the page is written from results.json. With --keep, tables and answers are kept in a
directory, and those that are there are not made again. Nothing but Python's standard library is needed.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PAGE = HERE / "README.md"
PICTURES = HERE / "pictures"

TRACKS = [
    "single-short", "single-long", "double-short", "double-long", "short-long", "long-short", "twisted-short",
    "twisted-long", "twisted-short-long", "twisted-long-short", "short-backtrack", "long-backtrack",
    "short-central-backtrack", "long-central-backtrack", "short-twisted-backtrack", "long-twisted-backtrack", "aseb",
]
POPULAR = ["finkel", "masters", "masters-four-dice", "blitz"]
POLICIES = ["random", "rearmost", "furthest", "greedy", "gain"]

# Of larger games the book has no distribution of lengths, and chances of policies alone, those of LARGE.
MOST_POSITIONS = 1_000_000
LARGE = ["finkel-7"]

# The row of which there are pictures.
PICTURED = "finkel-3"

# Numbers of a row, and below which relative difference, or bound, they are the same.
SAME = 1e-9


def all_rows():
    """Every track and the popular rulesets with up to 3 pieces, and those of LARGE."""
    return [f"{name}-{pieces}" for pieces in (1, 2, 3) for name in TRACKS + POPULAR] + LARGE


def run(program, *arguments, directory):
    command = [program, *arguments]
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


class Answers:
    """The answers to questions about a row, kept in a directory. `seconds` counts those given now and before."""

    def __init__(self, program, row, directory):
        self.program, self.row, self.directory = program, row, directory
        self.commands, self.seconds = [], 0.0

    def ask(self, name, *arguments):
        """The last line of `ziggurat ARGUMENTS --json`, kept under a name."""
        self.commands.append(" ".join(["ziggurat", *arguments]))
        kept = self.directory / f"{self.row}.{name}.json"
        if not kept.exists():
            began = time.monotonic()
            answer = run(self.program, *arguments, "--json", directory=self.directory)
            found = {"seconds": time.monotonic() - began, "answer": json.loads(answer.splitlines()[-1])}
            kept.with_suffix(".new").write_text(json.dumps(found))
            kept.with_suffix(".new").rename(kept)
        found = json.loads(kept.read_text())
        self.seconds += found["seconds"]
        return found["answer"]


def bounded(number):
    """A number and how far it may be from the true one."""
    return {"value": number["value"], "bound": max(number["high"] - number["value"], number["value"] - number["low"])}


def policy_alone(found):
    return {name: bounded(found[name]) for name in ("percent_if_it_begins", "percent_if_it_answers")}


def policy_in_games(found):
    player = found["players"][0]
    return policy_alone(found) | {
        "rolls": bounded(found["begins"]["rolls"]["mean"]),
        "regret_points": player["decisions"]["regret_points"],
        "regret_points_over_all": player["all_decisions"]["regret_points"],
        "largest_regret_points": player["decisions"]["largest_regret_points"],
    }


def policies_of(answers, table, is_large):
    """What the book says of each policy, by its name."""
    if not is_large:
        found = {policy: answers.ask(policy, "analyse", table, "--policy", policy) for policy in POLICIES}
        return {policy: policy_in_games(found) for policy, found in found.items()}
    wanted = POLICIES if answers.row in LARGE else []
    found = {policy: answers.ask(policy, "analyse", table, "--policy", policy, "--chances") for policy in wanted}
    return {
        policy: policy_alone(found)
        | {"regret_points_over_all": found["all_decisions"]["regret_points"]}
        for policy, found in found.items()
    }


def draw(program, table, directory):
    run(program, "analyse", table, "--plots", "pictures", directory=directory)
    PICTURES.mkdir(exist_ok=True)
    for picture in (directory / "pictures").iterdir():
        (PICTURES / picture.name).write_text(picture.read_text())


def make(program, row, directory):
    ruleset, pieces = row.rsplit("-", 1)
    answers, table = Answers(program, row, directory), f"{row}.zgt"
    positions = answers.ask("count", "count", ruleset, "--pieces", pieces)["positions"]
    is_large = positions > MOST_POSITIONS
    answers.commands.clear()
    answers.ask("solve", "solve", ruleset, "--pieces", pieces, "--out", table)
    perfect = answers.ask("perfect", "analyse", table, *[] if is_large else ["--distribution"])
    policies = policies_of(answers, table, is_large)
    if row == PICTURED:
        draw(program, table, directory)
    lengths = {}
    for name, games in (("shortest", perfect["begins"]), ("longest", perfect["longer"])):
        lengths[name] = {
            what: {part: bounded(games[what][part]) for part in ("mean", "deviation")}
            for what in ("rolls", "turns", "moves")
        }
    player = perfect["players"][0]
    decisions = player["decisions"]
    quantiles, so_far = {}, 0.0
    for rolls, probability in enumerate(perfect.get("distribution", {"probabilities": []})["probabilities"]):
        so_far += probability
        for share in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99):
            if so_far >= share:
                quantiles.setdefault(str(share), rolls)
    version = run(program, "--version", directory=".").strip()
    return {
        "ruleset": ruleset,
        "pieces": int(pieces),
        "version": version,
        "commands": answers.commands,
        "positions": perfect["positions"],
        "positions_that_occur": perfect["positions_that_occur"],
        "certificate": perfect["certificate"],
        "first_player_percent": bounded(perfect["percent_if_it_begins"]),
        "lengths": lengths,
        "ties": perfect["ties"],
        "quantiles": quantiles,
        "error": perfect["error"],
        "decisions": decisions["weight"],
        "choices": decisions["choices"],
        "free_percent": 100 * decisions["free"],
        "hard_percent": 100 * decisions["hard"],
        "captures": player["captures"],
        "extra_rolls": player["extra_rolls"],
        "passes": player["passes"],
        "lead_changes": player["lead_changes"],
        "luck_of_a_roll_points": player["luck_of_a_roll_points"],
        "luck_of_a_game_points": player["luck_of_a_game_points"],
        "complexity": perfect["complexity"],
        "policies": policies,
        "seconds": round(answers.seconds, 1),
    }


def differences(old, new, at=""):
    """Where two rows differ by more than rounding; times, bounds and the version do not count."""
    if isinstance(new, dict):
        names = (old.keys() if isinstance(old, dict) else set()) | new.keys()
        ignored = {"seconds", "version", "bound", "error"}
        return [
            line
            for name in sorted(names - ignored)
            for line in differences(old.get(name) if isinstance(old, dict) else None, new.get(name), f"{at}.{name}")
        ]
    if isinstance(new, float) and isinstance(old, (float, int)):
        near = math.isclose(old, new, rel_tol=SAME, abs_tol=SAME)
        return [] if near else [f"{at}: {old} -> {new}"]
    return [] if old == new else [f"{at}: {old} -> {new}"]


def shown(number, least=1e-10):
    """A bounded number with as many decimals as are right, at most eight."""
    error = max(number["bound"], least)
    decimals = max(0, min(8, math.floor(-math.log10(error))))
    return f"{number['value']:.{decimals}f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def largest_bound(rows):
    bounds = []

    def walk(it):
        if isinstance(it, dict):
            if "bound" in it:
                bounds.append(it["bound"])
            for below in it.values():
                walk(below)

    walk(rows)
    return max(bounds)


def page(book):
    rows = [book[name] for name in sorted(book, key=lambda name: (book[name]["pieces"], name))]
    name = lambda row: f"{row['ruleset']} {row['pieces']}"
    rolls = lambda row, which, part: shown(row["lengths"][which]["rolls"][part])
    text = (
        "# The book of results\n\n"
        "What solved games say of themselves, made by [`make.py`](make.py) from [`results.json`](results.json), which has\n"
        "the bound of each number, and of each row the version and the commands that give it again.\n"
        "[ANALYSIS.md](../ANALYSIS.md) says what the numbers mean.\n\n"
        f"No chance, length or deviation on this page is further than {largest_bound(book):.1e} from the true one.\n\n"
        "## Chances and lengths\n\n"
        "The chance of the player who begins, in percent; rolls of a game between perfect players, their standard\n"
        "deviation, and within how many half of all games end; positions with a roll in which moves are tied for the best.\n\n"
    )
    text += table(
        ["game", "positions", "that occur", "first player", "rolls", "deviation", "median", "ties"],
        [
            [
                name(row), f"{row['positions']:,}", f"{row['positions_that_occur']:,}",
                shown(row["first_player_percent"]), rolls(row, "shortest", "mean"),
                rolls(row, "shortest", "deviation"), str(row["quantiles"].get("0.5", "")), f"{row['ties']:,}",
            ]
            for row in rows
        ],
    )
    tied = [row for row in rows if rolls(row, "shortest", "mean") != rolls(row, "longest", "mean")]
    if tied:
        text += "\nWhere ties matter, lengths above are with ties broken towards shorter games. Towards longer ones:\n\n"
        text += table(
            ["game", "rolls", "deviation"],
            [[name(row), rolls(row, "longest", "mean"), rolls(row, "longest", "deviation")] for row in tied],
        )
    text += (
        "\n## Luck, skill and what happens\n\n"
        "In a game between perfect players. Luck in percentage points, free and hard decisions in percent.\n\n"
    )
    text += table(
        ["game", "luck of a roll", "of a game", "decisions", "choices", "free", "hard", "captures", "extra rolls",
         "passes", "lead changes"],
        [
            [
                name(row), f"{row['luck_of_a_roll_points']:.4f}", f"{row['luck_of_a_game_points']:.4f}",
                f"{row['decisions']:.4f}", f"{row['choices']:.4f}", f"{row['free_percent']:.3f}",
                f"{row['hard_percent']:.3f}", f"{row['captures']:.4f}", f"{row['extra_rolls']:.4f}",
                f"{row['passes']:.4f}", f"{row['lead_changes']:.4f}",
            ]
            for row in rows
        ],
    )
    text += (
        "\n## Policies against the perfect player\n\n"
        "The chance of each, in percent, if it begins and if the perfect player does, and its mean regret of a decision,\n"
        "as they occur, in percentage points.\n\n"
    )
    regret = lambda of: f"{of['regret_points']:.5f}" if "regret_points" in of else ""
    text += table(
        ["game"] + [f"{policy} {what}" for policy in POLICIES for what in ("begins", "answers", "regret")],
        [
            [name(row)] + [
                cell
                for policy in (row["policies"][name] for name in POLICIES)
                for cell in (
                    shown(policy["percent_if_it_begins"], 1e-6),
                    shown(policy["percent_if_it_answers"], 1e-6),
                    regret(policy),
                )
            ]
            for row in rows
            if row["policies"]
        ],
    )
    text += "\n## Complexity\n\nPowers of ten.\n\n"
    text += table(
        ["game", "state space", "game tree"],
        [
            [name(row), f"{row['complexity']['state_space_log10']:.2f}", f"{row['complexity']['game_tree_log10']:.2f}"]
            for row in rows
        ],
    )
    if (PICTURES / "lengths.svg").exists():
        text += f"\n## Pictures\n\nOf {PICTURED}, by `ziggurat analyse {PICTURED}.zgt --plots DIR`.\n"
        for picture in ("chances", "luck", "gaps", "lengths"):
            text += f"\n![{picture}](pictures/{picture}.svg)\n"
    return text


def make_rows(program, wanted, directory):
    """Makes rows and puts those that changed into results.json; whether there are any."""
    book = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    changed = False
    for row in [] if wanted == ["--page"] else wanted or all_rows():
        new = make(program, row, directory)
        found = differences(book[row], new) if row in book else None
        changed |= bool(found)
        what = "new" if found is None else "changed:\n  " + "\n  ".join(found) if found else "the same"
        print(f"{row}: {what} ({new['seconds']} s)", flush=True)
        if found is None or found:
            book[row] = new
            RESULTS.write_text(json.dumps(book, indent=1, sort_keys=True) + "\n")
    return changed


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    program, wanted = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    if wanted[:1] == ["--keep"]:
        kept = pathlib.Path(wanted[1]).resolve()
        kept.mkdir(parents=True, exist_ok=True)
        changed = make_rows(program, wanted[2:], kept)
    else:
        with tempfile.TemporaryDirectory() as directory:
            changed = make_rows(program, wanted, pathlib.Path(directory))
    book = json.loads(RESULTS.read_text())
    PAGE.write_text(page(book))
    sys.exit(1 if changed else 0)


main()
