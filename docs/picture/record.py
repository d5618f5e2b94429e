#!/usr/bin/env python3
"""Records the picture of the README: a solve in a terminal, as an SVG that plays it.

    python3 -m venv /tmp/pyte && /tmp/pyte/bin/pip install pyte==0.8.2
    ./ziggurat rulesets list                     # builds the program
    /tmp/pyte/bin/python docs/picture/record.py ~/.cache/ziggurat/target/lean/release/ziggurat docs/picture/solve.svg

The program runs in a terminal of its own (a pty), and the terminal's screen is copied whenever the program pauses. The
picture has a few of these copies, at equal times, and the last one. Where motion is not wanted it shows that one alone.
"""

import argparse
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from html import escape
from struct import pack
from termios import TIOCSWINSZ

import pyte

COLUMNS, ROWS = 96, 60
"""The terminal is so high that nothing scrolls away."""

SHOWN_ROWS = 28
"""So many rows, from the top, are in the picture."""

PAUSE_SECONDS = 0.03
"""A program that draws writes a whole drawing without such a pause."""

FRAMES, FRAME_SECONDS, LAST_SECONDS = 24, 0.4, 8.0
"""How many screens the picture has besides the last one, and how long it shows each, and the last."""

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 17, 14
"""In pixels, of a font of 14 pixels."""

STONES = {"░": 0.2, "▒": 0.5, "▓": 0.75, "█": 1}
"""How much of a cell is filled."""

LINES = {
    "─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu",
    "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru", "┼": "lrud",
}
"""The sides of a cell that a line goes to: left, right, up, down."""


def record(program, arguments, directory):
    """Runs the program; returns the screens it drew, each with the seconds since the start, and its exit code."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    typed = " ".join(["./ziggurat", *arguments])
    stream.feed(f"$ {typed}\r\n".encode())
    screens = [(0.0, rows(screen))]
    keyboard, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        ["./ziggurat", *arguments], executable=program, cwd=directory, env=environment,
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
    )
    os.close(terminal)
    started = time.monotonic()
    while True:
        if not select.select([keyboard], [], [], PAUSE_SECONDS)[0]:
            if screens[-1][1] != rows(screen):
                screens.append((time.monotonic() - started, rows(screen)))
            continue
        try:
            read = os.read(keyboard, 65536)
        except OSError:  # the other side is closed
            break
        if not read:
            break
        stream.feed(read)
    screens.append((time.monotonic() - started, rows(screen)))
    return screens, process.wait()


def rows(screen):
    """The rows in the picture, without the blanks at their ends."""
    return [row.rstrip() for row in screen.display[:SHOWN_ROWS]]


def chosen(screens):
    """Some of the screens, at equal times, and the last one."""
    last = screens[-1][0]
    times = [last * frame / FRAMES for frame in range(FRAMES)]
    frames = []
    for at in times:
        latest = [rows for since, rows in screens if since <= at][-1]
        if not frames or frames[-1] != latest:
            frames.append(latest)
    return [*frames, screens[-1][1]]


def drawn(row, line):
    """A row as SVG. Fonts disagree on the width of signs: lines and stones are drawn, and other signs have places."""
    top = MARGIN + line * CELL_HEIGHT
    parts, arms = [], []
    for match in re.finditer(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*|(.)\1*", row):
        run, x = match.group(), MARGIN + match.start() * CELL_WIDTH
        if run[0] in STONES:
            width, opacity = len(run) * CELL_WIDTH, STONES[run[0]]
            size = f'width="{width:.1f}" height="{CELL_HEIGHT - 2}"'
            parts.append(f'<rect x="{x:.1f}" y="{top}" {size} opacity="{opacity}"/>')
        elif run[0] in LINES:
            middle = top + CELL_HEIGHT / 2
            for cell in range(len(run)):
                centre = x + (cell + 0.5) * CELL_WIDTH
                left, right, up, down = (arm in LINES[run[0]] for arm in "lrud")
                from_x, to_x = centre - left * CELL_WIDTH / 2, centre + right * CELL_WIDTH / 2
                from_y, to_y = middle - up * CELL_HEIGHT / 2, middle + down * CELL_HEIGHT / 2
                arms += [f"M{from_x:.1f} {middle}H{to_x:.1f}"] if left or right else []
                arms += [f"M{centre:.1f} {from_y}V{to_y}"] if up or down else []
        elif run[0] != " ":
            parts.append(f'<text x="{x:.1f}" y="{top + 0.78 * CELL_HEIGHT:.1f}">{escape(run)}</text>')
    if arms:
        parts.append(f'<path d="{"".join(arms)}"/>')
    return "".join(f"{part}\n" for part in parts)


def picture(frames):
    """The SVG."""
    total = (len(frames) - 1) * FRAME_SECONDS + LAST_SECONDS
    width, height = 2 * MARGIN + COLUMNS * CELL_WIDTH, 2 * MARGIN + SHOWN_ROWS * CELL_HEIGHT
    rules, groups = [], []
    for number, frame in enumerate(frames):
        is_last = number == len(frames) - 1
        begin = 100 * number * FRAME_SECONDS / total
        end = 100 if is_last else 100 * (number + 1) * FRAME_SECONDS / total
        before = "" if number == 0 else "0%{visibility:hidden}"
        after = "" if is_last else f"{end:.2f}%,100%{{visibility:hidden}}"
        rules.append(f"@keyframes f{number}{{{before}{begin:.2f}%{{visibility:visible}}{after}}}")
        rules.append(f"#f{number}{{animation:f{number} {total:.1f}s step-end infinite}}")
        lines = "".join(drawn(row, line) for line, row in enumerate(frame))
        hidden = "" if is_last else ' visibility="hidden"'
        groups.append(f'<g id="f{number}"{hidden}>\n{lines}</g>\n')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}"'
        f' width="{width:.0f}" height="{height}">\n'
        "<style>\n"
        'text{font:14px "DejaVu Sans Mono","Liberation Mono",Menlo,Consolas,monospace;white-space:pre}\n'
        "text,rect{fill:#e8e4d8}path{stroke:#e8e4d8;fill:none}\n"
        "@media (prefers-reduced-motion:no-preference){\n" + "\n".join(rules) + "\n}\n</style>\n"
        f'<rect width="{width:.0f}" height="{height}" rx="8" style="fill:#1d1f24"/>\n' + "".join(groups) + "</svg>\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program, which must be built")
    parser.add_argument("picture", help="the file to write")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments: `solve finkel` if left out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        typed = arguments.arguments or ["solve", "finkel"]
        screens, code = record(os.path.abspath(arguments.program), typed, directory)
    if code != 0:
        sys.exit(f"{arguments.program} ended with exit code {code}:\n" + "\n".join(screens[-1][1]))
    with open(arguments.picture, "w", encoding="utf-8") as file:
        file.write(picture(chosen(screens)))


if __name__ == "__main__":
    main()
