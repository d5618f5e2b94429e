// @ts-check
// Positions: the pieces of light and dark by path position, and whose turn it is; read and written as the tables do,
// own/opponent, seen from the player to move.

/** @typedef {"light" | "dark"} Player */
/** @typedef {{ board: number[], scored: number }} Side path positions on the board, ascending */
/** @typedef {{ light: Side, dark: Side, turn: Player }} Position */
/**
 * @typedef {{ name: string, ruleset: string, pieces: number, positions: number, certificate: number | null, rules: string,
 *   bound: { points: number, proven: boolean, decimals: number }, rolls: { roll: number, probability: number }[],
 *   board: { rows: number, squares: string[], rosettes: string[], safe: string[], rolls_again: string[], paths: Record<Player, string[]> } }} Table
 */

/** @param {Player} player @returns {Player} */
export const other = (player) => (player === "light" ? "dark" : "light");

/** @returns {Position} */
export const opening = () => ({ light: { board: [], scored: 0 }, dark: { board: [], scored: 0 }, turn: "light" });

/** @param {string} text @returns {Side} */
function readSide(text) {
  const [board, scored = "0"] = text.split("+");
  return { board: board === "-" ? [] : board.split(",").map(Number), scored: Number(scored) };
}

/** Reads what the server has written. @param {string} text @param {Player} turn @returns {Position} */
export function read(text, turn) {
  const [own, opponent] = text.split("/").map(readSide);
  return turn === "light" ? { light: own, dark: opponent, turn } : { light: opponent, dark: own, turn };
}

/** @param {Side} side */
const writeSide = (side) => (side.board.length ? side.board.join(",") : "-") + (side.scored ? `+${side.scored}` : "");

/** @param {Position} position */
export const write = (position) => `${writeSide(position[position.turn])}/${writeSide(position[other(position.turn)])}`;

/** @param {Table} table @param {Side} side */
export const inHand = (table, side) => table.pieces - side.board.length - side.scored;

/** Who has won, if somebody has. @param {Table} table @param {Position} position @returns {Player | null} */
export function winner(table, position) {
  if (position.light.scored === table.pieces) return "light";
  return position.dark.scored === table.pieces ? "dark" : null;
}

/** Who stands on a square, and where on the path. @param {Table} table @param {Position} position @param {string} square */
export function on(table, position, square) {
  for (const player of /** @type {Player[]} */ (["light", "dark"])) {
    const at = position[player].board.find((it) => table.board.paths[player][it - 1] === square);
    if (at !== undefined) return { player, at };
  }
  return null;
}

/**
 * The position with the next piece on a square: none, light's visits of the square, dark's.
 * @param {Table} table @param {Position} position @param {string} square @returns {Position}
 */
export function cycle(table, position, square) {
  const here = on(table, position, square);
  const bare = structuredClone(position);
  if (here) bare[here.player].board = bare[here.player].board.filter((at) => at !== here.at);
  /** @type {({ player: Player, at: number } | null)[]} */
  const states = [null];
  for (const player of /** @type {Player[]} */ (["light", "dark"])) {
    if (inHand(table, bare[player]) === 0) continue;
    table.board.paths[player].forEach((name, index) => name === square && states.push({ player, at: index + 1 }));
  }
  const now = states.findIndex((state) => state?.player === here?.player && state?.at === here?.at);
  const next = states[(now + 1) % states.length];
  if (next) bare[next.player].board = [...bare[next.player].board, next.at].sort((a, b) => a - b);
  return bare;
}

/** A move by names of squares, `A4 → A2`. @param {Table} table @param {Player} player @param {{ from: number, to: number }} move */
export function moveName(table, player, { from, to }) {
  const path = table.board.paths[player];
  if (from === 0) return `enter on ${path[to - 1]}`;
  return to > path.length ? `score from ${path[from - 1]}` : `${path[from - 1]} → ${path[to - 1]}`;
}
