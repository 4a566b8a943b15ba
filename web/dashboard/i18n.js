// Texts in the reader's language. Every text of the dashboard is in i18n/en.json, grouped by
// page; the files of other languages have the same keys.
import { signal } from './lib/core.js';

/** Languages that there is a file for. */
export const languages = { de: 'Deutsch', en: 'English', es: 'Español', fr: 'Français', it: 'Italiano', nl: 'Nederlands', pl: 'Polski', pt: 'Português', ja: '日本語', zh: '中文' };

/** @type {Record<string, any>} */
let words = {};
/** The current language. Components that read it draw again when it changes. */
export const language = signal('en');

/** The URL of a language's file. @param {string} name */
const address = (name) => new URL(`./i18n/${name}.json`, import.meta.url);

/** The language to begin with: the one chosen, or the browser's first that we have. */
export const preferred = () => /** @type {any} */ (globalThis).early.preferred();

/** Loads a language and uses it. @param {string} name */
export async function speak(name) {
	const { early } = /** @type {any} */ (globalThis);
	let answer = name === early.language ? await early.words : null;
	early.words = null;
	answer ??= await fetch(address(name));
	words = await answer.json();
	document.documentElement.lang = name === 'zh' ? 'zh-Hans' : name; // Chinese and Japanese glyphs differ for the same characters
	language.value = name;
}

/** The text of a key like "emails.title", or undefined. @param {string} key */
export const find = (key) => key.split('.').reduce((at, part) => at?.[part], words);

/**
 * The text of a key. {name} is replaced by a value; of an object, the text is chosen by the
 * plural form of values.n: {"one": "…", "other": "…"}.
 * @param {string} key @param {Record<string, any>} [values] @returns {string}
 */
export function t(key, values = {}) {
	let text = find(key);
	if (text && typeof text === 'object') {
		text = text[new Intl.PluralRules(language.value).select(Number(values.n))] ?? text.other;
	}
	if (typeof text !== 'string') {
		console.error(`no words for ${key}`);
		return key;
	}
	return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? shown(values[name]) : all));
}

const shown = (value) => (typeof value === 'number' ? value.toLocaleString(language.value) : String(value));

/**
 * The text of a key with parts that are more than text, as children of an element:
 * say('emails.by', {key: html`<a …>`}).
 * @param {string} key @param {Record<string, any>} values @returns {any[]}
 */
export function say(key, values) {
	return t(key, Object.fromEntries(Object.keys(values).map((k) => [k, values[k]?.type !== undefined || Array.isArray(values[k]) ? `\u0000${k}\u0000` : values[k]])))
		.split('\u0000')
		.map((part, i) => (i % 2 ? values[part] : part));
}
