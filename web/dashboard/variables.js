// Variables in the text of broadcasts and templates: {{{KEY}}} and {{{KEY|fallback}}}.
import { t } from './i18n.js';

/** Names that mean something in every broadcast. */
export const builtIn = ['FIRST_NAME', 'LAST_NAME', 'EMAIL', 'contact.first_name', 'contact.last_name', 'contact.email', 'UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL'];

const line = (text, at) => text.slice(0, at).split('\n').length;

/**
 * The variables of a text. @param {string} text
 * @returns {{from: number, to: number, line: number, key: string, fallback: string|null, broken?: boolean}[]}
 */
export function used(text) {
	const out = [];
	for (let at = text.indexOf('{{{'); at >= 0; at = text.indexOf('{{{', at + 3)) {
		while (text[at + 3] === '{') at++;
		const end = text.indexOf('}}}', at);
		const inside = end < 0 ? '' : text.slice(at + 3, end);
		if (end < 0 || !/^\s*(contact\.)?\w+\s*(\|[^]*)?$/.test(inside) || inside.includes('{{{')) {
			out.push({ from: at, to: end < 0 ? Math.min(text.length, at + 3) : end + 3, line: line(text, at), key: inside.trim(), fallback: null, broken: true });
			continue;
		}
		const cut = inside.indexOf('|');
		out.push({ from: at, to: end + 3, line: line(text, at), key: (cut < 0 ? inside : inside.slice(0, cut)).trim(), fallback: cut < 0 ? null : inside.slice(cut + 1).trim() });
		at = end;
	}
	return out;
}

/** The edit distance of two names. @param {string} a @param {string} b */
function distance(a, b) {
	let row = Array.from({ length: b.length + 1 }, (_, i) => i);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
		row = next;
	}
	return row[b.length];
}

/** The known name that is most like another one, if any is. @param {string} key @param {string[]} names */
export function nearest(key, names) {
	const like = names.map((name) => ({ name, far: distance(key.toLowerCase(), name.toLowerCase()) })).sort((a, b) => a.far - b.far)[0];
	return like && like.far <= Math.max(1, Math.floor(key.length / 3)) ? like.name : null;
}

/**
 * Errors in the variables of a text: unknown ones, with the likely name, and braces without a
 * variable. @param {string} text @param {string[]} names that are known @param {'property'|'variable'} [kind]
 * @returns {{from: number, to: number, line: number, key: string, message: string, meant: string|null, fix: string|null, broken?: boolean}[]}
 */
export function findings(text, names, kind = 'property') {
	return used(text).filter((v) => v.broken || !names.includes(v.key)).map((v) => {
		if (v.broken) return { ...v, meant: null, fix: null, message: t('editor.broken', { line: v.line }) };
		const meant = nearest(v.key, names);
		const fix = meant && `{{{${meant}${v.fallback === null ? '' : `|${v.fallback}`}}}}`;
		return { ...v, meant, fix, message: meant ? t(`editor.${kind}Meant`, { line: v.line, key: v.key, meant }) : t(`editor.${kind}`, { line: v.line, key: v.key }) };
	});
}
