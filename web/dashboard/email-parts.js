// What became of an email, put together from its timeline: recipients, sentences, replies.
import { clock, domainOf, mailbox } from './format.js';
import { find, t } from './i18n.js';

/** What a line of the timeline makes of its recipient; the highest counts. */
const rank = ['queued', 'scheduled', 'requeued', 'resent', 'deferred', 'delivery_delayed', 'interrupted', 'in_doubt', 'held', 'canceled', 'sent', 'prefetched', 'delivered', 'opened', 'clicked', 'unsubscribed', 'suppressed', 'failed', 'bounced', 'complained'];

/** How a line of the timeline looks: its kind, and its icon. @type {Record<string, [string, string]>} */
const looks = {
	queued: ['', 'queued'], scheduled: ['', 'scheduled'], rescheduled: ['', 'scheduled'], sent: ['', 'sent'], delivered: ['good', 'delivered'], opened: ['good', 'opened'], prefetched: ['', 'opened'], clicked: ['good', 'clicked'],
	deferred: ['warn', 'delayed'], delivery_delayed: ['warn', 'delayed'], interrupted: ['warn', 'delayed'], in_doubt: ['warn', 'delayed'], relay_trouble: ['warn', 'failing'], quota_wait: ['warn', 'resting'], held: ['warn', 'resting'],
	released: ['', 'queued'], moved: ['', 'queued'], requeued: ['', 'queued'], resent: ['', 'sent'], bounced: ['bad', 'bounced'], failed: ['bad', 'bounced'], complained: ['bad', 'complained'], suppressed: ['', 'suppressed'], canceled: ['', 'canceled'], unsubscribed: ['', 'canceled'],
};

/** @param {string} type @returns {[string, string]} */
export const lookOf = (type) => looks[type] ?? ['', 'queued'];

/** The reply with its codes: ["550 5.1.1", "User unknown"]. @param {any} detail */
export function replyOf(detail) {
	const code = [detail.reply_code, detail.enhanced_code].filter(Boolean).join(' ');
	return [code, detail.reply || detail.diagnostic || (code ? '' : detail.reason || '')];
}

/**
 * The recipients of an email, each with its state, the line that says so, and when it is tried next.
 * @param {any} email @param {any[]} events newest first
 */
export function recipientsOf(email, events) {
	const all = [...email.to, ...email.cc, ...email.bcc].map(mailbox);
	return all.map((box) => {
		const own = events.filter((e) => !e.recipient || e.recipient.toLowerCase() === box.address.toLowerCase());
		const begun = own.findIndex((e) => e.type === 'requeued');
		const since = begun < 0 ? own : own.slice(0, begun + 1);
		let best = since[since.length - 1];
		for (const e of [...since].reverse()) if (rank.indexOf(e.type) >= rank.indexOf(best.type)) best = e;
		const type = best?.type ?? email.last_event;
		return { ...box, type, state: { deferred: 'delivery_delayed', requeued: 'queued', resent: 'queued', interrupted: 'delivery_delayed', in_doubt: 'delivery_delayed', prefetched: 'delivered', unsubscribed: 'clicked' }[type] ?? type, event: best, next: type === 'deferred' ? best.detail.next_attempt_at : undefined };
	});
}

const tone = { bounced: 'bad', failed: 'bad', complained: 'bad', delivery_delayed: 'warn', held: 'warn', delivered: 'good', opened: 'good', clicked: 'good' };

/** The verdict's kind and icon. @param {any} email @param {any[]} people */
export function kindOf(email, people) {
	const states = people.map((p) => p.state);
	const worst = ['complained', 'bounced', 'failed', 'held', 'delivery_delayed'].find((s) => states.includes(s)) ?? email.last_event;
	const waits = states.some((s) => s === 'delivery_delayed' || s === 'held');
	const gone = states.some((s) => ['sent', 'delivered', 'opened', 'clicked'].includes(s));
	const kind = tone[worst] === 'bad' && (waits || gone) ? 'warn' : tone[worst] ?? '';
	return { kind, icon: lookOf(worst)[1] };
}

/**
 * The verdict, from the server's words: in the reader's language where there are words for
 * its code, with the parts that it is made of behind it.
 * @param {any} verdict @returns {{line: string, fix?: string}}
 */
