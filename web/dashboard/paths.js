// Paths with ids: the only place that reads an id from a path and writes one into a path.
// Anybody can make a person open an address, so nothing in it may choose which route of the
// API is asked.

/** Characters that no id, alias, region or email address in a path has. */
const forbidden = /[\s/\\?#%\u0000-\u001f\u007f-\u009f]/;

/** Whether a segment is "." or "..", which browsers resolve. @param {string} segment */
const dots = (segment) => segment === '.' || segment === '..';

/** A segment of a path, decoded once; null: it can't be decoded. @param {string} segment */
function decoded(segment) {
	try {
		return decodeURIComponent(segment);
	} catch {
		return null;
	}
}

/** Whether a text can be an id. @param {string|null} text */
export const isId = (text) => !!text && text.length <= 320 && !dots(text) && !forbidden.test(text);

/** The id that a segment of a page's address names; null: that is no id. @param {string} segment @returns {string|null} */
export function idOf(segment) {
	const id = decoded(segment);
	return isId(id) ? id : null;
}

/**
 * A path of the API, or the address of a page, with each value in it encoded:
 * encoded`/emails/${id}/raw`. Throws for a value that would lead to another path.
 * @param {TemplateStringsArray} parts @param {...any} values
 */
export function encoded(parts, ...values) {
	let path = parts[0];
	values.forEach((value, i) => {
		const text = String(value);
		if (!path.includes('?') && text.split(/[/\\]/).some(dots)) throw new TypeError(`"${text}" is no id`);
		path += encodeURIComponent(text) + parts[i + 1];
	});
	return path;
}

/**
 * Whether browsers and proxies request a path unchanged: no segment is empty, "." or "..",
 * and it has no query or fragment. @param {string} path
 */
export const isPath = (path) => /^[!-~]+$/.test(path) && /^(?:\/[^/\\?#]+)+$/.test(path)
	&& path.slice(1).split('/').every((segment) => decoded(segment)?.split(/[/\\]/).every((part) => !dots(part)) ?? false);

/** The domain in pasted text: a URL, an email address, or the name alone. @param {string} text */
export const domainIn = (text) => text.trim().replace(/^(?:[a-z][a-z0-9+.-]*:\/\/|mailto:)/i, '').replace(/^[^/?#]*@/, '').replace(/[/?#].*$/s, '').replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase();

/** Mailbox providers: nobody sends from their domains. */
const providers = /^(gmail|googlemail|outlook|hotmail|live|msn|yahoo|ymail|icloud|me|mac|aol|gmx|web|t-online|proton|protonmail|pm|mail|zoho|yandex|fastmail|hey|qq|163|126|orange|free|laposte|libero|wp|o2|onet|interia)\.(?:com?\.)?[a-z]{2,3}$/;

/** The domain that the owner of a mailbox likely sends from; empty: it is a provider's. @param {string|undefined} address */
export function ownDomain(address) {
	const domain = domainIn(address ?? '');
	return providers.test(domain) ? '' : domain;
}

/** The URL of a file of the dashboard. Bundles are served at the top level, so modules in folders use this. @param {string} name */
export const fileAt = (name) => new URL('./' + name, import.meta.url);
