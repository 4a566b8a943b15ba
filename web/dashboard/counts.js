// The few numbers beside the doors of the sidebar: what fails and what leaves.
import { signal } from './lib/core.js';
import { api, ApiError } from './api.js';
import { onLive } from './live.js';
import { me, team } from './state.js';

/** Relays that fail, of operators alone, and broadcasts that leave. */
export const counts = signal({ failing: 0, leaving: 0 });

/** Asks, and has what can't be read be nothing. @param {string} path @param {any} query @param {any} [options] */
async function ask(path, query, options) {
	try {
		return (await api.get(path, query, options)).data ?? [];
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		return [];
	}
}

async function count() {
	if (!me.value || document.hidden) return;
	const of = team.value;
	const [relays, broadcasts] = await Promise.all([me.value.operator ? ask('/relays', {}, { team: null }) : [], of ? ask('/broadcasts', { limit: 20 }) : []]);
	if (team.value !== of) return;
	counts.value = { failing: relays.filter((r) => r.state === 'failing').length, leaving: broadcasts.filter((b) => b.status === 'queued').length };
}

/** Counts every 30 s, and when something of it moved; ends what it began when it is called. */
export function watch() {
	let soon = 0;
	count();
	const timer = setInterval(count, 30_000);
	const end = onLive((e) => {
		if (e.name === 'relay' || e.name === 'broadcast' || e.name === 'reset') soon ||= window.setTimeout(() => {
			soon = 0;
			count();
		}, 1000);
	});
	return () => {
		clearInterval(timer);
		clearTimeout(soon);
		end();
	};
}
