// The difference between two texts, line by line, as it is drawn.
import { html } from './lib/core.js';
import { t } from './i18n.js';

/**
 * Removed, added and equal lines: [sign, text, number]. @param {string} before @param {string} after
 * @returns {['-'|'+'|' ', string, number][]}
 */
export function diff(before, after) {
	const a = before.split(/\r\n?|\n/);
	const b = after.split(/\r\n?|\n/);
	let head = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	let tail = 0;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	const x = a.slice(head, a.length - tail);
	const y = b.slice(head, b.length - tail);
	/** @type {any[]} */
	const out = a.slice(0, head).map((text, i) => [' ', text, i + 1]);
	if (x.length * y.length > 4e6) out.push(...x.map((text, i) => ['-', text, head + i + 1]), ...y.map((text, i) => ['+', text, head + i + 1]));
	else out.push(...common(x, y, head));
	return [...out, ...b.slice(b.length - tail).map((text, i) => [' ', text, b.length - tail + i + 1])];
}

/** By the longest part that both have in common. */
function common(x, y, head) {
	const w = y.length + 1;
	const long = new Uint32Array((x.length + 1) * w);
	for (let i = x.length - 1; i >= 0; i--) {
		for (let j = y.length - 1; j >= 0; j--) long[i * w + j] = x[i] === y[j] ? long[(i + 1) * w + j + 1] + 1 : Math.max(long[(i + 1) * w + j], long[i * w + j + 1]);
	}
	const out = [];
	let i = 0;
	let j = 0;
	while (i < x.length || j < y.length) {
		if (i < x.length && j < y.length && x[i] === y[j]) out.push([' ', x[i++], head + ++j]);
		else if (j >= y.length || (i < x.length && long[(i + 1) * w + j] >= long[i * w + j + 1])) out.push(['-', x[i], head + ++i]);
		else out.push(['+', y[j], head + ++j]);
	}
	return out;
}

/** Two texts and their differences, with two lines of context. @param {{before: string, after: string}} props */
export function Diff({ before, after }) {
	const lines = diff(before, after);
	const near = lines.map((_, i) => lines.slice(Math.max(0, i - 2), i + 3).some(([sign]) => sign !== ' '));
	if (!near.includes(true)) return html`<p class="muted t13r">${t('editor.same')}</p>`;
	return html`<ol class="diff" tabindex="0" aria-label=${t('editor.diff')}>${lines.map(([sign, text, n], i) => near[i] ? html`<li class=${{ '+': 'is-add', '-': 'is-del' }[sign] ?? ''}><span class="n">${n}</span><span>${sign === '-' ? '−' : sign}</span><span>${text}</span></li>` : near[i - 1] ? html`<li><span class="n">…</span></li>` : null)}</ol>`;
}
