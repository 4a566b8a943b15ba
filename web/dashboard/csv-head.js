// The head of a CSV file: its columns, a few rows, and whose export it is. Read in the
// browser; the file itself goes to the server as it is.

/** Whose exports are known by their headings: all of marks stand in the file. first that fits. @type {[string, string[]][]} */
const sources = [
	['Mailchimp', ['Email Address', 'MEMBER_RATING']],
	['Mailchimp', ['Email Address', 'OPTIN_TIME']],
	['listmonk', ['uuid', 'email', 'name', 'attributes', 'status']],
	['Brevo', ['CONTACT ID', 'EMAIL']],
	['Brevo', ['EMAIL', 'FIRSTNAME', 'LASTNAME']],
	['SendGrid', ['EMAIL', 'FIRST_NAME', 'LAST_NAME', 'CONTACT_ID']],
	['SendGrid', ['EMAIL', 'FIRST_NAME', 'LAST_NAME', 'ALTERNATE_EMAILS']],
	['Postmark', ['Email Address', 'Suppression Reason']],
	['Postmark', ['EmailAddress', 'SuppressionReason']],
	['Resend', ['id', 'email', 'first_name', 'last_name', 'unsubscribed']],
	['Resend', ['email', 'first_name', 'last_name', 'unsubscribed', 'created_at']],
];

/** Columns of those exports that say nothing about a person. @type {Record<string, string[]>} */
const idle = {
	Mailchimp: ['MEMBER_RATING', 'OPTIN_TIME', 'OPTIN_IP', 'CONFIRM_TIME', 'CONFIRM_IP', 'LATITUDE', 'LONGITUDE', 'GMTOFF', 'DSTOFF', 'LAST_CHANGED', 'LEID', 'EUID', 'NOTES', 'TIMEZONE', 'CC', 'REGION'],
	listmonk: ['uuid', 'status', 'created_at', 'updated_at', 'attributes'],
	Brevo: ['CONTACT ID', 'ADDED_TIME', 'MODIFIED_TIME', 'DOUBLE_OPT-IN', 'EMAIL_DOMAIN'],
	SendGrid: ['CONTACT_ID', 'ALTERNATE_EMAILS', 'CREATED_AT', 'UPDATED_AT', 'UNIQUE_NAME'],
	Postmark: ['Suppression Reason', 'SuppressionReason', 'Origin', 'Created At', 'CreatedAt'],
	Resend: ['id', 'created_at', 'audience_id'],
};

/** What a heading means, without blanks, underscores and hyphens and in lower case. @type {Record<string, string>} */
const meanings = {
	email: 'email', emailaddress: 'email', mail: 'email',
	firstname: 'first_name', givenname: 'first_name', fname: 'first_name', vorname: 'first_name',
	lastname: 'last_name', surname: 'last_name', familyname: 'last_name', lname: 'last_name', nachname: 'last_name',
	unsubscribed: 'unsubscribed',
};

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

/** The key that a property of a heading gets. @param {string} heading */
export const keyOf = (heading) => heading.trim().replace(/[^A-Za-z0-9]/g, '_').slice(0, 50);

/**
 * What the head of a file says: {headings, rows, source, map}; map says of each column
 * email, first_name, last_name, unsubscribed, property or nothing ("").
 * @param {Blob} file
 */
export async function headOf(file) {
	const text = (await file.slice(0, 65536).text()).replace(/^\ufeff/, '');
	const line = text.split('\n', 1)[0];
	const comma = [',', ';', '\t'].reduce((best, c) => (line.split(c).length > line.split(best).length ? c : best));
	const [headings = [], ...rows] = rowsOf(text, comma, 6);
	const source = sources.find(([, marks]) => marks.every((mark) => headings.includes(mark)))?.[0] ?? '';
	const taken = new Set();
	const map = headings.map((heading) => {
		const meaning = meanings[heading.toLowerCase().replace(/[\s_-]/g, '')] ?? '';
		if (meaning && !taken.has(meaning)) {
			taken.add(meaning);
			return meaning;
		}
		return !heading || meaning || idle[source]?.includes(heading) || !/[A-Za-z0-9]/.test(heading) || heading.includes('@') ? '' : 'property';
	});
	return { headings, rows, source, map };
}
