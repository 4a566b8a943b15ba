// The state of an email from its timeline: recipients, sentences, replies.
import { mailbox } from './format.js';

/** The recipient state that an event implies; the highest counts. */
const rank = ['queued', 'scheduled', 'requeued', 'resent', 'deferred', 'delivery_delayed', 'interrupted', 'in_doubt', 'held', 'canceled', 'sent', 'prefetched', 'delivered', 'opened', 'clicked', 'unsubscribed', 'suppressed', 'failed', 'bounced', 'complained'];

/** How a line of the timeline looks: its kind, and its icon. @type {Record<string, [string, string]>} */
const looks = {
	queued: ['', 'queued'], scheduled: ['', 'scheduled'], rescheduled: ['', 'scheduled'], sent: ['', 'sent'], delivered: ['good', 'delivered'], opened: ['good', 'opened'], prefetched: ['', 'opened'], clicked: ['good', 'clicked'],
	deferred: ['warn', 'delayed'], delivery_delayed: ['warn', 'delayed'], interrupted: ['warn', 'delayed'], in_doubt: ['warn', 'delayed'], relay_trouble: ['warn', 'failing'], quota_wait: ['warn', 'resting'], held: ['warn', 'resting'],
	captured: ['', 'captured'], released: ['', 'queued'], moved: ['', 'queued'], requeued: ['', 'queued'], resent: ['', 'sent'], bounced: ['bad', 'bounced'], failed: ['bad', 'bounced'], complained: ['bad', 'complained'], suppressed: ['', 'suppressed'], canceled: ['', 'canceled'], unsubscribed: ['', 'canceled'],
	answered: ['good', 'opened'], auto_answered: ['', 'opened'], answer_claimed: ['warn', 'opened'],
};

/** @param {string} type @returns {[string, string]} */
export const lookOf = (type) => looks[type] ?? ['', 'queued'];

/** The reply with its codes: ["550 5.1.1", "User unknown"]. @param {any} detail */
export function replyOf(detail) {
	const code = [detail.reply_code, detail.enhanced_code].filter(Boolean).join(' ');
	return [code, detail.reply || detail.diagnostic || (code ? '' : detail.reason || '')];
}

/**
 * The recipients of an email, each with its state, the event behind it, and the next attempt.
 * @param {any} email @param {any[]} events newest first
 */
export function recipientsOf(email, events) {
	const all = [...email.to, ...email.cc, ...email.bcc].map(mailbox);
	return all.map((box) => {
		const own = events.filter((e) => !e.recipient || e.recipient.toLowerCase() === box.address.toLowerCase());
		const begun = own.findIndex((e) => e.type === 'requeued');
		const since = begun < 0 ? own : own.slice(0, begun + 1);
		const freed = since.findIndex((e) => e.type === 'released');
		let best = since[since.length - 1];
		for (const [n, e] of [...since.entries()].reverse()) if (!(e.type === 'held' && freed >= 0 && n > freed) && rank.indexOf(e.type) >= rank.indexOf(best.type)) best = e;
		const type = best?.type ?? email.last_event;
		return { ...box, type, state: type === 'sent' && best?.detail.relay === 'capture' ? 'captured' : { deferred: 'deferred', requeued: 'queued', resent: 'queued', interrupted: 'queued', in_doubt: 'queued', prefetched: 'delivered', unsubscribed: 'clicked' }[type] ?? (rank.includes(type) ? type : email.state), event: best, next: type === 'deferred' ? best.detail.next_attempt_at : undefined };
	});
}

/** Lines of the SMTP dialogue: {who: '<' | '>' | '*', text, kind}. @param {string} conversation */
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
