// The client of the API, the only source of the dashboard's data.
import { signal, useLayoutEffect, useMemo, useRef, useState } from './lib/core.js';
import { onLive } from './live.js';
import { isPath } from './paths.js';
import { signedOut, stillSignedIn, team } from './state.js';

/** An error of the API. */
export class ApiError extends Error {
	/** @param {number} status @param {{name?: string, message?: string}} body @param {string} request */
	constructor(status, body, request) {
		super(body.message ?? `The server answered ${status}`);
		this.status = status;
		this.name = body.name ?? 'error';
		this.request = request;
	}
}

/** Since when the server does not answer; 0: it does. */
export const silent = signal(0);

/** Asks for a fresh confirmation, and resolves to whether it was given. app.js sets it. */
export const proof = { ask: async () => false };

/** Routes where 401 means a wrong password or code, not an ended session. @param {string} path */
const proves = (path) => path.startsWith('/auth/') || path === '/users/me/password';

/** @param {string} path @param {Record<string, any>} [query] */
export function address(path, query = {}) {
	const search = new URLSearchParams();
	for (const [name, value] of Object.entries(query)) {
		if (value !== undefined && value !== null && value !== '') search.append(name, String(value));
	}
	const text = search.toString();
	return text ? `${path}?${text}` : path;
}

/**
 * One request. Throws ApiError; a server that does not answer is asked again where that
 * changes nothing (GET), until signal ends.
 * @param {string} method @param {string} path
 * @param {{query?: Record<string, any>, body?: any, headers?: Record<string, string>, team?: string|null, signal?: AbortSignal}} [options]
 * @param {boolean} [again] whether it was asked already, with a session that another took the place of meanwhile
 * @returns {Promise<Response>}
 */
export async function request(method, path, options = {}, again = false) {
	if (!isPath(path)) throw new ApiError(0, { name: 'not_found', message: 'There is nothing at this address' }, '');
	/** @type {Record<string, string>} */
	const headers = { Accept: 'application/json', ...options.headers };
	const named = options.team === undefined ? team.value : options.team;
	if (named) headers['X-Team'] = named;
	let body;
	if (options.body instanceof Blob || options.body instanceof FormData) body = options.body;
	else if (options.body !== undefined) {
		body = JSON.stringify(options.body);
		headers['Content-Type'] = 'application/json';
	}
	for (let wait = 1; ; wait = Math.min(wait * 2, 8)) {
		let answer;
		try {
			answer = await fetch(address(path, options.query), { method, headers, body, signal: options.signal });
		} catch (e) {
			if (options.signal?.aborted) throw e;
			silent.value ||= Date.now();
			if (method !== 'GET') throw new ApiError(0, { name: 'no_answer', message: 'The server does not answer' }, '');
			await new Promise((done) => setTimeout(done, wait * 1000));
			continue;
		}
		if (answer.status === 502 || answer.status === 504) { // a proxy whose server restarts
			silent.value ||= Date.now();
			if (method === 'GET') {
				await new Promise((done) => setTimeout(done, wait * 1000));
				continue;
			}
		} else silent.value = 0;
		if (answer.ok) return answer;
		const said = await answer.json().catch(() => ({}));
		const error = new ApiError(answer.status, said, answer.headers.get('X-Request-Id') ?? '');
		if (error.status === 401 && !proves(path)) {
			if (!again && path !== '/users/me' && (await stillSignedIn())) return request(method, path, options, true);
			signedOut();
		}
		if (error.name === 'reauthentication_required' && (await proof.ask())) continue;
		throw error;
	}
}

/** @param {string} method */
const json = (method) => async (/** @type {string} */ path, /** @type {any} */ body, /** @type {any} */ options = {}) => {
	const answer = await request(method, path, { body, ...options });
	const text = await answer.text();
	return text ? JSON.parse(text) : null;
};

export const api = {
	/** @param {string} path @param {Record<string, any>} [query] @param {any} [options] */
	get: async (path, query, options = {}) => (await request('GET', path, { query, ...options })).json(),
	post: json('POST'),
	patch: json('PATCH'),
	put: json('PUT'),
	/**
	 * POST that changes nothing, like a preview: the server refuses it at a route that could.
	 * Pages that open read with this or with get.
	 * @param {string} path @param {any} [body] @param {any} [options]
	 */
	read: (path, body, options = {}) => json('POST')(path, body, { ...options, headers: { 'X-Read-Only': '1', ...options.headers } }),
	del: json('DELETE'),
};

/** The latest answers by path: the back button shows them immediately. @type {Map<string, any>} */
const kept = new Map();

function keep(key, value) {
	kept.delete(key);
	kept.set(key, value);
	if (kept.size > 50) kept.delete(kept.keys().next().value);
}

/** Forgets cached answers, of another team or person. */
export const forget = () => kept.clear();

/**
 * Wraps a request so that only one runs at a time: calls meanwhile become one further call,
 * so that a slow server gets no more requests than it can answer.
 * @param {() => Promise<void>} ask @returns {() => Promise<void>}
 */
