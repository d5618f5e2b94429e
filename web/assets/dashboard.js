// @ts-check
// The dashboard: all jobs and workers, or one job (#job=1), live.

import { askForToken, ask, listen, Refusal, signedIn } from "/assets/api.js";
import { badge, duration, JobPicture, moment, short, shown, workerTable } from "/assets/dashboard-job.js";
import { byId, el, put, row } from "/assets/dom.js";

const page = byId("page"), problem = byId("problem"), contact = byId("contact");

/** Ends what is shown. */
let left = new AbortController();

/** @param {unknown} error */
function complain(error) {
  const refusal = error instanceof Refusal ? error : null;
  const help = refusal?.help ? ` (${refusal.help})` : "";
  put(problem, shown(`${error instanceof Error ? error.message : error}${help}`));
  problem.hidden = false;
}

/**
 * Hears a stream again and again until the page is left; `ended` says whether there is no more to come.
 * @param {string} path @param {(event: string, data: any) => void} heard @param {() => boolean} ended
 */
async function follow(path, heard, ended) {
  const { signal } = left;
  while (!signal.aborted && !ended()) {
    try {
      await listen(path, (event, data) => {
        contact.textContent = "live";
        problem.hidden = true;
        heard(event, JSON.parse(data));
      }, signal);
      contact.textContent = ended() ? "" : "asking again";
    } catch (error) {
      if (signal.aborted) return;
      contact.textContent = "not connected";
      if (error instanceof Refusal && error.status === 401) {
        await askForToken();
        continue;
      }
      complain(error);
      if (error instanceof Refusal && error.status === 404) return;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** All jobs, and the workers. */
function showAll() {
  const jobs = el("div", { class: "scroll" }), workers = el("div", { class: "scroll" });
  put(page, el("section", { class: "panel wide", "data-panel": "jobs" }, el("h2", {}, "Jobs"), jobs),
    el("section", { class: "panel wide", "data-panel": "workers" }, el("h2", {}, "Workers"), workers));
  byId("place").textContent = "";
  follow("/v1/live", (_, told) => {
    const words = [0, 1, 2];
    const lines = told.jobs.toReversed().flatMap((/** @type {any} */ job) => [row([
      el("a", { href: `#job=${job.job}` }, String(job.job)),
      el("a", { href: `#job=${job.job}` }, el("bdi", {}, shown(job.name))),
      badge(job.state), `${job.solved_steps} of ${job.steps}`, `${(100 * job.solved_positions / Math.max(job.positions, 1)).toFixed(1)} %`,
      short(job.positions), duration(job.seconds), moment(job.submitted),
    ], words), job.message ? el("tr", {}, el("td"), el("td", { class: "word faint", colspan: 7 }, shown(job.message))) : null]);
    const head = row(["job", "name", "state", "steps", "solved", "positions", "worked", "submitted"], words, "th");
    put(jobs, lines.length ? el("table", { class: "jobs" }, head, ...lines) : el("p", { class: "faint" }, "There are no jobs."),
      told.left_out > 0 && el("p", { class: "faint" }, `${told.left_out} older jobs are left out.`));
    put(workers, told.workers.length ? workerTable(told.workers) : el("p", { class: "faint" }, "No worker is connected."));
  }, () => false);
}

/** One job. @param {string} job */
function showJob(job) {
  const can = el("span", { class: "faint" });
  /** @type {HTMLButtonElement[]} */
  const buttons = ["pause", "resume", "cancel"].map((what) => el("button", { type: "button", disabled: true, onclick: async () => {
    if (what === "cancel" && !confirm(`End job ${job} for good? Its workers drop all they have of it.`)) return;
    try {
      await signedIn(() => ask(`/v1/jobs/${job}/${what}`, { method: "POST" }));
      problem.hidden = true;
    } catch (error) {
      complain(error);
    }
  } }, what));
  const picture = new JobPicture(page, ...buttons, can);
  byId("place").textContent = `job ${job}`;
  let ended = false;
  follow(`/v1/jobs/${job}/live`, (event, told) => {
    if (event === "history") return picture.remember(told);
    picture.show(told);
    const state = told.job.state, open = ["queued", "running"].includes(state);
    ended = ["cancelled", "failed", "solved"].includes(state);
    const enabled = { pause: open, resume: ["paused", "failed"].includes(state), cancel: open || ["paused", "failed"].includes(state) };
    for (const button of buttons) button.disabled = !told.may_change || !enabled[/** @type {"pause"} */ (button.textContent)];
    can.textContent = told.may_change ? "" : "can be read only: orders take a token with the role submit";
    document.title = `${told.job.solved_steps}/${told.job.steps} ${shown(told.job.name)} - Ziggurat`;
  }, () => ended);
}

function show() {
  left.abort();
  left = new AbortController();
  problem.hidden = true;
  const job = new URLSearchParams(location.hash.slice(1)).get("job");
  if (job && /^[0-9]+$/.test(job)) showJob(job);
  else showAll();
}

addEventListener("hashchange", show);
show();
