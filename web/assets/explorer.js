// @ts-check
// The explorer: a line of positions, one of them shown, with all moves and their values; play from there, or the steps of a
// reviewed game.

import { Refusal, ask, signedIn } from "/assets/api.js";
import { drawBoard } from "/assets/board.js";
import { draw } from "/assets/chart.js";
import { byId, el, put, row, shape } from "/assets/dom.js";
import { cycle, inHand, moveName, opening, other, read, winner, write } from "/assets/position.js";

/** @typedef {import("/assets/position.js").Table} Table */
/** @typedef {import("/assets/position.js").Position} Position */
/** @typedef {import("/assets/position.js").Player} Player */
/** @typedef {{ from: number, to: number, percent: number, place: number, tied: boolean, captures: number | null, rolls_again: boolean, wins: boolean, next: string }} Move */
/** @typedef {{ roll: number, probability: number, percent: number, luck_points: number, moves: Move[] }} Roll */
/** @typedef {{ position: string, percent: number, rolls: Roll[] }} Outlook */
/** A step of the line. `made` is the move that was played, null for a pass; `account` what a review says.
 * @typedef {{ position: Position, roll: number | null, made?: { from: number, to: number } | null, chance?: number, account?: any }} Step */

/** @type {Table[]} */ let tables = [];
/** @type {Table} */ let table;
/** @type {Step[]} */ let line = [{ position: opening(), roll: null }];
let at = 0, editing = false, shown = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */ let turning;
/** @type {Map<string, Promise<Outlook>>} */ const known = new Map();

