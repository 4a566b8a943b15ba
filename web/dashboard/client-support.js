// Features of an email's source that mail clients do not support, by the data of
// caniemail.com. It is loaded on demand.
import { clients, features, updated } from './lib/clients.js';
import { html, useMemo } from './lib/core.js';
import { t } from './i18n.js';
import { Section, Status } from './ui/base.js';

/** As much of a source is looked at, as many things of a kind, and as much of a value: none
 * of the patterns may take longer than a line of the source for each place that it begins at. */
const most = { source: 1_000_000, uses: 3_000, value: 200 };

/**
 * The features that a source uses, by kind: declarations, at-rules, selectors, elements and images.
 * It is read as text, for no page is ever made of hostile mail.
 * @param {string} source
 * @returns {Record<string, Set<string>>}
 */
function usesOf(source) {
	const uses = { d: new Set(), a: new Set(), s: new Set(), e: new Set(), i: new Set() };
	// Conditional comments are for one client.
	const text = source.slice(0, most.source).replace(/<!--[^]*?(?:-->|$)/g, '');
	for (const m of text.matchAll(/<style\b[^<>]*>([^]*?)(?:<\/style|$)/gi)) sheet(m[1], uses);
	for (const m of text.matchAll(/<([a-z][a-z0-9]*)((?:\s+[^\s=<>"']+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s<>"']+))?)*)\s*\/?>/gi)) {
		const element = m[1].toLowerCase();
		add(uses.e, `<${element}`);
		for (const a of m[2].matchAll(/([^\s=>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g)) attribute(element, a[1].toLowerCase(), a[2] ?? a[3] ?? a[4] ?? '', uses);
	}
	return uses;
}

function add(set, use) {
	if (set.size < most.uses) set.add(use.slice(0, most.value).toLowerCase());
}

function attribute(element, name, value, uses) {
	add(uses.e, `[${name}]`);
	add(uses.e, `<${element} ${name}=${value.slice(0, 30)}`);
	if (name === 'style') declarations(value, uses);
	if (name === 'src' && element === 'img' || name === 'background') image(value, uses);
	if (name === 'srcset') for (const one of value.split(',')) image(one.trim().split(/\s/)[0], uses);
}

function sheet(css, uses) {
	const text = css.replace(/\/\*[^]*?(?:\*\/|$)/g, '');
	for (const m of text.matchAll(/(?:^|[{};])([^{};]*)(?=\{)/g)) add(uses[m[1].trim().startsWith('@') ? 'a' : 's'], m[1].trim());
	for (const m of text.matchAll(/\{([^{}]*)/g)) declarations(m[1], uses);
}

function declarations(text, uses) {
	for (const m of text.matchAll(/(?:^|;)\s*(-{0,2}[a-z][\w-]*)\s*:\s*([^;]+)/gi)) {
		add(uses.d, `${m[1]}:${m[2].trim()}`);
		for (const url of m[2].matchAll(/url\(\s*['"]?([^'")]+)/gi)) image(url[1], uses);
	}
}

function image(address, uses) {
	const data = /^\s*data:image\/([a-z]+)([^,]*)/i.exec(address.slice(0, most.value));
	if (data?.[2].endsWith(';base64')) add(uses.i, 'base64');
	add(uses.i, data?.[1] ?? /\.([a-z]{2,5})$/i.exec(address.split(/[?#]/, 1)[0].trim())?.[1] ?? '');
}

/** Clients with a support level, grouped by name: "Gmail, Outlook (Windows, macOS)". */
function named(support, letter) {
	const names = new Map();
	clients.forEach(([name, platform], i) => {
		const all = names.get(name) ?? names.set(name, { of: 0, has: [] }).get(name);
		all.of++;
		if (support[i] === letter) all.has.push(platform);
	});
	return [...names].filter(([, all]) => all.has.length).map(([name, all]) => (all.has.length === all.of ? name : `${name} (${all.has.join(', ')})`)).join(', ');
}

/** Features of a source that clients lack, the least supported first. @param {string} source */
export function lacking(source) {
	const uses = usesOf(source);
	const lacks = (support) => support.split('n').length - 1;
	return features.filter(([, kind, pattern]) => {
		const seen = new RegExp(pattern);
		return [...uses[kind]].some((use) => seen.test(use));
	}).sort((a, b) => lacks(b[3]) - lacks(a[3])).map(([title, , , support]) => ({ title, none: named(support, 'n'), partly: named(support, 'a'), count: lacks(support) }));
}

/** The section of the checks. @param {{source: string}} props */
export default function ClientSupport({ source }) {
	const rows = useMemo(() => lacking(source), [source]);
	const day = html`<p class="t12 muted">${t('email.clientsOf', { n: clients.length, day: updated })} <a class="link" href="https://www.caniemail.com/" target="_blank" rel="noreferrer">caniemail.com</a></p>`;
	return html`<${Section} title=${t('email.clients')}>${rows.length ? html`<table class="table table--top stack-s"><thead><tr><th>${t('email.feature')}</th><th>${t('email.notIn')}</th><th>${t('email.partlyIn')}</th></tr></thead><tbody>${rows.map((row) => html`<tr key=${row.title}><td class="mono">${row.title}</td><td class=${row.count > clients.length / 2 ? 'medium' : 'ink2'} data-label=${t('email.notIn')}>${row.none}</td><td class="muted" data-label=${t('email.partlyIn')}>${row.partly || '–'}</td></tr>`)}</tbody></table>` : html`<p><${Status} of="good" word=${t('email.clientsFine')} /></p>`}${day}<//>`;
}
