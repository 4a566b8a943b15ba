// What was looked at last, in this tab: noted from the first page on, shown by the palette.
import { effect } from './lib/core.js';
import { place } from './router.js';
import { team } from './state.js';

/** Kinds of things with a page of their own, and their icon. @type {Record<string, string>} */
export const kinds = { emails: 'mail', contacts: 'user', broadcasts: 'broadcast', segments: 'audience', templates: 'template', domains: 'globe', webhooks: 'webhook' };

const recentPlace = () => `mailer.recent.${team.value ?? ''}`;

/** What was looked at last: {to, name, kind}, newest first. @returns {any[]} */
export function recent() {
	try {
		const all = JSON.parse(sessionStorage.getItem(recentPlace()) ?? '[]');
		return Array.isArray(all) ? all : [];
	} catch {
		return [];
	}
}

/** Notes what is looked at, once its name stands in the title. */
export function noteVisits() {
	let noting = 0;
	effect(() => {
		const { path } = place.value;
		clearTimeout(noting);
		const m = /^\/(\w+)\/([^/]+)/.exec(path);
		if (!m || !(m[1] in kinds)) return;
		noting = window.setTimeout(() => {
			const name = document.title.replace(/ · Mailer$/, '');
			if (place.value.path !== path || !name || name === 'Mailer') return;
			try {
				sessionStorage.setItem(recentPlace(), JSON.stringify([{ to: path, name, kind: m[1] }, ...recent().filter((r) => r.to !== path)].slice(0, 8)));
			} catch { /* then there are no recent ones */ }
		}, 1500);
	});
}
