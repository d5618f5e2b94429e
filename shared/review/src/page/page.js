"use strict";
/** The account, the step that is shown: the state before action `at`, or after the last one. */
let account, at = 0;

const byId = (id) => document.getElementById(id);
const signed = (points) => (points >= 0 ? "+" : "−") + Math.abs(points).toFixed(2);
const percent = (value) => value.toFixed(2) + " %";

/** An element with attributes and children; texts are never read as markup. */
function make(name, attributes, ...children) {
  const isSvg = ["svg", "rect", "circle", "path", "line", "text", "polyline", "g", "title"].includes(name);
  const element = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Column and row of a square's name, from 0. */
const place = (name) => [name.charCodeAt(0) - 65, Number(name.slice(1)) - 1];

/** Where the middle of a square is: rows run from left to right, dark's column is at the top. */
const middle = (name) => { const [x, y] = place(name); return [y * 40 + 20, (2 - x) * 40 + 50]; };

function drawBoard() {
  const { squares, rosettes, rows } = account.board;
  const state = account.states[Math.min(at, account.states.length - 1)];
  const action = account.actions[at];
  const svg = make("svg", { viewBox: `0 0 ${rows * 40} 180`, role: "img", "aria-label": "The board" });
  const style = { stroke: "var(--line)", fill: "none" };
  for (const name of squares) {
    const [x, y] = middle(name);
    svg.append(make("rect", { x: x - 20, y: y - 20, width: 40, height: 40, ...style }));
    if (rosettes.includes(name)) svg.append(make("text", { x, y: y + 9, "text-anchor": "middle", "font-size": 26, fill: "var(--rose)" }, "✿"));
    svg.append(make("text", { x: x - 17, y: y - 11, "font-size": 7, fill: "currentColor", opacity: .6 }, name));
  }
  for (const [player, y] of [["dark", 18], ["light", 172]]) {
    const { hand, scored } = state[player];
    svg.append(make("text", { x: 2, y, "font-size": 13, fill: "currentColor" }, `${player}: ${hand} in hand, ${scored} scored`));
    for (const name of state[player].squares) {
      const [cx, cy] = middle(name);
      svg.append(make("circle", { cx, cy, r: 13, fill: `var(--${player})`, stroke: "currentColor", "data-piece": player }));
    }
  }
  if (action && action.move) {
    arrow(svg, action.move.squares, action.better ? "var(--bad)" : "var(--good)");
    if (action.better) arrow(svg, action.better.squares, "var(--good)");
  }
  byId("board").replaceChildren(svg);
}

/** An arrow for a move from square to square; one that enters or scores is a ring. */
function arrow(svg, squares, colour) {
  const ends = squares.match(/^([A-C]\d+|[A-C]@)([A-C]\d+|[A-C]\+)$/);
  if (!ends) return;
  const [from, to] = ends.slice(1);
  if (from.endsWith("@") || to.endsWith("+")) {
    const [cx, cy] = middle(to.endsWith("+") ? from : to);
    svg.append(make("circle", { cx, cy, r: 17, fill: "none", stroke: colour, "stroke-width": 3 }));
    return;
  }
  const [x1, y1] = middle(from), [x2, y2] = middle(to);
  svg.append(make("line", { x1, y1, x2, y2, stroke: colour, "stroke-width": 3, opacity: .85 }));
  svg.append(make("circle", { cx: x2, cy: y2, r: 5, fill: colour }));
}

/** Light's chance before an action, or at the end. */
function lightChance(index) {
  const action = account.actions[index];
  if (!action) return account.ledger.result_percent;
  return action.player === "light" ? action.percent : 100 - action.percent;
}

function drawGraph() {
  const count = account.actions.length, width = 600, height = 240;
  const x = (index) => 30 + (width - 40) * index / Math.max(count, 1);
  const y = (value) => 10 + (height - 30) * (1 - value / 100);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Light's chance of winning, action by action" });
  for (const value of [0, 25, 50, 75, 100]) {
    svg.append(make("line", { x1: 30, x2: width - 10, y1: y(value), y2: y(value), stroke: "var(--line)", "stroke-width": value === 50 ? 1.5 : .5 }));
    svg.append(make("text", { x: 26, y: y(value) + 4, "text-anchor": "end", "font-size": 11, fill: "currentColor" }, String(value)));
  }
  const points = [];
  for (let index = 0; index <= count; index++) points.push(`${x(index).toFixed(1)},${y(lightChance(index)).toFixed(1)}`);
  svg.append(make("polyline", { points: points.join(" "), fill: "none", stroke: "var(--rose)", "stroke-width": 2 }));
  account.actions.forEach((action, index) => {
    if (action.move_mark) svg.append(make("circle", { cx: x(index), cy: y(lightChance(index)), r: 4, fill: "var(--bad)" }, make("title", {}, `${index + 1}. ${action.move.squares}${action.move_mark}`)));
    if (action.luck_mark) svg.append(make("circle", { cx: x(index), cy: y(lightChance(index)), r: 3, fill: "var(--good)" }, make("title", {}, `${index + 1}. a ${action.roll}${action.luck_mark}`)));
  });
  svg.append(make("line", { id: "cursor", x1: 0, x2: 0, y1: 10, y2: height - 20, stroke: "currentColor" }));
  svg.append(make("text", { x: 30, y: height - 4, "font-size": 11, fill: "currentColor" }, "Light's chance in percent, before each roll"));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width * width - 30) / (width - 40) * count));
  });
  byId("graph").replaceChildren(svg);
  account.xOf = x;
}