const field = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id));
const step = () => line[at];
const points = (/** @type {number} */ value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
const percent = (/** @type {number} */ value, most = 10) => `${value.toFixed(Math.min(most, table.bound.decimals))} %`;
const isPerfect = (/** @type {Player} */ player) => field(player).value === "perfect";

/** Light's chance in a step, as far as it is known. @param {Step} it */
const lightChance = (it) => (it.chance === undefined ? NaN : it.position.turn === "light" ? it.chance : 100 - it.chance);

/** What the table says of a position. @param {Position} position @returns {Promise<Outlook>} */
function outlook(position) {
  const path = `/v1/${encodeURIComponent(table.name)}?position=${encodeURIComponent(write(position))}`;
  let found = known.get(path);
  if (!found) {
    found = signedIn(() => ask(path));
    found.catch(() => known.delete(path));
    known.set(path, found);
    if (known.size > 500) known.delete(/** @type {string} */ (known.keys().next().value));
  }
  return found;
}

/** @param {unknown} error */
function tell(error) {
  const text = error instanceof Refusal ? [error.message, error.help].filter(Boolean).join("; ") : String(error);
  const problem = byId("problem");
  put(problem, text);
  problem.hidden = false;
}

/** Goes to another step of the line. @param {number} index */
function go(index) {
  const there = Math.max(0, Math.min(line.length - 1, index));
  if (there === at) return;
  at = there;
  void show();
}

/** Goes on from the step that is shown; what came after it is forgotten. @param {Step} next */
function push(next) {
  line = [...line.slice(0, at + 1), next];
  at += 1;
  void show();
}

/** Begins a line. @param {Position} position @param {number | null} [roll] */
function begin(position, roll = null) {
  line = [{ position, roll }];
  at = 0;
  void show();
}

/** Plays a move, or passes. @param {Move | null} move */
function play(move) {
  const here = step();
  here.made = move && { from: move.from, to: move.to };
  delete here.account;
  push({ position: after(here, move), roll: null });
}

/** @param {Step} here @param {Move | null} move @returns {Position} */
function after(here, move) {
  const { position } = here;
  if (!move) return { ...position, turn: other(position.turn) };
  return read(move.next, move.rolls_again ? position.turn : other(position.turn));
}

/** Throws the dice of the table. */
function thrown() {
  const [random] = crypto.getRandomValues(new Uint32Array(1));
  let rest = random / 2 ** 32;
  for (const { roll, probability } of table.rolls) {
    rest -= probability;
    if (rest < 0) return roll;
  }
  return table.rolls[table.rolls.length - 1].roll;
}

/** @param {number | null} roll */
function choose(roll) {
  if (winner(table, step().position)) return;
  line = line.slice(0, at + 1);
  const { position, chance } = step();
  line[at] = { position, chance, roll };
  void show();
}

/** Shows the step: what is known at once, the rest when the table has answered. */
async function show() {
  const turn = ++shown, here = step();
  clearTimeout(turning);
  byId("problem").hidden = true;
  drawStep(here, null);
  const won = winner(table, here.position);
  if (won) {
    here.chance = here.position.turn === won ? 100 : 0;
    drawStep(here, null);
    return;
  }
  try {
    const answer = await outlook(here.position);
    if (turn !== shown) return;
    here.chance = answer.percent;
    drawStep(here, answer);
    takeTurn(here, answer);
  } catch (error) {
    if (turn === shown) tell(error);
  }
}

/** Lets the perfect player play, where it is its turn and the end of the line. @param {Step} here @param {Outlook} answer */
function takeTurn(here, answer) {
  if (editing || at < line.length - 1 || !isPerfect(here.position.turn) || here.account) return;
  const pause = matchMedia("(prefers-reduced-motion: reduce)").matches ? 50 : 600;
  turning = setTimeout(() => {
    if (here.roll === null) return choose(thrown());
    play(answer.rolls.find((it) => it.roll === here.roll)?.moves[0] ?? null);
  }, pause);
}

/** @param {Step} here @param {Outlook | null} answer */
function drawStep(here, answer) {
  const won = winner(table, here.position);
  const advice = answer?.rolls.find((it) => it.roll === here.roll) ?? null;
  const moves = advice?.moves ?? [];
  const made = here.made;
  const isMade = (/** @type {Move} */ it) => !!made && it.from === made.from && it.to === made.to;
  const kind = (/** @type {Move} */ it) => [it.place === 1 && "best", isMade(it) && it.place > 1 && "made"].filter(Boolean).join(" ");
  const { turn } = here.position, path = table.board.paths[turn];
  /** @param {string} square */
  const movesOf = (square) => {
    const from = moves.filter((it) => it.from > 0 && path[it.from - 1] === square);
    return from.length ? from : moves.filter((it) => path[it.to - 1] === square);
  };
  const board = drawBoard(table, here.position, {
    arrows: moves.map((it) => ({ from: it.from, to: it.to, kind: kind(it) })),
    open: (square) => editing || movesOf(square).length === 1,
    click: (square) => (editing ? edit(cycle(table, here.position, square), square) : play(movesOf(square)[0])),
  });
  put(byId("board"), board);
  drawDice(here, won);
  drawChance(here, won);
  put(byId("words"), words(here, advice, won));
  put(byId("moves"), ...(advice ? moves.map((it) => moveButton(it, kind(it), here)) : answer ? [rollTable(answer)] : []));
  drawGraph();
  /** @type {HTMLButtonElement[]} */ ([byId("back"), byId("on"), byId("throw"), byId("best"), byId("swap")]).forEach((button) => {
    const isOff = { back: at === 0, on: at === line.length - 1, throw: !!won, best: !moves.length, swap: !!won }[button.id];
    button.disabled = !!isOff;
  });
  byId("pass").hidden = !advice || moves.length > 0;
  if (document.activeElement !== field("position")) field("position").value = write(here.position);
  showAddress();
}

/** When the address was written, in milliseconds, and what will write it. */
let addressAt = -Infinity, addressLater = 0;

/** Writes the step into the address. Browsers take no more than some twenty of these a second, so what follows soon waits. */
function showAddress() {
  clearTimeout(addressLater);
  const wait = addressAt + 100 - performance.now();
  if (wait > 0) {
    addressLater = setTimeout(showAddress, wait);
    return;
  }
  addressAt = performance.now();
  history.replaceState(null, "", link(line[at]));
}

/** The address of a step. @param {Step} here */
function link(here) {
  const plain = (/** @type {string} */ text) => encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%2B", "+");
  const roll = here.roll === null ? "" : `&roll=${here.roll}`;
  return `#table=${plain(table.name)}&position=${plain(write(here.position))}&turn=${here.position.turn}${roll}`;
}

/** @param {Step} here @param {Player | null} won */
function drawDice(here, won) {
  const chosen = (/** @type {number | null} */ roll) => ({ type: "button", "aria-pressed": String(here.roll === roll), disabled: !!won, onclick: () => choose(roll) });
  put(byId("dice"), el("span", { class: "faint" }, "roll"), ...table.rolls.map(({ roll }) => el("button", { ...chosen(roll), "data-roll": roll }, roll)), el("button", { ...chosen(null), "data-roll": "any" }, "any"));
}

/** @param {Step} here @param {Player | null} won */
function drawChance(here, won) {
  const { turn } = here.position;
  const chance = lightChance(here);
  put(byId("chance"), won ? `${won} has won` : here.chance === undefined ? "…" : el("span", {}, `${turn} rolls and wins with `, el("b", { id: "value" }, percent(here.chance))));
  const width = Number.isFinite(chance) ? chance : 50;
  put(byId("balance"), shape("rect", { class: "balance-dark", width: 100, height: 4 }), shape("rect", { class: "balance-light", width, height: 4 }));
}

/** What there is to say of a step. @param {Step} here @param {Roll | null} advice @param {Player | null} won */
function words(here, advice, won) {
  const { turn } = here.position, { account } = here;
  if (won || !advice) return won || !here.account ? "" : `${turn} has rolled ${here.roll}`;
  const parts = [`${turn} has rolled ${advice.roll}, ${Math.abs(advice.luck_points).toFixed(2)} points of ${advice.luck_points < 0 ? "bad luck" : "luck"}${account?.luck_mark ?? ""}`];
  if (!advice.moves.length) parts.push(`no legal move, the turn passes: ${percent(advice.percent, 4)}`);
  if (account?.move) parts.push(`and has moved ${moveName(table, turn, account.move)}${account.move_mark ?? ""}`);
  if (account?.better) parts.push(`which loses ${account.loss_points.toFixed(2)} points; better is ${moveName(table, turn, account.better)}`);
  return parts.join(", ");
}

/** @param {Move} move @param {string} kind @param {Step} here */
function moveButton(move, kind, here) {
  const { turn } = here.position;
  const effects = [move.captures !== null && "captures", move.rolls_again && "rolls again", move.wins && "wins", move.tied && (move.place === 1 ? "tied for best" : `tied for ${move.place}`)].filter(Boolean);
  const bar = shape("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, shape("rect", { width: 100, height: 8 }), shape("rect", { width: move.percent, height: 8 }));
  const light = (/** @type {boolean} */ on) => () => document.querySelector(`.arrow[data-from="${move.from}"][data-to="${move.to}"]`)?.classList.toggle("shown", on);
  const events = { onclick: () => play(move), onpointerenter: light(true), onpointerleave: light(false), onfocus: light(true), onblur: light(false) };
  return el("button", { type: "button", class: `move ${kind}`, title: percent(move.percent), "data-percent": move.percent, ...events },
    el("span", {}, el("b", {}, moveName(table, turn, move)), effects.length ? `, ${effects.join(", ")}` : ""), bar, el("span", { class: "number" }, percent(move.percent, 6)));
}

/** @param {Outlook} answer */
function rollTable(answer) {
  const { turn } = step().position;
  const rows = answer.rolls.map((it) => {
    const best = it.moves.filter((move) => move.place === 1).map((move) => moveName(table, turn, move)).join(" = ") || "pass";
    const cells = row([it.roll, `${(100 * it.probability).toFixed(1)} %`, points(it.luck_points), percent(it.percent, 4), best], [4]);
    cells.setAttribute("data-roll", String(it.roll));
    cells.addEventListener("click", () => choose(it.roll));
    return cells;
  });
  return el("div", { class: "scroll" }, el("table", { id: "rolls" }, row(["roll", "comes with", "luck", "chance", "best"], [4], "th"), ...rows));
}

function drawGraph() {
  const marks = line.flatMap((it, x) => {
    const y = lightChance(it), { account } = it;
    return [
      account?.move_mark && { x, y, kind: "fbad", title: `${x + 1}. ${moveName(table, it.position.turn, account.move)}${account.move_mark}` },
      account?.luck_mark && { x, y, kind: "fgood", title: `${x + 1}. a ${it.roll}${account.luck_mark}` },
    ].filter(Boolean);
  });
  const chart = draw({
    lines: [{ name: "light's chance", colour: 0, points: line.map((it, x) => [x, lightChance(it)]) }],
    marks, label: "Light's chance of winning, step by step", xRange: [0, Math.max(8, line.length - 1)], yRange: [0, 100],
    width: Math.max(320, byId("graph").clientWidth), height: 240, cursor: at, format: (y) => `${y} %`, xTitle: "rolls", pick: (x) => go(Math.round(x)),
  });
  put(byId("graph"), chart);
  for (const cells of document.querySelectorAll("#account tr[data-at]")) cells.classList.toggle("here", cells.getAttribute("data-at") === String(at));
}

/** Sets up another position in place of the one that is shown. @param {Position} position @param {string} [square] that keeps the focus */
function edit(position, square) {
  begin(position);
  if (square) /** @type {SVGElement | null} */ (document.querySelector(`[data-square="${square}"]`))?.focus();
}

/** Lets the server judge a record, and shows its steps. */
async function review() {
  const body = field("record").value;
  const path = `/v1/review?table=${encodeURIComponent(table.name)}`;
  try {
    const account = await signedIn(() => ask(path, { method: "POST", body, headers: { "Content-Type": "text/plain" } }));
    if (!account.actions.length) throw new Refusal(0, { message: "nothing was played in that game" });
    line = account.actions.map((/** @type {any} */ it) => ({ position: read(it.position, it.player), roll: it.roll, made: it.move, chance: it.percent, account: it }));
    const last = line[line.length - 1];
    const moves = (await outlook(last.position)).rolls.find((it) => it.roll === last.roll)?.moves ?? [];
    const end = after(last, moves.find((it) => it.from === last.made?.from && it.to === last.made?.to) ?? null);
    const { result_percent: result } = account.ledger;
    line.push({ position: end, roll: null, chance: end.turn === "light" ? result : 100 - result });
    at = 0;
    drawAccount(account);
    void show();
    byId("board").scrollIntoView({ block: "nearest" });
  } catch (error) {
    tell(error);
  }
}

/** @param {any} account */
function drawAccount(account) {
  const { ledger } = account;
  const sums = [["light's chance at the start", percent(ledger.start_percent, 2)], ["light's luck", points(ledger.light_luck_points)], ["lost by light's moves", points(-ledger.light_loss_points)],
    ["dark's luck", points(-ledger.dark_luck_points)], ["lost by dark's moves", points(ledger.dark_loss_points)], ["light's chance at the end", percent(ledger.result_percent, 2)]];
  const actions = account.actions.map((/** @type {any} */ it, /** @type {number} */ index) => {
    const name = (/** @type {any} */ move) => (move ? moveName(table, it.player, move) : "");
    const cells = row([index + 1, it.player, percent(it.percent, 2), it.roll, points(it.luck_points) + (it.luck_mark ?? ""), name(it.move) + (it.move_mark ?? ""), it.better ? it.loss_points.toFixed(2) : "", name(it.better)], [1, 5, 7]);
    cells.setAttribute("data-at", String(index));
    if (it.move_mark) cells.classList.add("bad");
    cells.addEventListener("click", () => go(index));
    return cells;
  });
  // Each in a box of its own: marks of direction in one do not turn the others around.
  const metadata = account.metadata.map((/** @type {[string, string]} */ [key, value]) => el("span", {}, el("bdi", {}, key), ": ", el("bdi", {}, value)));
  put(byId("account"), metadata.length > 0 && el("p", { class: "faint", id: "metadata" }, ...metadata),
    el("table", { id: "ledger" }, ...sums.map((cells) => row(cells, [0]))),
    el("table", {}, row(["", "player", "chance", "roll", "luck", "move", "loses", "better"], [1, 5, 7], "th"), ...actions));
  /** @type {HTMLButtonElement} */ (byId("mistake")).disabled = !account.actions.some((/** @type {any} */ it) => it.move_mark);
}

function nextMistake() {
  for (let ahead = 1; ahead <= line.length; ahead++) {
    const index = (at + ahead) % line.length;
    if (line[index].account?.move_mark) return go(index);
  }
}

/** Shows another table. @param {Table} chosen */
function open(chosen) {
  table = chosen;
  const proof = table.bound.proven ? "proven to within" : "not proven, probably within";
  put(byId("about"), `${table.ruleset}, ${table.pieces} piece${table.pieces === 1 ? "" : "s"}, ${table.positions.toLocaleString("en")} positions, ${proof} ${table.bound.points.toExponential(1)} points`);
  put(byId("rules"), table.rules);
  put(byId("account"));
  field("tables").value = table.name;
}

/** Shows what the address says, as far as it says something. */
async function fromAddress() {
  const parts = location.hash.slice(1).split("&").map((part) => part.split("=").map((text) => decodeURIComponent(text)));
  const said = new Map(/** @type {[string, string][]} */ (parts.filter((part) => part.length === 2)));
  open(tables.find((it) => it.name === said.get("table")) ?? table ?? tables[0]);
  const turn = said.get("turn") === "dark" ? "dark" : "light", roll = Number(said.get("roll") ?? NaN);
  const chosen = table.rolls.some((it) => it.roll === roll) ? roll : null;
  await type(said.get("position") ?? "start", turn, chosen);
}

/** Goes to a position as somebody has typed it. @param {string} text @param {Player} turn @param {number | null} roll */
async function type(text, turn, roll) {
  try {
    const asked = { method: "POST", body: JSON.stringify({ positions: [text] }), headers: { "Content-Type": "application/json" } };
    const { answers } = await signedIn(() => ask(`/v1/${encodeURIComponent(table.name)}`, asked));
    begin(read(answers[0].position, turn), roll);
  } catch (error) {
    begin(opening());
    tell(error);
  }
}

const plays = () => /** @type {HTMLButtonElement | null} */ (document.querySelector("#moves .move.best"))?.click();

/** @param {KeyboardEvent} event */
function key(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || document.querySelector("dialog[open]")) return;
  const roll = Number(event.key);
  if (/^[0-9]$/.test(event.key) && table.rolls.some((it) => it.roll === roll)) return choose(roll);
  const button = { j: "on", k: "back", r: "throw", b: "best", s: "swap", m: "mistake" }[event.key];
  if (button) byId(button).click();
}

function listen() {
  const click = (/** @type {string} */ id, /** @type {() => void} */ work) => byId(id).addEventListener("click", work);
  click("back", () => go(at - 1));
  click("on", () => go(at + 1));
  click("throw", () => choose(thrown()));
  click("best", plays);
  click("pass", () => play(null));
  click("start", () => begin(opening()));
  click("swap", () => begin({ ...step().position, turn: other(step().position.turn) }));
  click("clear", () => edit(opening()));
  click("review", () => void review());
  click("mistake", nextMistake);
  click("edit", () => {
    editing = !editing;
    byId("edit").setAttribute("aria-pressed", String(editing));
    byId("setup").hidden = !editing;
    void show();
  });
  for (const button of document.querySelectorAll("[data-score]")) {
    button.addEventListener("click", () => {
      const position = structuredClone(step().position), player = /** @type {Player} */ (button.getAttribute("data-score"));
      const side = position[player], by = Number(button.getAttribute("data-by"));
      const both = side.scored + by === table.pieces && position[other(player)].scored === table.pieces;
      if (side.scored + by < 0 || inHand(table, side) - by < 0 || both) return;
      side.scored += by;
      edit(position);
    });
  }
  byId("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    void type(field("position").value, step().position.turn, null);
  });
  byId("tables").addEventListener("change", () => {
    open(tables.find((it) => it.name === field("tables").value) ?? table);
    begin(opening());
  });
  for (const player of ["light", "dark"]) byId(player).addEventListener("change", () => void show());
  document.addEventListener("keydown", key);
  addEventListener("resize", drawGraph);
  addEventListener("hashchange", () => void fromAddress());
}

try {
  ({ tables } = await signedIn(() => ask("/v1/tables")));
  put(byId("tables"), ...tables.map((it) => el("option", { value: it.name }, it.name)));
  listen();
  await fromAddress();
} catch (error) {
  tell(error);
}
