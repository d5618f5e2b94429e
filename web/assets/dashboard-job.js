// @ts-check
// The picture of one job, from its status and its history: for the dashboard, and for a report in a file of its own.

import { el, put, row, shape } from "/assets/dom.js";
import { draw } from "/assets/chart.js";

/** @typedef {{ tier: string, state: string, positions: number, supersteps: number, supersteps_in_f32: number, residual: number | null, certificate: number | null, sweeps: number, fraction: number, workers: string[] }} Step */
/** @typedef {{ number: number, at: number, kind: string, text: string, step?: string, worker?: string, by?: string }} Told */
/** @typedef {[number, number, number, number, number, number]} Slice seconds of sweeping, waiting, exchanging and saving; positions, bytes */
/** @typedef {{ memory_bytes: number, peak_resident_bytes: number, slices: Slice[] }} Worked */
/** @typedef {Record<string, { f32: [number, number][], f64: [number, number][], proof: [number, number][] }>} Curves */
/** @typedef {{ events: Told[], left_out: number, steps: Curves, work: { begin: number, width: number, workers: Record<string, Worked> }, planned_memory_bytes: number }} Past */

/** Kinds of events that happen all the time, and those that are bad news. */
const ROUTINE = ["begun", "saved", "step-solved", "over"], WRONG = ["failure", "lost", "failed"];

/** Where time goes: the place in a slice, the words, and the classes of its colour. */
const SPENT = [
  { at: 0, words: "sweeping", fill: "f0", key: "k0" },
  { at: 2, words: "exchanging", fill: "f1", key: "k1" },
  { at: 3, words: "saving", fill: "f2", key: "k2" },
  { at: 1, words: "waiting", fill: "fw", key: "kw" },
];

/** A text of strangers, with what would turn or hide it made visible. @param {unknown} text */
export function shown(text) {
  const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
  return String(text).replace(hidden, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}

/** @param {number} number */
export function short(number) {
  for (const [size, unit] of /** @type {[number, string][]} */ ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])) {
    if (number >= size) return `${Number((number / size).toPrecision(3))} ${unit}`;
  }
  return String(Number(number.toPrecision(3)));
}

/** @param {number} number */
export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit + 1 < units.length) [number, unit] = [number / 1024, unit + 1];
  return `${unit ? number.toFixed(1) : number} ${units[unit]}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60), hours = Math.floor(whole / 3600);
  if (whole < 60) return `${whole} s`;
  if (hours < 1) return `${minutes} min ${whole % 60} s`;
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const two = (/** @type {number} */ number) => String(number).padStart(2, "0");

/** A time of day, for times in seconds since 1970. @param {number} at */
export function clock(at) {
  const date = new Date(at * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The day and the time of day. @param {number} at */
export function moment(at) {
  const date = new Date(at * 1000);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(at)}`;
}

