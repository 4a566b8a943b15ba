// Recently visited objects of this tab, shown by the palette.
import { effect } from './lib/core.js';
import { place } from './router.js';
import { team } from './state.js';

/** Kinds of things with a page of their own, and their icon. @type {Record<string, string>} */
export const kinds = { emails: 'mail', received: 'mail', contacts: 'user', broadcasts: 'broadcast', automations: 'flow', segments: 'audience', forms: 'form', templates: 'template', domains: 'globe', webhooks: 'webhook' };

const recentPlace = () => `mailer.recent.${team.value ?? ''}`;

/** Recently visited objects: {to, name, kind}, newest first. @returns {any[]} */
export function recent() {
	try {
		const all = JSON.parse(sessionStorage.getItem(recentPlace()) ?? '[]');
		return Array.isArray(all) ? all : [];
	} catch {
		return [];
	}
}

/** Records the current page, once its title has the object's name. */
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
