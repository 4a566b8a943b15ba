// The head of a contact file: its columns, a few rows, and the service it comes from. It is
// read in the browser; the file is uploaded unchanged.
import { consent } from './consent-words.js';

/** The services with a preset: [preset, name]. */
export const services = [['mailchimp', 'Mailchimp'], ['brevo', 'Brevo'], ['sendgrid', 'SendGrid'], ['postmark', 'Postmark'], ['hubspot', 'HubSpot'], ['mailerlite', 'MailerLite'], ['resend', 'Resend'], ['listmonk', 'listmonk']];

/** Headings by which the file of a service is known, plain: all of one line. As the server has them. @type {[string, string][]} */
const marks = [
	['mailchimp', 'memberrating leid'], ['mailchimp', 'optintime leid'], ['mailchimp', 'confirmtime leid'], ['mailchimp', 'leid euid'], ['mailchimp', 'memberrating optintime'],
	['brevo', 'email emailblacklisted'], ['brevo', 'email addedtime modifiedtime'], ['brevo', 'contactid email sms'],
	['sendgrid', 'email alternateemails contactid'], ['sendgrid', 'email stateprovinceregion contactid'], ['sendgrid', 'status reason email created'],
	['postmark', 'emailaddress suppressionreason'],
	['hubspot', 'recordid email contactowner'], ['hubspot', 'recordid email leadstatus'], ['hubspot', 'recordid email createdate'], ['hubspot', 'recordid email lifecyclestage'],
	['hubspot', 'recordid email marketingcontactstatus'], ['hubspot', 'email unsubscribedfromallemail'], ['hubspot', 'email portalunsubscribe'],
	['mailerlite', 'subscriber opens clicks'], ['mailerlite', 'subscriber subscribed'], ['mailerlite', 'subscriber status'], ['mailerlite', 'subscriber groups'],
	['mailerlite', 'email subscribed groups'], ['mailerlite', 'email subscribed opens clicks'],
	['resend', 'id email firstname lastname unsubscribed createdat'],
	['listmonk', 'uuid email name attributes status'],
];

/** A heading without blanks, underscores and hyphens and in lower case. @param {string} heading */
const plain = (heading) => heading.toLowerCase().replace(/[\s_-]/g, '');

/** The meaning of a plain heading. @type {Record<string, string>} */
const meanings = {
	email: 'email', emailaddress: 'email', emailadresse: 'email', adresseemail: 'email', courriel: 'email', correoelectrónico: 'email', correoelectronico: 'email', mail: 'email',
	firstname: 'first_name', givenname: 'first_name', fname: 'first_name', vorname: 'first_name', prénom: 'first_name', prenom: 'first_name', nombre: 'first_name', nome: 'first_name',
	lastname: 'last_name', surname: 'last_name', familyname: 'last_name', lname: 'last_name', nachname: 'last_name', nom: 'last_name', apellido: 'last_name', apellidos: 'last_name', cognome: 'last_name',
	unsubscribed: 'unsubscribed',
};

/** A normalized heading: letters and digits, in lower case, without accents. @param {string} s */
const fold = (s) => s.toLowerCase().replaceAll('ß', 'ss').normalize('NFKD').replaceAll('ł', 'l').replaceAll('ø', 'o').replaceAll('ı', 'i').replace(/[^\p{L}\p{Nd}]/gu, '');