const grouped = (/** @type {number} */ number) => Math.round(number).toLocaleString("en").replaceAll(",", "\u202f");
const small = (/** @type {number | null | undefined} */ number) => (number ? number.toExponential(1) : "");
const total = (/** @type {number[]} */ numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** @param {string} title @param {string} name @param {boolean} [wide] @param {Node[]} more */
function panel(title, name, wide = false, ...more) {
  const body = el("div", { class: "scroll" });
  const section = el("section", { class: wide ? "panel wide" : "panel", "data-panel": name }, el("h2", {}, title), ...more, body);
  return { section, body };
}

/** @param {[string, string | null | undefined][]} facts */
function list(facts) {
  const known = facts.filter(([, value]) => value);
  return el("dl", { class: "facts" }, ...known.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** @param {string} state */
export function badge(state) {
  return el("span", { class: `state ${state.replace(/[^a-z]/g, "")}` }, state);
}

/** The picture of a job: panels that are made once and drawn again. */
export class JobPicture {
  /** @param {Element} root @param {Node[]} actions buttons beside the job's name */
  constructor(root, ...actions) {
    this.step = "";
    this.all = false;
    /** @type {any} */
    this.status = null;
    /** @type {Past | null} */
    this.past = null;
    const steps = el("select", { "aria-label": "Step", onchange: () => this.pick(this.choice.value) });
    this.choice = steps;
    const everything = el("input", { type: "checkbox", onchange: () => { this.all = everything.checked; this.events(); } });
    this.head = el("section", { class: "panel wide", "data-panel": "job" });
    this.actions = el("div", { class: "row" }, ...actions);
    this.summary = el("div", {});
    this.head.append(this.summary, this.actions);
    this.stones = panel("Steps", "steps");
    this.curves = panel("Residuals by superstep", "residuals", false, el("div", { class: "row" },
      el("label", {}, "step ", steps),
      el("span", {}, el("span", { class: "key k0" }), "f32"), el("span", {}, el("span", { class: "key k1" }), "f64")));
    this.proofs = panel("Proofs: largest distance of a bound by interval sweep", "proofs");
    this.speed = panel("Positions per second", "speed");
    this.wire = panel("Bytes exchanged per second", "bytes");
    this.time = panel("Where the time goes", "time", true, el("p", { class: "row" },
      ...SPENT.map(({ words, key }) => el("span", {}, el("span", { class: `key ${key}` }), words))));
    this.plan = panel("Plan and reality", "plan");
    this.workers = panel("Workers", "workers", true);
    this.told = panel("Events", "events", true, el("label", { class: "row" }, everything, "attempts and checkpoints, too"));
    put(root, this.head, ...[this.stones, this.curves, this.proofs, this.plan, this.speed, this.wire, this.time, this.workers, this.told].map((it) => it.section));
  }

  /** Chooses a step; the one that is chosen is chosen no more. @param {string} tier */
  pick(tier) {
    this.step = tier === this.step ? "" : tier;
    this.choice.value = this.step;
    this.ziggurat();
    this.lines();
  }

  /** @param {any} status */
  show(status) {
    this.status = status;
    const steps = /** @type {Step[]} */ (status.steps), known = [...this.choice.options].map((it) => it.value).slice(1);
    if (known.join() !== steps.map((it) => it.tier).join()) {
      put(this.choice, el("option", { value: "" }, "all"), ...steps.map((it) => el("option", { value: it.tier }, it.tier)));
      this.choice.value = this.step;
    }
    this.facts();
    this.ziggurat();
    this.people();
    if (this.past) {
      this.lines();
      this.reality();
    }
  }

  /** @param {Past} past */
  remember(past) {
    this.past = past;
    this.lines();
    this.rates();
    this.timeline();
    this.events();
    if (this.status) this.reality();
  }

  facts() {
    const { job, forecast } = this.status, fraction = forecast?.fraction ?? job.solved_positions / Math.max(job.positions, 1);
    const left = job.state === "running" && forecast?.seconds_left ? `about ${duration(forecast.seconds_left)}` : null;
    const speed = job.state === "running" && forecast?.positions_per_second > 0 ? `${short(forecast.positions_per_second)}/s` : null;
    put(this.summary,
      el("div", { class: "row" }, el("strong", {}, `Job ${job.job}: `, el("bdi", {}, shown(job.name))), badge(job.state)),
      job.message && el("p", { class: job.state === "failed" ? "bad" : "faint", "data-message": true }, shown(job.message)),
      el("progress", { max: 1, value: fraction, "aria-label": "share of the work that is done" }),
      list([
        ["done", `${(100 * fraction).toFixed(1)} %`],
        ["steps", `${job.solved_steps} of ${job.steps}`],
        ["positions", short(job.positions)],
        ["worked", duration(job.seconds)],
        ["left", left],
        ["speed", speed],
        ["exchanged", job.exchanged_bytes ? bytes(job.exchanged_bytes) : null],
        ["submitted", job.submitted ? moment(job.submitted) : null],
        ["ended", job.ended ? moment(job.ended) : null],
      ]));
  }

  /** The steps as a ziggurat: level by level those in which the player with fewer pieces left has as many. */
  ziggurat() {
    if (!this.status) return;
    const steps = /** @type {Step[]} */ (this.status.steps);
    const levels = /** @type {Step[][]} */ ([]);
    for (const step of steps) {
      const [more, fewer] = step.tier.split("-").map(Number);
      (levels[Math.min(more, fewer)] ??= []).push(step);
    }
    const rows = levels.filter(Boolean), widest = Math.max(1, ...rows.map((it) => it.length));
    const wide = 560, each = wide / widest, high = Math.max(20, Math.min(34, 240 / Math.max(rows.length, 1)));
    const svg = shape("svg", { viewBox: `0 0 ${wide} ${rows.length * (high + 4) + 2}`, class: "stones", role: "group", "aria-label": "The steps of the job, as a ziggurat" });
    rows.forEach((row, level) => {
      row.sort((a, b) => Number.parseInt(a.tier, 10) - Number.parseInt(b.tier, 10));
      const left = (wide - row.length * each) / 2, top = (rows.length - 1 - level) * (high + 4) + 1;
      row.forEach((step, place) => {
        const x = left + place * each + 2, width = each - 4;
        const fraction = step.state === "solved" ? 1 : Math.min(1, Math.max(0, step.fraction ?? 0));
        const words = `step ${step.tier}, ${grouped(step.positions)} positions: ${step.state}` +
          (step.supersteps ? `, ${step.supersteps} supersteps, residual ${small(step.residual)}` : "") +
          (step.certificate ? `, proven to ${small(step.certificate)}` : "") + (step.workers.length ? `; ${shown(step.workers.join(", "))}` : "");
        const go = () => this.pick(step.tier);
        svg.append(shape("g", { tabindex: 0, role: "button", "aria-pressed": String(step.tier === this.step), "aria-label": words, "data-step": step.tier, "data-state": step.state,
          onclick: go, onkeydown: (/** @type {KeyboardEvent} */ event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            go();
          } },
        shape("title", {}, words),
        shape("rect", { class: `fill ${step.state.replace(/[^a-z]/g, "")}`, x, y: top + high * (1 - fraction), width, height: high * fraction }),
        shape("rect", { class: step.tier === this.step ? "stone picked" : "stone", x, y: top, width, height: high, "pointer-events": "all" }),
        each >= 30 && shape("text", { class: fraction > 0.6 ? "on" : "", x: x + width / 2, y: top + high / 2 + 4 }, step.tier)));
      });
    });
    const focused = document.activeElement?.getAttribute?.("data-step");
    put(this.stones.body, svg);
    if (focused) /** @type {SVGElement | null} */ (svg.querySelector(`[data-step="${CSS.escape(focused)}"]`))?.focus();
  }

  /** Residuals and proofs of all steps, that of a chosen one, or of those under way, in front. */
  lines() {
    if (!this.past) return;
    const states = new Map((this.status?.steps ?? []).map((/** @type {Step} */ it) => [it.tier, it.state]));
    const tiers = Object.keys(this.past.steps);
    const front = (/** @type {string} */ tier) => (this.step ? tier === this.step : states.get(tier) !== "solved");
    const some = tiers.some(front);
    tiers.sort((a, b) => Number(front(a)) - Number(front(b)));
    const drawn = (/** @type {("f32" | "f64" | "proof")[]} */ phases, /** @type {number} */ colour) => tiers.flatMap((tier) => phases.map((phase, place) => {
      const curve = this.past?.steps[tier], before = curve?.f32.at(-1);
      // The first superstep in f64 goes on where the last one in f32 ended.
      const points = phase === "f64" && before && curve?.f64.length ? [before, ...curve.f64] : curve?.[phase] ?? [];
      return { name: `${tier} ${phase}`, points, colour: colour + place };
    })).filter((line) => line.points.length);
    const show = (/** @type {Element} */ body, /** @type {any[]} */ lines, /** @type {string} */ label, /** @type {string} */ xTitle) => {
      if (!lines.length) return put(body, el("p", { class: "faint" }, "None yet."));
      const svg = draw({ lines, log: true, label, xTitle, width: 560, height: 250 });
      for (const line of svg.querySelectorAll("[data-line]")) {
        const tier = line.getAttribute("data-line")?.split(" ")[0] ?? "";
        if (some && !front(tier)) line.classList.add("past");
        if (tier === this.step) line.classList.add("picked");
      }
      put(body, svg);
    };
    show(this.curves.body, drawn(["f32", "f64"], 0), "Residuals by superstep, logarithmic", "supersteps");
    show(this.proofs.body, drawn(["proof"], 2), "Largest distance of a bound from its value by interval sweep, logarithmic", "interval sweeps of the last proof");
  }

  rates() {
    const { begin, width, workers } = /** @type {Past} */ (this.past).work;
    const all = Object.values(workers), count = Math.max(0, ...all.map((it) => it.slices.length));
    const sums = (/** @type {number} */ at) => Array.from({ length: count }, (_, slice) => /** @type {[number, number]} */ (
      [begin + (slice + 0.5) * width, total(all.map((it) => it.slices[slice]?.[at] ?? 0)) / width]));
    for (const { body, at, words, colour } of [
      { body: this.speed.body, at: 4, words: "Positions per second", colour: 0 },
      { body: this.wire.body, at: 5, words: "Bytes exchanged per second", colour: 3 },
    ]) {
      // While it goes on, the last slice is not over.
      const points = sums(at).slice(0, this.status?.job.state === "running" && count > 3 ? -1 : undefined);
      if (!points.some(([, y]) => y > 0)) put(body, el("p", { class: "faint" }, "None yet."));
      else put(body, draw({ lines: [{ name: words, points, colour }], yRange: [0, Math.max(...points.map(([, y]) => y))], label: `${words} against the time of day`, format: short, formatX: (x) => clock(x).slice(0, width < 60 ? 8 : 5), width: 560, height: 180 }));
    }
  }

  /** By worker, what became of its time. */
  timeline() {
    const { begin, width, workers } = /** @type {Past} */ (this.past).work;
    const names = Object.keys(workers), count = Math.max(1, ...names.map((name) => workers[name].slices.length));
    if (!names.length) return put(this.time.body, el("p", { class: "faint" }, "No work yet."));
    const wide = 1000, left = 0, high = 34, each = (wide - left) / count;
    const svg = shape("svg", { viewBox: `0 0 ${wide} ${names.length * (high + 20) + 16}`, class: "timeline", role: "img", "aria-label": "Where the time of each worker goes, slice by slice" });
    names.forEach((name, place) => {
      const top = place * (high + 20) + 14;
      svg.append(shape("text", { x: 0, y: top - 3 }, shown(name)));
      workers[name].slices.forEach((slice, at) => {
        let from = top + high;
        for (const { at: part, fill, words } of SPENT) {
          const tall = Math.min(1, slice[part] / width) * high;
          if (tall < 0.05) continue;
          from -= tall;
          svg.append(shape("rect", { class: fill, x: left + at * each, y: from, width: Math.max(each - 0.4, 0.6), height: tall }, shape("title", {}, `${clock(begin + at * width)}: ${words} ${duration(slice[part])}`)));
        }
      });
    });
    svg.append(shape("text", { x: 0, y: names.length * (high + 20) + 12 }, clock(begin)));
    svg.append(shape("text", { x: wide, y: names.length * (high + 20) + 12, "text-anchor": "end" }, clock(begin + count * width)));
    const of = (/** @type {string} */ name, /** @type {number} */ at) => total(workers[name].slices.map((slice) => slice[at]));
    const table = el("table", {}, row(["worker", ...SPENT.map((it) => it.words), "positions", "sent"], [0], "th"), ...names.map((name) => {
      const all = total(SPENT.map(({ at }) => of(name, at))) || 1;
      const share = ({ at = 0 }) => `${duration(of(name, at))} (${(100 * of(name, at) / all).toFixed(0)} %)`;
      return row([el("bdi", {}, shown(name)), ...SPENT.map(share), short(of(name, 4)), bytes(of(name, 5))], [0]);
    }));
    put(this.time.body, svg, table);
  }

  reality() {
    const { job, steps } = this.status, past = /** @type {Past} */ (this.past);
    const workers = Object.values(past.work.workers);
    const proven = steps.map((/** @type {Step} */ it) => it.certificate ?? 0), supersteps = total(steps.map((/** @type {Step} */ it) => it.supersteps));
    const f32 = total(steps.map((/** @type {Step} */ it) => (it.state === "solved" || it.supersteps_in_f32 ? it.supersteps_in_f32 : 0)));
    const sweep = job.swept_positions / Math.max(job.positions, 1);
    const peak = total(workers.map((it) => it.peak_resident_bytes));
    const wire = job.exchanged_positions ? job.exchanged_bytes / job.exchanged_positions : 0;
    put(this.plan.body, el("table", { class: "plan" }, row(["", "plan", "reality"], [0], "th"),
      row(["positions solved", grouped(job.positions), grouped(job.solved_positions)], [0]),
      row(["positions swept, of all", "", sweep ? `${sweep.toFixed(1)} times` : ""], [0]),
      row(["supersteps, in f32 of them", "", `${supersteps}, ${f32}`], [0]),
      row(["memory: one process alone; all workers together at the most", past.planned_memory_bytes ? bytes(past.planned_memory_bytes) : "", peak ? bytes(peak) : ""], [0]),
      row(["error: tolerated; proven so far", job.certified ? small(job.tolerance) : "", small(Math.max(0, ...proven))], [0]),
      row(["bytes exchanged per position and superstep", "", wire ? wire.toFixed(2) : ""], [0])));
  }

  people() {
    const workers = this.status.workers;
    if (!workers?.length) return put(this.workers.body, el("p", { class: "faint" }, "None is connected."));
    put(this.workers.body, workerTable(workers));
  }

  events() {
    if (!this.past) return;
    const told = this.past.events.filter((event) => this.all || !ROUTINE.includes(event.kind)).reverse();
    const lines = told.map((event) => {
      const line = row([moment(event.at), event.kind, [shown(event.text), event.by ? ` (asked by ${shown(event.by)})` : ""].join("")], [0, 1, 2]);
      line.className = WRONG.includes(event.kind) ? "wrong" : ROUTINE.includes(event.kind) ? "" : "rare";
      return line;
    });
    const left = this.past.left_out;
    put(this.told.body, el("table", { class: "events" }, el("tbody", {}, ...lines)), left > 0 && el("p", { class: "faint" }, `${grouped(left)} older ones are left out.`));
  }
}

/** @param {any[]} workers */
export function workerTable(workers) {
  const memory = (/** @type {any} */ it) => [it.resident_bytes ? bytes(it.resident_bytes) : "", it.memory_bytes ? `of ${bytes(it.memory_bytes)}` : ""].join(" ");
  return el("table", { class: "workers" }, row(["worker", "memory", "disk free", "speed", "shards", "last heard", "at"], [0, 6], "th"), ...workers.map((it) => {
    const at = it.tier ? `job ${it.job}, step ${it.tier}` : it.connected ? "idle" : "away";
    const line = row([el("bdi", {}, shown(it.name)), memory(it), it.free_disk_bytes ? bytes(it.free_disk_bytes) : "",
      it.positions_per_second ? `${short(it.positions_per_second)}/s` : "", it.shards || "", `${duration(it.silent_seconds ?? 0)} ago`, it.draining ? `${at}, leaves` : at], [0, 6]);
    if (!it.connected) line.className = "gone";
    return line;
  }));
}
