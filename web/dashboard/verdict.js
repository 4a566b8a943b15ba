// The verdict of an email in the reader's language: the server's codes and values in texts of
// i18n. An unknown code is shown with the server's text.
import { clock, duration } from './format.js';
import { find, language } from './i18n.js';

/** A text of the server with local times. @param {string} text */
export const worded = (text) => text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (at) => clock(at));

/** Seconds of the units in which the server writes a span. @type {Record<string, number>} */
const units = { second: 1, minute: 60, hour: 3600, day: 86_400 };

const isSpan = /^(\d+) (second|minute|hour|day)s?$/;

const isTime = /^\d{4}-\d\d-\d\dT/;

/** @param {unknown} value */
function shown(value) {
	if (typeof value === 'number') return value.toLocaleString(language.value);
	const span = isSpan.exec(String(value));
	if (span) return duration(Number(span[1]) * units[span[2]]);
	return isTime.test(String(value)) ? clock(String(value)) : String(value);
}

/**
 * A sentence with its values; parts in square brackets are left out if one of their values is missing.
 * is absent.
 * @param {string} text @param {Record<string, any>} values
 */
export function fill(text, values) {
	const put = (part) => part.replace(/\{(\w+)\}/g, (_, name) => (values[name] ? shown(values[name]) : ''));
	return put(text.replace(/\[([^[\]]*)\]/g, (_, part) => ([...part.matchAll(/\{(\w+)\}/g)].every(([, name]) => values[name]) ? part : '')));
}

/** @param {any} part of a verdict, or the verdict @returns {{line: string, fix: string}} */
function partOf(part) {
	const said = find(`verdicts.${part.code}`);
	if (!said) return { line: worded(part.text), fix: worded(part.fix) };
	return { line: fill(part.params.count > 1 && said.many ? said.many : said.text, part.params), fix: fill(said.fix ?? '', part.params) };
}

/** The sentence of an email, and what to do. @param {any} v the API's verdict @returns {{line: string, fix: string}} */
export function sentenceOf(v) {
	const whole = partOf(v);
	if (!v.parts?.length) return whole;
	const parts = v.parts.map((p) => ({ ...partOf(p), told: p.fix !== '' && v.fix.includes(p.fix) }));
	const fixes = new Set(parts.filter((p) => p.told).map((p) => p.fix));
	return { line: [whole.line, ...parts.map((p) => p.line)].join(' '), fix: [...fixes].join(' ') };
}
