// @ts-check
// Questions to the server, with the token where there is one: from the address (#token=..., which is not sent and goes
// from the address at once) or from a form, kept in the session of this tab.

import { el } from "/assets/dom.js";

const KEPT = "ziggurat-token";

/** What the server refused, or why it was not reached. */
export class Refusal extends Error {
  /** @param {number} status 0 if there was no answer @param {{message: string, help?: string, [name: string]: unknown}} error */
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.help = error.help;
    this.error = error;
  }
}

function takeToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("token");
  if (token === null) return;
  sessionStorage.setItem(KEPT, token);
  fragment.delete("token");
  history.replaceState(null, "", location.pathname + location.search + (fragment.size ? `#${fragment}` : ""));
}
takeToken();

/** @param {RequestInit} options @returns {RequestInit} */
function withToken(options) {
  const headers = new Headers(options.headers);
  const token = sessionStorage.getItem(KEPT);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  return { ...options, headers };
}

/** @param {string} path @param {RequestInit} options */
async function answer(path, options) {
  let found;
  try {
    found = await fetch(path, withToken(options));
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refusal(0, { message: "the server does not answer", help: "is it still running?" });
  }
  if (found.ok) return found;
  const told = await found.json().catch(() => null);
  throw new Refusal(found.status, told?.error ?? { message: `the server answered with status ${found.status}` });
}

/**
 * The JSON at a path; a Refusal is thrown if there is none.
 * @param {string} path @param {RequestInit} [options] @returns {Promise<any>}
 */
export async function ask(path, options = {}) {
  return (await answer(path, options)).json();
}

/**
 * Reads server-sent events until the server ends them or `signal` is given: `heard(event, data)` for each.
 * @param {string} path @param {(event: string, data: string) => void} heard @param {AbortSignal} [signal]
 */
export async function listen(path, heard, signal) {
  const found = await answer(path, { headers: { Accept: "text/event-stream" }, signal });
  if (!found.body) return;
  const reader = found.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      let event = "message";
      const data = [];
      for (const line of part.split("\n")) {
        if (line.startsWith("event:")) event = line.slice(6).trim();
        if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
      if (data.length) heard(event, data.join("\n"));
    }
  }
}

/** Asks for the token, and keeps it; ready when one was typed. @param {string} [why] @returns {Promise<void>} */
export function askForToken(why = "This server asks for its token.") {
  return new Promise((resolve) => {
    const input = el("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const form = el("form", { method: "dialog" }, el("p", {}, el("label", { for: "token" }, why)), el("div", { class: "row" }, input, el("button", {}, "show the page")));
    const dialog = el("dialog", { id: "sign-in" }, form);
    form.addEventListener("submit", () => {
      sessionStorage.setItem(KEPT, input.value.trim());
      dialog.remove();
      resolve();
    });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Does something that asks the server, and asks for the token as often as that is missing or wrong.
 * @template T @param {() => Promise<T>} work @returns {Promise<T>}
 */
export async function signedIn(work) {
  for (let why; ; ) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 401) throw error;
      await askForToken(why);
      why = "That was not the token.";
    }
  }
}
