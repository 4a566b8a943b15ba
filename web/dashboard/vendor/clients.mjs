// Prints the module lib/clients.js: what the main mail clients make of HTML and CSS, of the
// data of caniemail.com (its file is the argument), by what can be found in a mail.
//
// A feature is [title, kind, pattern, support]: support has a letter for each client, y (whole),
// a (in part), n (not at all) or u (not known). Kinds of what is looked at: d "property:value",
// a "@rule …", s selectors, e "<element", "[attribute]" and "<element attribute=value", i
// endings of images.
import { readFileSync } from 'node:fs';

const clients = {
	'apple-mail.macos': 'Apple Mail,macOS', 'apple-mail.ios': 'Apple Mail,iOS',
	'gmail.desktop-webmail': 'Gmail,web', 'gmail.ios': 'Gmail,iOS', 'gmail.android': 'Gmail,Android',
	'outlook.windows': 'Outlook,Windows', 'outlook.macos': 'Outlook,macOS', 'outlook.outlook-com': 'Outlook,web', 'outlook.ios': 'Outlook,iOS', 'outlook.android': 'Outlook,Android',
	'yahoo.desktop-webmail': 'Yahoo Mail,', 'samsung-email.android': 'Samsung Email,', 'thunderbird.macos': 'Thunderbird,', 'gmx.desktop-webmail': 'GMX,', 'protonmail.desktop-webmail': 'Proton Mail,',
};

// What is in every mail, or is no loss where it lacks, or can't be seen in a source.
const left = /^(amp|bimi|html-(doctype|comments|target|role|body|style)|css-(comments|important|at-import|selector-(class|id|type|descendant|grouping|chaining)|pseudo-class-(link|visited)|sytem-ui|unit-initial|nesting)|image-(hdr|mp4))$/;

// Those whose title does not say what is looked for.
const known = {
	'css-border-inline-block-individual': ['d', '^border-(inline|block)-(start|end):'], 'css-border-inline-block-longhand': ['d', '^border-(inline|block)-(color|style|width):'],
	'css-border-radius-logical': ['d', '^border-(start|end)-(start|end)-radius:'], 'css-color-scheme': ['d', '^color-scheme:'], 'css-column-layout-properties': ['d', '^columns?(-(fill|rule|span|width).*)?:'],
	'css-font': ['d', '^font:'], 'css-gap': ['d', '^(column-|row-)?gap:'], 'css-grid-template': ['d', '^grid-template'], 'css-inert-attribute': ['e', '^\\[inert\\]'], 'css-intrinsic-size': ['d', ':.*\\b(fit|min|max)-content\\b'],
	'css-left-right-top-bottom': ['d', '^(left|right|top|bottom):'], 'css-list-style': ['d', '^list-style:'], 'css-margin': ['d', '^margin(-(top|right|bottom|left))?:'], 'css-padding': ['d', '^padding(-(top|right|bottom|left))?:'], 'css-modern-color': ['d', ':.*\\b(ok)?(lch|lab)\\('],
	'css-scroll-snap': ['d', '^scroll-snap'], 'css-variables': ['d', '^--|var\\('], 'css-unit-calc': ['d', '\\bcalc\\('], 'css-unit-percent': ['d', '\\d%'], 'css-display-flex': ['d', '^display:(inline-)?flex'], 'css-display-grid': ['d', '^display:(inline-)?grid'], 'css-flex-direction': ['d', '^flex-direction:column'], 'css-flex-wrap': ['d', '^flex-wrap:wrap'],
	'css-at-media': ['a', '^@media'], 'css-at-media-device-pixel-ratio': ['a', 'device-pixel-ratio'], 'css-at-media-hover': ['a', '\\((any-)?hover'], 'css-at-media-orientation': ['a', '\\(orientation'],
	'css-pseudo-class-lang': ['s', ':lang\\('], 'css-selector-adjacent-sibling': ['s', '\\+'], 'css-selector-general-sibling': ['s', '~(?!=)'], 'css-selector-child': ['s', '>'], 'css-selector-attribute': ['s', '\\[[a-z]'], 'css-selector-universal': ['s', '(^|[\\s>+~(])\\*'],
	'html-address': ['e', '^<address$'], 'html-anchor-links': ['e', '^<a href=#.'], 'html-mailto-links': ['e', '^<a href=mailto:'], 'html-h1-h6': ['e', '^<h[1-6]$'], 'html-lists': ['e', '^<(ul|ol|dl)$'], 'html-image-maps': ['e', '^<map$'], 'html-meta-color-scheme': ['e', '^<meta name=color-scheme'],
	'html-semantics': ['e', '^<(article|aside|details|figcaption|figure|footer|header|main|mark|nav|section|summary|time)$'], 'html-srcset': ['e', '^\\[(srcset|sizes)\\]'], 'html-svg': ['e', '^<svg$'],
	'image-apng': ['i', '^apng$'], 'image-base64': ['i', '^base64$'], 'image-heif': ['i', '^hei[cf]$'], 'image-jpg': ['i', '^jpe?g$'], 'image-tiff': ['i', '^tiff?$'], 'image-webp': ['i', '^webp$'],
};

