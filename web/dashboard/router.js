// The router: the page follows the address bar, and the back button works.
import { signal } from './lib/core.js';
import { idOf } from './paths.js';

export const base = '/dashboard';

const here = () => ({ path: location.pathname.slice(base.length).replace(/\/+$/, '') || '/', query: new URLSearchParams(location.search), hash: location.hash.slice(1) });

/** The current location: {path, query, hash}, as in the address bar; match decodes. */
export const place = signal(here());

/** Where each page was scrolled to, by key of the history's entry. @type {Map<string, number>} */
const scrolled = new Map();
let entry = '';

/** Opens a page. @param {string} to like "/emails?status=bounced" @param {{replace?: boolean}} [options] */
export function go(to, { replace = false } = {}) {
	if (!replace) {
		scrolled.set(entry, window.scrollY);
		entry = crypto.randomUUID();
	}
	history[replace ? 'replaceState' : 'pushState']({ entry }, '', base + to);
	const before = place.value.path;
	place.value = here();
	if (!replace && place.value.path !== before) {
		window.scrollTo(0, 0);
		document.getElementById('main')?.focus({ preventScroll: true });
	}
}

/** Changes parts of the query in the address bar; empty ones go. @param {Record<string, string|null|undefined>} parts */
export function setQuery(parts) {
	const query = new URLSearchParams(place.value.query);
	for (const [name, value] of Object.entries(parts)) {
		if (value) query.set(name, value);
		else query.delete(name);
	}
	const text = query.toString();
	go(place.value.path + (text ? `?${text}` : ''), { replace: true });
}

/** The address of a page, for a link. @param {string} to */
export const href = (to) => base + to;

/** Follows the browser. */
export function start() {
	history.scrollRestoration = 'manual';
	entry = history.state?.entry ?? crypto.randomUUID();
	history.replaceState({ entry }, '');
	addEventListener('popstate', (e) => {
		scrolled.set(entry, window.scrollY);
		entry = e.state?.entry ?? '';
		place.value = here();
		const to = scrolled.get(entry) ?? 0;
		requestAnimationFrame(() => requestAnimationFrame(() => window.scrollTo(0, to)));
	});
	addEventListener('click', (e) => {
		const a = /** @type {Element} */ (e.target).closest?.('a[href]');
		if (!(a instanceof HTMLAnchorElement) || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.target || a.hasAttribute('download')) return;
		if (a.origin !== location.origin || !(a.pathname === base || a.pathname.startsWith(base + '/'))) return;
		e.preventDefault();
		go(a.pathname.slice(base.length) + a.search + a.hash || '/');
	});
}

/**
 * The parameters of a path in a pattern like "/emails/:id", or null: also where one of them is no id.
 * @param {string} pattern @param {string} path
 */
export function match(pattern, path) {
	const want = pattern.split('/');
	const have = path.split('/');
	if (want.length !== have.length) return null;
	/** @type {Record<string, string>} */
	const params = {};
	for (let i = 0; i < want.length; i++) {
		if (!want[i].startsWith(':')) {
			if (want[i] !== have[i]) return null;
			continue;
		}
		const id = idOf(have[i]);
		if (id === null) return null;
		params[want[i].slice(1)] = id;
	}
	return params;
}
