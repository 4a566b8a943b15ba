// The counters of the sidebar, which pages use too: failing relays, and broadcasts being sent.
import { computed, signal } from './lib/core.js';
import { api, ApiError } from './api.js';
import { hearing, onLive } from './live.js';
import { me, team } from './state.js';

/** Relays, of operators alone; undefined: not read yet. @type {{value: any[]|undefined}} */
export const relays = signal(/** @type {any[]|undefined} */ (undefined));

/** Broadcasts of the team that leave; undefined: not read yet. @type {{value: any[]|undefined}} */
export const leaving = signal(/** @type {any[]|undefined} */ (undefined));

/** How many relays fail and broadcasts leave. */
export const counts = computed(() => ({ failing: (relays.value ?? []).filter((r) => r.state === 'failing').length, leaving: leaving.value?.length ?? 0 }));

/** Reads rows into a signal, which keeps its value after an error. @param {{value: any}} into @param {() => boolean} holds @param {string} path @param {any} query @param {any} options @param {(row: any) => boolean} [fits] */
async function read(into, holds, path, query, options, fits = () => true) {
	try {
		const { data } = await api.get(path, query, options);
		if (holds()) into.value = data.filter(fits);
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		if (holds()) into.value ??= [];
	}
}

/** Reads the relays again. */
export async function readRelays() {
	const person = me.value;
	if (person?.operator) await read(relays, () => me.value === person, '/relays', {}, { team: null });
}

async function readLeaving() {
	const of = team.value;
	if (me.value && of) await read(leaving, () => team.value === of, '/broadcasts', { limit: 20 }, {}, (b) => b.status === 'queued');
}

/** Applies a live event of a broadcast; returns whether it is not enough. @param {{id?: string, data?: any}} event */
function told({ id, data }) {
	const rows = leaving.value ?? [];
	if (!rows.some((b) => b.id === id)) return data.status === 'queued';
	leaving.value = rows.flatMap((b) => (b.id !== id ? [b] : data.status === 'queued' ? [{ ...b, told: data }] : []));
	return false;
}

/**
 * Updates the counters: broadcasts by live events; relays, which have no live events for a
 * team, every 30 s too. The returned function ends this.
 */
export function watch() {
	/** @type {Set<() => Promise<void>>} */
	const due = new Set();
	let soon = 0;
	const later = (ask) => {
		due.add(ask);
		soon ||= window.setTimeout(() => {
			soon = 0;
			for (const run of due) run();
			due.clear();
		}, 1500);
	};
	leaving.value = undefined;
	readRelays();
	readLeaving();
	const timer = setInterval(() => {
		if (document.hidden) return;
		readRelays();
		if (hearing.value !== 'live') readLeaving();
	}, 30_000);
	const end = onLive((e) => {
		if (e.name === 'relay') later(readRelays);
		else if (e.name === 'reset' || (e.name === 'broadcast' && told(e))) later(readLeaving);
	});
	return () => {
		clearInterval(timer);
		clearTimeout(soon);
		end();
	};
}
