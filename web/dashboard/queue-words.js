// Why mail waits, in words and looks.
import { find, t } from './i18n.js';

/** How a state of what waits looks: the kind and icon of a Status. */
const looks = { due: 'queued', scheduled: 'scheduled', retry: 'deferred', held: 'held', relay: 'failing', quota: 'resting', paced: 'scheduled' };

/** A reason of GET /queue as the state that it is of, and the relay's words. @param {string} reason */
export function reasonOf(reason) {
	if (find(`queue.reasons.${reason}`)) return { state: { damaged: 'held', manual: 'held', restored: 'held', held: 'held' }[reason] ?? reason, word: t(`queue.reasons.${reason}`), detail: '' };
	const m = /^Relay (\S+) \([^)]*\) (while|at) ([^:]*): (.*?)(?:; next try at (\S+))?$/s.exec(reason);
	if (!m) return { state: 'due', word: reason, detail: '' };
	const signIn = /signing in/.test(m[3]);
	const atRecipient = m[2] === 'at';
	return { state: atRecipient ? 'retry' : 'relay', word: t(atRecipient ? 'queue.reasons.retry' : signIn ? 'queue.reasons.signIn' : 'queue.reasons.relay'), detail: m[4] };
}

/** The look of a state. @param {string} state */
export const lookOf = (state) => looks[state] ?? 'queued';

/** How much waits for each reason, those of one state and relay together: of a relay's trouble the mail of broadcasts stands apart in the API. @param {any[]} by */
export function grouped(by) {
	/** @type {Map<string, any>} */
	const groups = new Map();
	for (const row of by) {
		const said = reasonOf(row.reason);
		const key = `${said.state} ${said.word} ${row.relay}`;
		const group = groups.get(key) ?? { ...said, key, reason: row.reason, relay: row.relay, teams: new Set(), count: 0 };
		group.count += row.count;
		if (row.team) group.teams.add(row.team);
		groups.set(key, group);
	}
	return [...groups.values()].sort((a, b) => b.count - a.count);
}
