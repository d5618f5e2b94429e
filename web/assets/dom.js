// @ts-check
// Elements from names, attributes and children. Texts become text nodes and never markup; attributes that could run
// something or load something from elsewhere are refused.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} element @param {Attributes} attributes @param {Child[]} children */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.replace(/^on/, ""), value);
    } else {
      const text = String(value);
      if (/^(on|style$|srcdoc$)/i.test(name)) throw new Error(`the attribute ${name} is not allowed`);
      if (/^(href|src|action|formaction|xlink:href)$/i.test(name) && !/^[#/](?!\/)/.test(text)) throw new Error(`${name} leads elsewhere`);
      element.setAttribute(name, value === true ? "" : text);
    }
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * An element of HTML: `el("button", { type: "button", onclick: go }, "next")`.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name @param {Attributes} [attributes] @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

/**
 * An element of SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} name @param {Attributes} [attributes] @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function shape(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  fill(element, attributes, children);
  return element;
}

/** The element with an id, which the page has. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/** Puts other children into an element. @param {Element} element @param {...Child} children */
export function put(element, ...children) {
  element.replaceChildren();
  fill(element, {}, children);
}

/**
 * A row of a table. Columns of words stand on the left, those of numbers on the right.
 * @param {Child[]} cells @param {number[]} [words] @param {"td" | "th"} [kind]
 */
export function row(cells, words = [], kind = "td") {
  return el("tr", {}, ...cells.map((cell, index) => el(kind, { class: words.includes(index) && "word" }, cell)));
}
