// Texts and icons of the reasons why mail waits.
import { find, t } from './i18n.js';

/** The kind and icon of a queue state. */
const looks = { due: 'queued', scheduled: 'scheduled', retry: 'deferred', held: 'held', relay: 'failing', quota: 'resting', paced: 'scheduled' };

/** The state of a reason of GET /queue, and the relay's text. @param {string} reason */
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

/** Waiting mail by reason, per state and relay: the API counts broadcast mail of a failing relay separately. @param {any[]} by */
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
