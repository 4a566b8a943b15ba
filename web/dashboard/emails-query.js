// The query language of the email list: text becomes filters of the address bar.
import { exact } from './format.js';
import { t } from './i18n.js';

/** States that an email can be in. */
export const statuses = ['queued', 'scheduled', 'deferred', 'held', 'captured', 'sent', 'delivery_delayed', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'suppressed', 'failed', 'canceled'];
/** Sources of an email. */
export const sources = ['api', 'smtp', 'dashboard', 'cli', 'mcp', 'resend'];
/** The filters, in the order of the menu. */
export const keys = ['to', 'from', 'subject', 'status', 'domain', 'tag', 'source', 'key', 'broadcast', 'before', 'after', 'id'];

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The address of the list with filters. @param {Record<string, string>} filters */
export const addressOf = (filters) => {
	const text = new URLSearchParams(filters).toString();
	return `/emails${text ? `?${text}` : ''}`;
};

/** Whether a text is an id. @param {string} text */
export const isId = (text) => uuid.test(text.trim());

/**
 * The time that a word means: a date, a time, today, yesterday, or an age like 3h; null: none.
 * @param {string} word @param {Date} [now]
 */
export function timeOf(word, now = new Date()) {
	const text = word.trim().toLowerCase();
	const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
	if (text === 'now') return now;
	if (text === 'today') return midnight;
	if (text === 'yesterday') return new Date(midnight.getFullYear(), midnight.getMonth(), midnight.getDate() - 1);
	const ago = /^(\d{1,5})\s?(m|min|h|d|w)$/.exec(text);
	if (ago) return new Date(now.getTime() - Number(ago[1]) * { m: 60, min: 60, h: 3600, d: 86400, w: 604800 }[ago[2]] * 1000);
	const date = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
	const at = date ? new Date(Number(date[1]), Number(date[2]) - 1, Number(date[3])) : /^\d{4}-\d\d-\d\dt\d\d:\d\d/.test(text) ? new Date(word.trim()) : null;
	if (!at || Number.isNaN(at.getTime()) || (date && at.getDate() !== Number(date[3]))) return null;
	return at;
}

/** The time that an id was made at. @param {string} id */
export const timeOfId = (id) => new Date(parseInt(id.replace(/-/g, '').slice(0, 12), 16));

/** Splits "status:bounced subject:'a b' word" into filters and words. @param {string} text */
export function read(text) {
	/** @type {Record<string, string>} */
	const filters = {};
	const rest = text.replace(/(^|\s)([a-z_]+):(?:"([^"]*)"|(\S+))/gi, (all, before, name, quoted, plain) => {
		const key = name.toLowerCase();
		if (!keys.includes(key)) return all;
		filters[key] = quoted ?? plain;
		return before;
	}).replace(/\s+/g, ' ').trim();
	if (rest) {
		const plain = rest.replace(/^"(.*)"$/, '$1');
		filters[isId(plain) ? 'id' : plain.includes('@') && !plain.includes(' ') ? 'to' : 'subject'] = plain;
	}
	return filters;
}

/** The row of several that is called so, by id or by a part of its name. */
function named(rows, value) {
	if (isId(value)) return { id: value };
	const low = value.toLowerCase();
	return rows?.find((r) => r.name.toLowerCase() === low) ?? rows?.find((r) => r.name.toLowerCase().includes(low));
}

/**
 * The API's filters, and errors by filter.
 * @param {Record<string, string>} filters @param {{keys?: any[], broadcasts?: any[]}} known
 * @returns {{query: Record<string, string>, wrong: Record<string, string>, waits: boolean}} waits: a name needs a list that is not there yet.
 */