/** Where a feature shows itself, by its name and title. */
function place({ slug, title, category }) {
	if (known[slug]) return known[slug];
	if (category === 'image') return ['i', `^${slug.slice('image-'.length)}$`];
	const [, element, attribute, value] = /^<(\w+)(?: (\w+)="(\w+)")?>/.exec(title) ?? [];
	if (element) return ['e', attribute ? `^<${element} ${attribute}=${value}$` : `^<${element}$`];
	const named = /^([\w-]+) attribute$/.exec(title);
	if (named) return ['e', `^\\[${named[1]}\\]$`];
	if (title.startsWith('@media')) return ['a', title.slice('@media '.length).replace(/[()]/g, '')];
	if (title.startsWith('@')) return ['a', `^${title}`];
	if (title.startsWith(':')) return ['s', `:${title.replace(/^:+|\(\)/g, '')}(?![\\w-])`];
	const unit = /^(\w+) unit$/.exec(title);
	if (unit) return ['d', `:.*\\d${unit[1]}\\b`];
	const called = /^([\w-]+)\(\)$/.exec(title);
	if (called) return ['d', `[:\\s,(]${called[1]}\\(`];
	const both = /^([a-z-]+) & ([a-z-]+)$/.exec(title);
	if (both) return ['d', `^(${both[1]}|${both[2]}):`];
	const [property, of] = title.replace(/ (property|shorthand)$/, '').trim().split(/:\s*/);
	if (/^[a-z-]+$/.test(property)) return ['d', `^${property}:${of ?? ''}`];
	throw new Error(`${slug}: nothing says where ${title} shows itself`);
}

// A number as a name would lose its place among the names of an object.
const data = JSON.parse(readFileSync(process.argv[2], 'utf8').replace(/"(\d+)":/g, '"v$1":'));
const features = [];
for (const feature of data.data) {
	if (left.test(feature.slug)) continue;
	const support = Object.keys(clients).map((client) => {
		const [family, platform] = client.split('.');
		return Object.values(feature.stats[family]?.[platform] ?? { none: 'u' }).at(-1)[0];
	}).join('');
	if (support.includes('n')) features.push([feature.title.trim(), ...place(feature), support]);
}
console.log(`// What mail clients make of HTML and CSS: data of caniemail.com of ${data.last_update_date.slice(0, 10)}.
export const updated = ${JSON.stringify(data.last_update_date.slice(0, 10))};
export const clients = ${JSON.stringify(Object.values(clients).map((c) => c.split(',')))};
export const features = ${JSON.stringify(features).replaceAll('],[', '],\n[')};`);
