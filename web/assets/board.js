// @ts-check
// The board as SVG, on its side as in the terminal: rows run from left to right, dark's column is at the top.

import { shape } from "/assets/dom.js";
import { inHand, on } from "/assets/position.js";

/** @typedef {import("/assets/position.js").Table} Table */
/** @typedef {import("/assets/position.js").Position} Position */
/** @typedef {import("/assets/position.js").Player} Player */
/** @typedef {{ from: number, to: number, kind: string }} Arrow kind: classes, such as `best` */

const SIZE = 44, TRAY = 30;

/** How wide the picture is: short boards stand in the middle of one that has room for words. @param {Table} table */
const widthOf = (table) => Math.max(table.board.rows, 8) * SIZE;

/** The middle of a square. @param {Table} table @param {string} name @returns {[number, number]} */
function middle(table, name) {
  const column = name.charCodeAt(0) - 65, row = Number(name.slice(1)) - 1;
  return [(widthOf(table) - table.board.rows * SIZE) / 2 + row * SIZE + SIZE / 2, TRAY + (2 - column) * SIZE + SIZE / 2];
}

/** Where pieces in hand and scored ones lie. @param {Table} table @param {Player} player @param {boolean} scored @returns {[number, number]} */
function tray(table, player, scored) {
  return [scored ? widthOf(table) - 14 : 14, player === "dark" ? 15 : TRAY * 1.5 + 3 * SIZE];
}

/** @param {Table} table @param {string} name */
function mark(table, name) {
  const [x, y] = middle(table, name), { safe, rolls_again, rosettes } = table.board;
  const isSafe = safe.includes(name), again = rolls_again.includes(name), rosette = rosettes.includes(name);
  if (rosette || (isSafe && again)) {
    const petals = [0, 45, 90, 135].map((turn) => shape("ellipse", { cx: x, cy: y, rx: 15, ry: 4.5, transform: `rotate(${turn} ${x} ${y})` }));
    return shape("g", { class: "mark" }, ...petals);
  }
  if (isSafe) return shape("path", { class: "mark", d: `M${x} ${y - 13}l13 13l-13 13l-13 -13z` });
  return again ? shape("circle", { class: "mark ring", cx: x, cy: y, r: 13 }) : null;
}

/** @param {Table} table @param {Position} position @param {string} name */
function describe(table, position, name) {
  const here = on(table, position, name);
  return `${name}, ${here ? `${here.player} piece, path position ${here.at}` : "empty"}`;
}

/** @param {Table} table @param {Player} player @param {Arrow} arrow */
function arrowOf(table, player, { from, to, kind }) {
  const path = table.board.paths[player];
  const [x1, y1] = from === 0 ? tray(table, player, false) : middle(table, path[from - 1]);
  const [x2, y2] = to > path.length ? tray(table, player, true) : middle(table, path[to - 1]);
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [tx, ty] = [x2 - dx * 4, y2 - dy * 4], [bx, by] = [tx - dx * 9, ty - dy * 9];
  return shape("g", { class: `arrow ${kind}`, "data-from": from, "data-to": to },
    shape("line", { x1, y1, x2: bx, y2: by }),
    shape("path", { d: `M${tx} ${ty}L${bx - dy * 5} ${by + dx * 5}L${bx + dy * 5} ${by - dx * 5}z` }));
}

/**
 * Draws a position. `open` says which squares can be clicked, `click` what that does.
 * @param {Table} table @param {Position} position
 * @param {{ arrows?: Arrow[], open?: (square: string) => boolean, click?: (square: string) => void, edit?: boolean }} options
 */
export function drawBoard(table, position, { arrows = [], open = () => false, click = () => {} }) {
  const { squares, paths } = table.board;
  const width = widthOf(table), height = 3 * SIZE + 2 * TRAY;
  const svg = shape("svg", { viewBox: `-1 0 ${width + 2} ${height}`, role: "group", "aria-label": "The board" });
  for (const name of squares) {
    const [x, y] = middle(table, name), isOpen = open(name);
    const group = shape("g", { class: isOpen ? "square open" : "square", "data-square": name, role: isOpen ? "button" : "img", tabindex: isOpen && 0, "aria-label": describe(table, position, name) },
      shape("rect", { x: x - SIZE / 2, y: y - SIZE / 2, width: SIZE, height: SIZE }),
      mark(table, name),
      shape("text", { x: x - SIZE / 2 + 3, y: y - SIZE / 2 + 9 }, name));
    if (isOpen) {
      group.addEventListener("click", () => click(name));
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        click(name);
      });
    }
    const here = on(table, position, name);
    if (here) {
      group.append(shape("circle", { class: `piece ${here.player}`, "data-piece": here.player, "data-at": here.at, cx: x, cy: y, r: 15 }));
      const visits = paths[here.player].filter((it) => it === name).length;
      const visit = paths[here.player].slice(0, here.at).filter((it) => it === name).length;
      if (visits > 1) group.append(shape("text", { class: `lap ${here.player}`, x, y: y + 4 }, visit));
    }
    svg.append(group);
  }
  for (const player of /** @type {Player[]} */ (["dark", "light"])) {
    const side = position[player], hand = inHand(table, side), [, y] = tray(table, player, false);
    for (let i = 0; i < hand; i++) svg.append(shape("circle", { class: `piece ${player}`, cx: 10 + i * 9, cy: y, r: 7 }));
    for (let i = 0; i < side.scored; i++) svg.append(shape("circle", { class: `piece ${player}`, cx: width - 10 - i * 9, cy: y, r: 7 }));
    const isOver = position.light.scored === table.pieces || position.dark.scored === table.pieces;
    const rolls = position.turn === player && !isOver;
    svg.append(shape("text", { class: rolls ? "tray rolls" : "tray", x: width / 2, y: y + 4, "text-anchor": "middle", "data-tray": player }, `${player}: ${hand} in hand, ${side.scored} scored${rolls ? ", to roll" : ""}`));
  }
  for (const arrow of arrows.toReversed()) svg.append(arrowOf(table, position.turn, arrow));
  return svg;
}