export function ask(filters, known) {
	/** @type {Record<string, string>} */
	const query = {};
	/** @type {Record<string, string>} */
	const wrong = {};
	let waits = false;
	for (const [key, value] of Object.entries(filters)) {
		if (key === 'status') {
			if (value.split(',').every((one) => statuses.includes(one))) query.state = value;
			else wrong.status = t('emails.wrong.status', { value });
		}
		else if (key === 'source' && !sources.includes(value)) wrong.source = t('emails.wrong.source', { value });
		else if (key === 'before' || key === 'after') {
			const at = timeOf(value);
			// To the minute: a time that moves with each drawing would ask again and again.
			if (at) query[`created_${key}`] = new Date(Math.floor(at.getTime() / 60_000) * 60_000).toISOString();
			else wrong[key] = t('emails.wrong.time', { value });
		} else if (key === 'key' || key === 'broadcast') {
			const rows = key === 'key' ? known.keys : known.broadcasts;
			const row = named(rows, value);
			if (row) query[`${key}_id`] = row.id;
			else if (rows) wrong[key] = t(`emails.wrong.${key}`, { value });
			else waits = true;
		} else if (key === 'id') {
			if (!isId(value)) wrong.id = t('emails.wrong.id', { value });
		} else query[key] = value;
	}
	if (query.created_after && query.created_before && query.created_after >= query.created_before) wrong.before = t('emails.wrong.order');
	if (filters.broadcast) {
		for (const key of Object.keys(filters)) if (key !== 'broadcast') wrong[key] = t('emails.wrong.alone');
	}
	return { query, wrong, waits };
}

/** A filter as it is typed. @param {string} key @param {string} value */
export const written = (key, value) => `${key}:${/\s/.test(value) ? `"${value}"` : value}`;

/**
 * Suggestions for a text: items of {key, value?, note, status?}; sure: the first is meant.
 * @param {string} typed @param {{keys?: any[], broadcasts?: any[], domains?: any[]}} known
 */
export function completions(typed, known) {
	const text = typed.trimStart();
	const pair = /^([a-z]+):(.*)$/i.exec(text);
	if (pair && keys.includes(pair[1].toLowerCase())) {
		const key = pair[1].toLowerCase();
		const value = pair[2].replace(/^"|"$/g, '').trim();
		const some = values(key, known).filter((v) => v.value.toLowerCase().includes(value.toLowerCase()) && v.value !== value);
		some.sort((a, b) => Number(b.value.startsWith(value)) - Number(a.value.startsWith(value)));
		const closed = key === 'status' || key === 'source';
		return { name: key, sure: closed && value !== '' && some.length > 0, items: [...(value && !closed ? [{ key, value, note: meaning(key, value) }] : []), ...some.slice(0, 12)] };
	}
	const low = text.trim().toLowerCase();
	const doors = keys.filter((k) => k.startsWith(low)).map((key) => ({ key, note: t(`emails.keys.${key}`) }));
	if (!low) return { name: t('emails.filters'), items: doors };
	const plain = read(text);
	const own = Object.entries(plain).map(([key, value]) => ({ key, value, note: t(`emails.keys.${key}`) }));
	const other = low.includes(' ') || plain.id ? [] : plain.to ? [{ key: 'from', value: text.trim(), note: t('emails.keys.from') }] : [{ key: 'to', value: text.trim(), note: t('emails.toBegins') }];
	const states = statuses.filter((s) => s.startsWith(low)).map((value) => ({ key: 'status', value, note: t(`emails.states.${value}`), status: value }));
	return { name: t('emails.meant'), items: [...own, ...other, ...states, ...doors] };
}

/** The meaning of a time or an address. */
function meaning(key, value) {
	const at = key === 'before' || key === 'after' ? timeOf(value) : null;
	if (at) return exact(at);
	return t(`emails.keys.${key}`);
}

/** Values that a key can have. @returns {{key: string, value: string, note: string, status?: string}[]} */
function values(key, known) {
	switch (key) {
		case 'status': return statuses.map((value) => ({ key, value, note: t(`emails.states.${value}`), status: value }));
		case 'source': return sources.map((value) => ({ key, value, note: t(`emails.sources.${value}`) }));
		case 'domain': return (known.domains ?? []).map((d) => ({ key, value: d.name, note: t(`status.${d.status}`) }));
		case 'key': return (known.keys ?? []).map((k) => ({ key, value: k.name, note: k.id }));
		case 'broadcast': return (known.broadcasts ?? []).map((b) => ({ key, value: b.name, note: t(`status.${b.status}`) }));
		case 'before': case 'after': return ['today', 'yesterday', '1h', '24h', '7d', '30d'].map((value) => ({ key, value, note: exact(timeOf(value) ?? new Date()) }));
	}
	return [];
}