/** Normalized words, also if only capitals separate them. @param {string} s */
const wordsOf = (s) => s.replace(/['’]/g, '').replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 ').split(/[^\p{L}\p{M}\p{Nd}]+/u).map(fold).filter(Boolean);

/**
 * How the server reads a column about consent: consentAgreed, consentRefused, consentBounced,
 * consentStatus, or "". Same rules as app/rules/contactfile, except for double negations.
 * @param {string} heading
 */
export function consentOf(heading) {
	const words = wordsOf(heading), folded = words.join('');
	const is = (list) => list.includes(folded) || list.includes(folded.replace(/^is/, ''));
	const has = (list) => list.some((stem) => folded.includes(stem));
	const some = (list) => words.some((word) => list.includes(word));
	if (!folded || heading.includes('@')) return '';
	if (consent.status.includes(folded)) return 'consentStatus';
	if (is(consent.loose)) return 'consentAgreed';
	if (is(consent.ended)) return 'consentRefused';
	if (some(consent.other) && !has(consent.blackLists)) return '';
	const bounced = has(consent.bounce) || has(consent.complaint);
	const refused = has(consent.refusal) || (!bounced && (has(consent.pending) || (some(consent.negations) && some(consent.mail))));
	const agreed = has(consent.agreement) || (some(['accepts', 'allow', 'allows', 'wants']) && some(consent.mail));
	if (has(consent.statusStems) && (refused || agreed || some(consent.mail)) && (refused || !bounced)) return 'consentStatus';
	if (!refused && bounced) return 'consentBounced';
	if (refused || is(consent.noMail)) return 'consentRefused';
	if (!agreed) return '';
	return some(consent.negations) || has(consent.agreement.flatMap((stem) => consent.glued.map((no) => no + stem))) ? 'consentRefused' : 'consentAgreed';
}

/** The rows of the beginning of a CSV file (RFC 4180). @param {string} text @param {string} comma @param {number} most */
export function rowsOf(text, comma, most) {
	const rows = [];
	let row = [], cell = '', quoted = false;
	for (let i = 0; i < text.length && rows.length < most; i++) {
		const c = text[i];
		if (quoted) {
			if (c !== '"') cell += c;
			else if (text[i + 1] === '"') {
				cell += c;
				i++;
			} else quoted = false;
		} else if (c === '"' && !cell) quoted = true;
		else if (c === comma || c === '\n') {
			row.push(cell.trim());
			cell = '';
			if (c === '\n') {
				if (row.some(Boolean)) rows.push(row);
				row = [];
			}
		} else if (c !== '\r') cell += c;
	}
	if (rows.length < most && (cell || row.length)) rows.push([...row, cell.trim()]);
	return rows;
}

/**
 * The number of contacts in a CSV file: lines outside of quotes, without blank lines, the
 * headings and a line that declares the separator.
 * @param {Blob} file
 */
export async function countRows(file) {
	const lead = new Uint8Array(await file.slice(0, 65536).arrayBuffer());
	const reader = file.stream().pipeThrough(new TextDecoderStream(encodingOf(lead))).getReader();
	let rows = 0, quoted = false, blank = true, first = '';
	for (;;) {
		const { done, value } = await reader.read();
		if (done) break;
		if (first.length < 8) first += value.slice(0, 8);
		for (let i = 0; i < value.length; i++) {
			const c = value.charCodeAt(i);
			if (c === 34) quoted = !quoted;
			if (c === 10 && !quoted) {
				if (!blank) rows++;
				blank = true;
			} else if (c > 32) blank = false;
		}
	}
	if (!blank) rows++;
	return Math.max(0, rows - (/^[\r\n]*sep=/i.test(first) ? 2 : 1));
}

/** The key that a property of a heading gets. @param {string} heading */
export const keyOf = (heading) => heading.trim().replace(/[^A-Za-z0-9]/g, '_').slice(0, 50);

/** UTF-16 without a byte order mark, detected by its zero bytes: half of the first characters are ASCII. @param {Uint8Array} bytes */
function byZeros(bytes) {
	const start = bytes.subarray(0, 256), zeros = [0, 0], units = start.length >> 1;
	for (let i = 0; i < units * 2; i++) if (!start[i]) zeros[i % 2]++;
	if (units < 2) return '';
	if (zeros[1] * 2 >= units && zeros[0] * 4 <= zeros[1]) return 'utf-16le';
	return zeros[0] * 2 >= units && zeros[1] * 4 <= zeros[0] ? 'utf-16be' : '';
}

/** The encoding of a text, detected like on the server: by its byte order mark, its zero bytes, or the first character beyond ASCII. @param {Uint8Array} bytes */
function encodingOf(bytes) {
	const begins = (...lead) => lead.every((byte, i) => bytes[i] === byte);
	if (begins(0xff, 0xfe)) return 'utf-16le';
	if (begins(0xfe, 0xff)) return 'utf-16be';
	const at = bytes.findIndex((byte) => byte > 0x7f);
	if (byZeros(bytes) || at < 0) return byZeros(bytes) || 'utf-8';
	try {
		new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(at, at + (bytes[at] >= 0xf0 ? 4 : bytes[at] >= 0xe0 ? 3 : 2)));
		return 'utf-8';
	} catch {
		return 'windows-1252';
	}
}

/** The text of a file in UTF-8, UTF-16 or Windows-1252. @param {Blob} file */
export async function textOf(file) {
	const bytes = new Uint8Array(await file.arrayBuffer());
	return new TextDecoder(encodingOf(bytes)).decode(bytes);
}

/** The separator that the first line declares (sep=;), or the most frequent one. @param {string} text */
function separatorOf(text) {
	const named = /^[\r\n]*sep=([,;\t|])/i.exec(text);
	if (named) return named[1];
	const line = text.replace(/^[\r\n]+/, '').replace(/"[^"]*"/g, '').split('\n', 1)[0];
	return [',', ';', '\t'].reduce((best, c) => (line.split(c).length > line.split(best).length ? c : best));
}

/**
 * Reads the head of a file: {packed, headings, rows, preset, dump, map}. packed: a ZIP
 * archive, which is not read. dump: a suppression list. map has the meaning of each column:
 * email, first_name, last_name, unsubscribed, property or nothing ("").
 * @param {Blob} file
 */
export async function headOf(file) {
	const lead = new Uint8Array(await file.slice(0, 2).arrayBuffer()).join();
	if (lead === '80,75' || lead === '31,139') return { packed: true, headings: [], rows: [], preset: '', dump: false, map: [] };
	const text = await textOf(file.slice(0, 65536));
	const all = rowsOf(text, separatorOf(text), 7);
	const [headings = [], ...rows] = (all[0]?.[0] ?? '').toLowerCase() === 'sep=' ? all.slice(1) : all.slice(0, 6);
	const names = headings.map(plain);
	const preset = marks.find(([, all]) => all.split(' ').every((mark) => names.includes(mark)))?.[0] ?? '';
	const taken = new Set();
	const map = names.map((name, i) => {
		const meaning = meanings[name] ?? '';
		if (meaning && !taken.has(meaning)) {
			taken.add(meaning);
			return meaning;
		}
		return meaning || !/[A-Za-z0-9]/.test(name) || headings[i].includes('@') ? '' : 'property';
	});
	return { packed: false, headings, rows, preset, dump: ['status', 'reason', 'email', 'created'].every((name) => names.includes(name)), map };
}