export function spoken(verdict) {
	const words = verdict.code === 'title' ? undefined : find(`verdict.${verdict.code}`);
	const fix = verdict.fix && worded(verdict.fix);
	if (!words) return { line: worded(verdict.text), fix };
	const params = { n: verdict.params?.count ?? 1, ...shown(verdict.params ?? {}) };
	const parts = (verdict.parts ?? []).map(spoken);
	const nested = typeof words === 'object' && words.text;
	const line = [t(`verdict.${verdict.code}${nested ? '.text' : ''}`, params), ...parts.map((p) => p.line)].join(' ');
	return { line, fix: nested && words.fix ? t(`verdict.${verdict.code}.fix`, params) : parts.find((p) => p.fix)?.fix ?? fix };
}

/** Times among the parameters as a reader has them. */
const shown = (params) => Object.fromEntries(Object.entries(params).map(([name, value]) => [name, typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value) ? clock(value) : value]));

/** A text of the server with its times as a reader has them. @param {string} text */
export const worded = (text) => text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (at) => clock(at));

/** A sentence where the server has none. @param {any} email @param {any[]} people @param {any[]} events */
export function plain(email, people, events) {
	const of = (...states) => people.filter((p) => states.includes(p.state));
	const gone = of('sent', 'delivered', 'opened', 'clicked');
	const lines = [];
	const trouble = of('queued').length && events.find((e) => ['relay_trouble', 'quota_wait'].includes(e.type));
	if (trouble) return { line: t(`email.said.${trouble.type}`, { relay: trouble.detail.relay ?? '', reply: replyOf(trouble.detail).filter(Boolean).join(' ') || worded(trouble.detail.message ?? '') }), fix: t('email.said.waitsItself') };
	if (email.last_event === 'scheduled' && email.scheduled_at) lines.push(t('email.said.scheduled', { at: clock(email.scheduled_at) }));
	if (people.length > 1 && gone.length && gone.length < people.length) lines.push(t('email.said.some', { n: gone.length, all: people.length }));
	else if (gone.length && gone.length === people.length) {
		const state = ['clicked', 'opened', 'delivered', 'sent'].find((s) => of(s).length) ?? 'sent';
		lines.push(t(`email.said.${state}`));
	}
	for (const state of ['complained', 'bounced', 'failed', 'suppressed', 'delivery_delayed', 'held', 'canceled', 'queued']) {
		const some = of(state);
		if (!some.length) continue;
		const [code, reply] = replyOf(some[0].event?.detail ?? {});
		lines.push(t(`email.said.${state}`, { n: some.length, address: some[0].address, domain: domainOf(some[0].address), reply: [code, reply].filter(Boolean).join(' ') || t('email.said.noReason') }));
	}
	const next = people.map((p) => p.next).filter(Boolean).sort()[0];
	const fix = next ? t('email.said.nextTry', { at: clock(next) }) : of('bounced').length ? t('email.said.fixBounced') : of('suppressed').length ? t('email.said.fixSuppressed') : undefined;
	return { line: lines.join(' ') || t('email.said.queued', { n: 1 }), fix };
}

/** Lines of the dialogue with a relay: {who: '<' | '>' | '*', text, kind}. @param {string} conversation */
export function dialogueOf(conversation) {
	return conversation.split('\n').filter(Boolean).map((line) => {
		const who = /^[<>*] /.test(line) ? line[0] : '*';
		const text = who === line[0] ? line.slice(2) : line;
		const kind = who === '>' ? (text.startsWith('(') ? 'is-note' : 'is-client') : who === '*' ? 'is-note' : /^4\d\d/.test(text) ? 'is-warn' : /^5\d\d/.test(text) ? 'is-bad' : '';
		return { who, text, kind };
	});
}

/** The email as a command that sends it again. @param {any} email */
export function curlOf(email) {
	const body = Object.fromEntries(['from', 'to', 'cc', 'bcc', 'reply_to', 'subject', 'html', 'text', 'tags', 'headers'].map((k) => [k, email[k]]).filter(([, v]) => v && (typeof v === 'string' || (Array.isArray(v) ? v.length : Object.keys(v).length))));
	const text = JSON.stringify(body, null, 2).replace(/'/g, '\'\\\'\'');
	return `curl ${location.origin}/emails \\\n  -H "Authorization: Bearer $MAILER_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${text}'`;
}
