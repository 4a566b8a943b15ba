// Live events: server-sent events, read with fetch, which can send the team; polling if a
// proxy lets no events through.
import { effect, signal } from './lib/core.js';
import { me, signedOut, stillSignedIn, team } from './state.js';

/** "live", "polling" or "off". */
export const hearing = signal('off');

/** @type {Set<(event: {name: string, id?: string, data?: any}) => void>} */
const listeners = new Set();

/** Calls fn with live events, until the returned function is called. @param {(event: {name: string, id?: string, data?: any}) => void} fn */
export function onLive(fn) {
	listeners.add(fn);
	return () => listeners.delete(fn);
}

const tell = (event) => listeners.forEach((fn) => fn(event));

/** Silence after which a proxy is assumed to buffer the events, in ms. */
const silence = 5000;

/** Reads a stream of events. @param {ReadableStream<Uint8Array>} body @param {() => void} heard */
async function read(body, heard) {
	const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
	let text = '';
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		heard();
		text += value;
		for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
			const fields = Object.fromEntries(text.slice(0, end).split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
			if (!fields.event) continue;
			let data;
			try {
				data = JSON.parse(fields.data ?? '{}');
			} catch {
				data = {};
			}
			tell({ name: fields.event, id: data.id, data });
		}
	}
}

/** Listens until ended. @param {AbortSignal} ended @param {string|null} of */
async function listen(ended, of) {
	for (let wait = 2; !ended.aborted; wait = Math.min(wait * 2, 30)) {
		let poll = 0;
		const quiet = setTimeout(() => {
			hearing.value = 'polling';
			poll = window.setInterval(() => document.hidden || tell({ name: 'reset' }), silence);
		}, silence);
		const heard = () => {
			clearTimeout(quiet);
			clearInterval(poll);
			hearing.value = 'live';
			wait = 2;
		};
		try {
			const answer = await fetch('/live', { headers: of ? { 'X-Team': of } : {}, signal: ended });
			if (answer.ok && answer.body) {
				await read(answer.body, heard);
				tell({ name: 'reset' });
			} else if (answer.status === 401 && !(await stillSignedIn())) {
				signedOut();
				return;
			}
		} catch { /* it is asked again */ }
		clearTimeout(quiet);
		clearInterval(poll);
		if (ended.aborted) return;
		hearing.value = 'polling';
		await new Promise((done) => setTimeout(done, wait * 1000));
		tell({ name: 'reset' });
	}
}

/** Whether the page was left. */
const left = signal(false);

/** Follows the live events of the current team. */
export function follow() {
	// A page that was left is kept for the back button, with its connections: six that listen,
	// and the browser has none for the next page.
	addEventListener('pagehide', () => {
		left.value = true;
	});
	addEventListener('pageshow', () => {
		if (!left.value) return;
		left.value = false;
		tell({ name: 'reset' });
	});
	effect(() => {
		const of = team.value;
		if (left.value || !me.value || (!of && !me.value.operator)) {
			hearing.value = 'off';
			return;
		}
		const end = new AbortController();
		listen(end.signal, of);
		return () => end.abort();
	});
}
