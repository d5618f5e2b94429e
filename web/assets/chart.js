// @ts-check
// Charts of lines in SVG: axes that are linear or logarithmic, several lines, marks, a cursor.

import { shape } from "/assets/dom.js";

/** @typedef {[number, number]} Point */
/** @typedef {{ name: string, points: Point[], colour: number, dashed?: boolean }} Line colour: 0 to 5 */
/** @typedef {{ x: number, y: number, kind: string, title: string }} Mark kind: a class, such as `fbad` */
/**
 * @typedef {object} Chart
 * @property {Line[]} lines
 * @property {Mark[]} [marks]
 * @property {string} label what it shows, for those who do not see it
 * @property {boolean} [log] whether y is logarithmic; values that are not above 0 are left out then
 * @property {[number, number]} [xRange] @property {[number, number]} [yRange] of the data, if not given
 * @property {number} [width] @property {number} [height] @property {number} [cursor] an x
 * @property {(y: number) => string} [format] how a y is written @property {(x: number) => string} [formatX]
 * @property {string} [xTitle] @property {(x: number) => void} [pick] what a click at an x does
 */

const LEFT = 56, RIGHT = 10, TOP = 10, BOTTOM = 34;

/** Round numbers in a range, some five of them. @param {number} low @param {number} high @param {number} [wanted] */
export function ticks(low, high, wanted = 5) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? power;
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at++) found.push(Number((at * step).toPrecision(12)));
  return found;
}

/** Powers of ten in a range, at most some seven. @param {number} low @param {number} high */
function powers(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / 7));
  const found = [];
  for (let at = first; at <= last; at += every) found.push(10 ** at);
  return found;
}

/** @param {number[]} values @returns {[number, number]} */
function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
}

/** Draws a chart. @param {Chart} chart @returns {SVGSVGElement} */
export function draw(chart) {
  const { width = 640, height = 260, log = false, pick } = chart;
  const shown = (/** @type {Point} */ [x, y]) => Number.isFinite(x) && Number.isFinite(y) && (!log || y > 0);
  const lines = chart.lines.map((line) => ({ ...line, points: line.points.filter(shown) }));
  const all = lines.flatMap((line) => line.points);
  let [x0, x1] = chart.xRange ?? rangeOf(all.map(([x]) => x));
  let [y0, y1] = chart.yRange ?? rangeOf(all.map(([, y]) => y));
  if (x0 === x1) x1 = x0 + 1;
  if (log) [y0, y1] = [10 ** Math.floor(Math.log10(y0 > 0 ? y0 : 1e-9)), 10 ** Math.ceil(Math.log10(y1 > 0 ? y1 : 1) + 1e-9)];
  if (y0 === y1) [y0, y1] = log ? [y0 / 10, y1 * 10] : [y0 - 1, y1 + 1];
  const scale = log ? Math.log10 : (/** @type {number} */ y) => y;
  const toX = (/** @type {number} */ x) => LEFT + (width - LEFT - RIGHT) * (x - x0) / (x1 - x0);
  const toY = (/** @type {number} */ y) => TOP + (height - TOP - BOTTOM) * (1 - (scale(y) - scale(y0)) / (scale(y1) - scale(y0)));
  const format = chart.format ?? (log ? (/** @type {number} */ y) => y.toExponential(0) : String);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, class: pick ? "chart pick" : "chart", role: "img", "aria-label": chart.label });
  for (const y of log ? powers(y0, y1) : ticks(y0, y1)) {
    svg.append(shape("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: toY(y), y2: toY(y) }));
    svg.append(shape("text", { x: LEFT - 6, y: toY(y) + 4, "text-anchor": "end" }, format(y)));
  }
  for (const x of ticks(x0, x1, 8)) {
    if (!chart.formatX && !Number.isInteger(x)) continue;
    svg.append(shape("text", { x: toX(x), y: height - BOTTOM + 15, "text-anchor": "middle" }, (chart.formatX ?? String)(x)));
  }
  if (chart.xTitle) svg.append(shape("text", { x: LEFT, y: height - 4 }, chart.xTitle));
  for (const { name, points, colour, dashed } of lines) {
    const path = points.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(" ");
    svg.append(shape("polyline", { class: `line s${colour % 6}`, "stroke-dasharray": dashed && "5 3", "data-line": name, points: path }, shape("title", {}, name)));
    if (points.length === 1) svg.append(shape("circle", { class: `f${colour % 6}`, cx: toX(points[0][0]), cy: toY(points[0][1]), r: 3 }));
  }
  for (const { x, y, kind, title } of chart.marks ?? []) {
    svg.append(shape("circle", { class: kind, cx: toX(x), cy: toY(y), r: 3.5 }, shape("title", {}, title)));
  }
  if (chart.cursor !== undefined) {
    const x = toX(chart.cursor);
    svg.append(shape("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: height - BOTTOM }));
  }
  if (pick) {
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width * width - LEFT) / (width - LEFT - RIGHT);
      pick(x0 + Math.min(1, Math.max(0, share)) * (x1 - x0));
    });
  }
  return svg;
}
