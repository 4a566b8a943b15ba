// What is said of a received email: who wrote it, what it is, and how far the sender is confirmed. A stranger wrote
// all of it.
import { html } from './lib/core.js';
import { mailbox } from './format.js';
import { t } from './i18n.js';

/** How many characters of an address field are read. */
const readLength = 1000;

/** The name and address of a From field that a stranger wrote. @param {string} from */
export function authorOf(from) {
	const cut = from.slice(0, readLength).replace(/\s+/g, ' ').trim();
	const box = mailbox(cut);
	return { name: box.name, address: box.address.trim() };
}

/** The domain of a From field; empty: it has none. @param {string} from */
export const domainOf = (from) => authorOf(from).address.split('@').slice(1).pop() ?? '';

/** Who wrote an email: the name with the address after it, or the address. @param {{of: any}} props */
export function Author({ of: m }) {
	const { name, address } = authorOf(m.from);
	if (!name && !address) return html`<span class="muted">${t('received.noAuthor')}</span>`;
	return html`<bdi>${name || address}</bdi>${name && html` <bdi class="muted">${address}</bdi>`}`;
}

/** The kinds of an email, each [text, whether it is a warning]. @param {any} m @returns {[string, boolean][]} */
export function kindsOf(m) {
	/** @type {[string, boolean][]} */
	const out = [];
	if (m.auto_submitted) out.push([t(`received.auto.${m.auto_submitted}`), false]);
	else if (m.in_reply_to_email_id) out.push(m.reply_proven ? [t('received.answer'), false] : [t('received.claims'), true]);
	if (m.spam?.is_spam) out.push([t('received.spam'), true]);
	if (!m.auth.from_aligned) out.push([t('received.unconfirmed'), true]);
	return out;
}

/** @param {{of: any}} props */
export const Kinds = ({ of: m }) => kindsOf(m).map(([text, warns]) => html`<span class=${`badge ${warns ? 'badge--warn' : ''}`}>${text}</span>`);

/** The head of an email's page: how far its sender is confirmed. @param {any} m @returns {{kind: string, line: string, fix: string}} */
export function verdictOf(m) {
	const { auth } = m;
	const domain = domainOf(m.from);
	const more = [m.in_reply_to_email_id && !m.reply_proven && !m.auto_submitted && t('received.claimsText'), m.spam?.is_spam && t('received.spamText')];
	const said = (kind, key) => ({ kind, line: t(`received.verdicts.${key}.line`, { domain }), fix: [t(`received.verdicts.${key}.fix`, { domain }), ...more].filter(Boolean).join(' ') });
	if (!domain) return said('warn', 'nobody');
	if (auth.from_aligned) return said(m.spam?.is_spam ? 'warn' : 'good', m.reply_proven ? 'answered' : 'confirmed');
	if (auth.dmarc === 'fail') return said('bad', 'forged');
	if ([auth.spf, auth.dkim, auth.dmarc].includes('temperror')) return said('warn', 'unknown');
	return said('warn', 'unconfirmed');
}

/** The kind of a result of SPF, DKIM or DMARC. @type {Record<string, string>} */
const kinds = { pass: 'good', fail: 'bad', softfail: 'warn', temperror: 'warn', permerror: 'warn' };

/** The result of a check: [kind, text]. @param {'spf'|'dkim'|'dmarc'} check @param {string} result */
export const resultOf = (check, result) => [kinds[result] ?? 'neutral', result === 'none' ? t(`received.none.${check}`) : t(`received.results.${result}`)];