function serialized(ask) {
	/** @type {Promise<void>|null} */
	let now = null;
	/** @type {Promise<void>|null} */
	let next = null;
	const run = () => (now = ask().finally(() => {
		now = null;
	}));
	return () => {
		if (!now) return run();
		return (next ??= now.catch(() => {}).then(() => {
			next = null;
			return run();
		}));
	};
}

/**
 * The delay after a live event until the data is read again, in ms: longer if the last answer
 * was slow, or after a reset. @param {number} took @param {{name: string}} event
 */
const gather = (took, event) => Math.min(Math.max(event.name === 'reset' ? 1000 : 250, took * 4), 15_000);

/**
 * The answer of a path, read again after live events that change it, and by reload(). path
 * null: nothing yet.
 * @param {string|null} path @param {Record<string, any>} [query]
 * @param {{live?: (event: any) => boolean, every?: number, team?: string|null}} [options] live says which events
 * concern it; every is in seconds; team: another than the one in use, null: none.
 * @returns {{data: any, error: ApiError|null, loading: boolean, reload: () => Promise<void>, set: (data: any) => void}}
 */
export function useGet(path, query, options = {}) {
	const asked = options.team === undefined ? {} : { team: options.team };
	const key = path === null ? '' : `${(options.team === undefined ? team.value : options.team) ?? ''} ${address(path, query)}`;
	const [, draw] = useState(0);
	const state = useRef(/** @type {any} */ ({ key: null }));
	if (state.current.key !== key) state.current = { key, data: kept.get(key), error: null, loading: path !== null, took: 0 };
	const mine = state.current;
	const reload = useMemo(() => serialized(async () => {
		if (path === null) return;
		const began = performance.now();
		try {
			mine.data = await api.get(path, query, asked);
			mine.took = performance.now() - began;
			mine.error = null;
			keep(key, mine.data);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			mine.error = e;
		}
		mine.loading = false;
		draw((n) => n + 1);
	}), [key]);
	useLayoutEffect(() => { // not after the paint: the answer is waited for
		reload();
		const ends = [];
		if (options.live) {
			let timer = 0;
			ends.push(onLive((event) => {
				if (timer || !(event.name === 'reset' || options.live?.(event))) return;
				timer = window.setTimeout(() => {
					timer = 0;
					reload();
				}, gather(mine.took, event));
			}), () => clearTimeout(timer));
		}
		if (options.every) {
			const timer = setInterval(() => document.hidden || reload(), options.every * 1000);
			ends.push(() => clearInterval(timer));
		}
		return () => ends.forEach((end) => end());
	}, [key]);
	const set = (data) => {
		mine.data = data;
		keep(key, data);
		draw((n) => n + 1);
	};
	return { data: mine.data, error: mine.error, loading: mine.loading && mine.data === undefined, reload, set };
}

/**
 * A list of the API, page by page: data grows with more().
 * @param {string|null} path @param {Record<string, any>} [query] @param {{live?: (event: any) => boolean, counts?: (event: any) => boolean, limit?: number, team?: string|null}} [options]
 * counts tells which live events are new rows; default: all.
 * @returns {{rows: any[], page: any, error: ApiError|null, loading: boolean, fresh: number, more: () => Promise<void>, reload: () => Promise<void>}}
 * page is the last answer (has_more, searched_to); fresh counts new rows that are not shown because the list is scrolled.
 */
export function useList(path, query = {}, options = {}) {
	const limit = options.limit ?? 50;
	const asked = options.team === undefined ? {} : { team: options.team };
	const key = path === null ? '' : `${(options.team === undefined ? team.value : options.team) ?? ''} list ${address(path, query)}`;
	const [, draw] = useState(0);
	const state = useRef(/** @type {any} */ ({ key: null }));
	if (state.current.key !== key) {
		const before = kept.get(key);
		state.current = { key, rows: before?.rows ?? [], page: before?.page, error: null, loading: path !== null, fresh: 0, took: 0 };
	}
	const mine = state.current;
	const load = async (after) => {
		if (path === null) return;
		const began = performance.now();
		try {
			const page = await api.get(path, { ...query, limit, after }, asked);
			mine.took = performance.now() - began;
			mine.rows = after ? [...mine.rows, ...page.data] : page.data;
			mine.page = page;
			mine.error = null;
			if (!after) mine.fresh = 0;
			keep(key, { rows: mine.rows.slice(0, 200), page });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			mine.error = e;
		}
		mine.loading = false;
		draw((n) => n + 1);
	};
	const first = useMemo(() => serialized(() => load()), [key]);
	useLayoutEffect(() => {
		first();
		if (!options.live) return;
		let timer = 0;
		const end = onLive((event) => {
			if (!(event.name === 'reset' || options.live?.(event))) return;
			if (window.scrollY > 200 || mine.rows.length > limit) {
				if (options.counts && !options.counts(event)) return;
				mine.fresh++;
				draw((n) => n + 1);
			} else timer ||= window.setTimeout(() => {
				timer = 0;
				first();
			}, gather(mine.took, event));
		});
		return () => {
			clearTimeout(timer);
			end();
		};
	}, [key]);
	const last = mine.page?.searched_to ?? mine.rows[mine.rows.length - 1]?.id;
	return { rows: mine.rows, page: mine.page, error: mine.error, loading: mine.loading && !mine.page, fresh: mine.fresh, more: () => load(last), reload: first };
}