function row(cells, words = [], kind = "td") {
  const line = make("tr", {});
  cells.forEach((cell, index) => line.append(make(kind, words.includes(index) ? { class: "word" } : {}, cell === null ? "" : String(cell))));
  return line;
}

function drawList() {
  const table = byId("actions");
  table.append(row(["", "player", "chance", "roll", "luck", "", "move", "loses", "", "better"], [1, 6, 9], "th"));
  account.actions.forEach((action, index) => {
    const line = row([index + 1, action.player, percent(action.percent), action.roll, signed(action.luck_points), action.luck_mark,
      action.move ? action.move.squares : "--", action.better ? action.loss_points.toFixed(2) : "", action.move_mark,
      action.better ? action.better.squares : ""], [1, 6, 9]);
    if (action.move_mark) line.className = "bad";
    line.addEventListener("click", () => go(index));
    table.append(line);
  });
}

function drawLedger() {
  const { ledger } = account;
  const lines = [[percent(ledger.start_percent), "light's chance at the start"], [signed(ledger.light_luck_points), "light's luck"],
    [signed(-ledger.light_loss_points), "lost by light's moves"], [signed(-ledger.dark_luck_points), "dark's luck"],
    [signed(ledger.dark_loss_points), "lost by dark's moves"], [percent(ledger.result_percent), "light's chance at the end"]];
  byId("ledger").append(...lines.map((line) => row(line, [1])));
  const number = (value, digits) => value === null ? "--" : value.toFixed(digits);
  byId("totals").append(row(["", "decisions", "right", "loss", "PR"], [0], "th"), ...["light", "dark"].map((player) => {
    const it = account[player];
    return row([player, it.decisions, it.accuracy_percent === null ? "--" : it.accuracy_percent.toFixed(1) + " %", it.loss_points.toFixed(2), number(it.performance_rating, 2)], [0]);
  }));
}

/** Shows the state before an action, or after the last one. */
function go(index) {
  const count = account.actions.length;
  at = Math.max(0, Math.min(count, index));
  drawBoard();
  const action = account.actions[at], step = byId("step");
  if (action) {
    const roll = `${at + 1} of ${count}. ${action.player}, ${percent(action.percent)}, rolls ${action.roll}${action.luck_mark || ""} (${signed(action.luck_points)})`;
    const move = action.move ? ` and moves ${action.move.squares}${action.move_mark || ""}` : " and cannot move";
    const lost = action.better ? `, which loses ${action.loss_points.toFixed(2)}; better is ${action.better.squares}` : "";
    step.textContent = roll + move + lost;
  } else {
    const who = account.end_player ? `${account.end_player} ` : "";
    step.textContent = account.end === "unfinished" ? "The game is not finished." : `The end: ${who}${account.end}.`;
  }
  const moves = (action ? action.moves : []).map((move) => {
    const line = row([move.squares, percent(move.percent)], [0]);
    if (action.move && move.squares === action.move.squares && move.to === action.move.to) line.className = "made";
    return line;
  });
  byId("moves").replaceChildren(...moves);
  const lines = [...byId("actions").rows].slice(1);
  lines.forEach((line, index) => line.classList.toggle("here", index === at));
  const cursor = byId("cursor");
  cursor.setAttribute("x1", account.xOf(at));
  cursor.setAttribute("x2", account.xOf(at));
  document.body.dataset.step = String(at);
}

function nextMistake() {
  const count = account.actions.length;
  for (let ahead = 1; ahead <= count; ahead++) {
    const index = (at + ahead) % (count + 1);
    if (account.actions[index] && account.actions[index].move_mark) return go(index);
  }
}

/** Keys without a modifier step; all others are the browser's. */
function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const steps = { ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), Home: () => go(0), End: () => go(account.actions.length), m: nextMistake };
  if (!steps[event.key]) return;
  steps[event.key]();
  event.preventDefault();
}

function start() {
  account = JSON.parse(byId("account").textContent);
  byId("title").textContent = account.title;
  byId("summary").textContent = `${account.ruleset}, ${account.pieces} pieces; ${account.actions.length} rolls. Arrow keys step, m goes to the next mistake.`;
  drawGraph();
  drawList();
  drawLedger();
  byId("first").addEventListener("click", () => go(0));
  byId("back").addEventListener("click", () => go(at - 1));
  byId("forward").addEventListener("click", () => go(at + 1));
  byId("last").addEventListener("click", () => go(account.actions.length));
  byId("mistake").addEventListener("click", nextMistake);
  document.addEventListener("keydown", key);
  go(0);
}
