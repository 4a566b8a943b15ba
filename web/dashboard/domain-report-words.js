// The sentences of reports in the reader's language. The server names each sentence by a code, with its values.
import { html } from './lib/core.js';
import { number } from './format.js';
import { find, language, say, t } from './i18n.js';

/** A day in UTC, like "1 November". @param {string} at @param {Intl.DateTimeFormatOptions} [options] */
export const dayOf = (at, options) => new Intl.DateTimeFormat(language.value, { day: 'numeric', month: 'long', timeZone: 'UTC', ...options }).format(new Date(at));

/** A number with its noun. @param {'messages'|'sessions'|'days'|'reporters'|'sources'} noun @param {number} [n] */
export const count = (noun, n = 0) => t(`domain.reports.count.${noun}`, { n });

/** A part of all with at most one decimal, rounded down, so that 100 % means all. @param {number} part @param {number} all */
function share(part, all) {
	const tenths = part >= all ? 1000 : part > 0 ? Math.min(999, Math.max(1, Math.floor((part / all) * 1000))) : 0;
	return `${number(tenths / 10, { maximumFractionDigits: 1 })}\u2009%`;
}

/** A source with its reverse name. @param {{of: {source: string, reverse_name?: string}}} props */
export function SourceName({ of: s }) {
	const source = s.source === 'other' ? t('domain.reports.small') : html`<bdi class="mono">${s.source}</bdi>`;
	return s.reverse_name ? html`<span>${say('domain.reports.reverse', { source: html`<span>${source}</span>`, name: html`<bdi class="break">${s.reverse_name}</bdi>` })}</span>` : html`<span>${source}</span>`;
}

/** The sources of a sentence. @param {any} p */
function sourcesOf(p) {
	const all = (p.sources ?? []).map((s, i) => [i ? ', ' : '', html`<${SourceName} of=${s} />`]);
	const more = (p.count ?? 0) - all.length;
	return more > 0 ? say('domain.reports.andMore', { list: all, n: more }) : all;
}

/** What follows a sentence if one of its values is not zero: [value, key]. */
const more = {
	go_quarantine: [['own_failed', 'ownFew'], ['failed', 'toSpam']],
	go_reject: [['own_failed', 'ownFew'], ['failed', 'toRefusal']],
	done: [['failed', 'refused']],
};

/** A sentence of the server. One that this page has no text for is in English. @param {any} s @returns {any} */
export function sentence(s) {
	const key = `domain.reports.says.${s.code}`;
	if (!find(key)) return s.text;
	const p = s.params;
	const values = {
		domain: html`<bdi>${p.domain}</bdi>`, policy: `p=${p.policy || 'none'}`, since: p.since && dayOf(p.since, p.year ? { year: 'numeric' } : {}), percent: share(p.passed ?? 0, p.messages ?? 0), sources: sourcesOf(p),
		days: count('days', p.days), reporters: count('reporters', p.reporters), messages: count('messages', p.messages), failed: number(p.failed ?? 0), failures: count('messages', p.failed), count: count('sources', p.count),
		minDays: count('days', p.min_days), minReporters: count('reporters', p.min_reporters), minMessages: count('messages', p.min_messages),
	};
	const after = (more[s.code] ?? []).filter(([value]) => p[value]).map(([value, name]) => [' ', t(`domain.reports.says.${name}`, { messages: count('messages', p[value]) })]);
	return [say(key, values), after];
}

/** What TLS reports say. @param {any} tls @returns {any} */
export function tlsSentence(tls) {
	const passed = tls.sessions - tls.failed;
	const since = dayOf(tls.days[0].day);
	return tls.failed ? t('domain.reports.tls.some', { since, percent: share(passed, tls.sessions), sessions: count('sessions', tls.sessions) }) : t('domain.reports.tls.all', { since, sessions: count('sessions', tls.sessions) });
}

/** A kind of failed TLS sessions, which the server names like "certificate-expired mx.example.com". @param {any} f @returns {any} */
export function tlsFailure(f) {
	const [kind, host] = f.failure.split(' ');
	const known = find(`domain.reports.tls.kinds.${kind}`);
	const values = { sessions: count('sessions', f.sessions), why: typeof known === 'string' ? known : html`<span class="mono break">${kind}</span>` };
	return host ? say('domain.reports.tls.failedAt', { ...values, host: html`<bdi class="break">${host}</bdi>` }) : say('domain.reports.tls.failed', values);
}

/** The server's reasons that a report does not count or a file was refused, and the keys of their texts. @type {[RegExp, string, string[]][]} */
const reasons = [
	[/ no DKIM signature of (\S+) passes, which is the domain of the From /, 'unsigned', ['name']],
	[/ no DKIM signature of (\S+) passes, which is the domain of the email /, 'unsignedReporter', ['name']],
	[/ this server sent no mail of (\S+) between /, 'notSent', ['name']],
	[/^It is neither a DMARC report /, 'noReport', []],
	[/^The mail has no DMARC or TLS report/, 'noReportIn', []],
	[/^The report is about (.+), not about (\S+)$/, 'foreign', ['names', 'name']],
	[/^The (DMARC|TLS) report.* can't be read: (.+)$/, 'unreadable', ['kind', 'reason']],
];

/** A reason of the server in the reader's language; one that is not known is in English. @param {string} text @returns {string} */
export function reason(text) {
	for (const [pattern, key, names] of reasons) {
		const found = pattern.exec(text);
		if (found) return t(`domain.reports.why.${key}`, Object.fromEntries(names.map((name, i) => [name, found[i + 1]])));
	}
	return text;
}
