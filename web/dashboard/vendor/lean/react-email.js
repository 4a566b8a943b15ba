// The components of react-email that the editor's mail is made of, and their rendering. What
// is left out: Tailwind, Markdown, code in colours, and the printing of pretty HTML.
export { Body } from '../node_modules/react-email/dist/components/body/body.mjs';
export { Button } from '../node_modules/react-email/dist/components/button/button.mjs';
export { Column } from '../node_modules/react-email/dist/components/column/column.mjs';
export { Container } from '../node_modules/react-email/dist/components/container/container.mjs';
export { Head } from '../node_modules/react-email/dist/components/head/head.mjs';
export { Heading } from '../node_modules/react-email/dist/components/heading/heading.mjs';
export { Hr } from '../node_modules/react-email/dist/components/hr/hr.mjs';
export { Html } from '../node_modules/react-email/dist/components/html/html.mjs';
export { Img } from '../node_modules/react-email/dist/components/img/img.mjs';
export { Link } from '../node_modules/react-email/dist/components/link/link.mjs';
export { Preview } from '../node_modules/react-email/dist/components/preview/preview.mjs';
export { Row } from '../node_modules/react-email/dist/components/row/row.mjs';
export { Section } from '../node_modules/react-email/dist/components/section/section.mjs';
export const CodeBlock = () => null;

const doctype = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">';
const empty = new Set(['br', 'hr', 'img', 'link', 'meta']);
const block = new Set(['html', 'head', 'meta', 'title', 'style', 'body', 'table', 'tbody', 'tr', 'td', 'p', 'h1', 'h2', 'h3', 'ul', 'ol', 'li', 'hr', 'blockquote', 'div']);
const names = { className: 'class', httpEquiv: 'http-equiv' };
const unitless = /^(fontWeight|lineHeight|opacity|zIndex)$/;

/** The language that a mail says it is in, and whether it is written in Liquid. */
let language = 'en';
let liquid = false;
export const speak = (name, inLiquid = false) => {
	language = name;
	liquid = inLiquid;
};

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapes = (text, what) => text.replace(what, (character) => entities[character]);
// What Liquid reads is not HTML: the server escapes what comes of it.
const escape = (text, what = /[&<>]/g) => (liquid ? text.split(/((?<!\{)\{\{(?!\{)[^]*?\}\}|\{%[^]*?%\})/).map((part, i) => (i % 2 ? part : escapes(part, what))).join('') : escapes(text, what));
const kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const styleOf = (style) => Object.entries(style).filter(([, value]) => value !== undefined && value !== null && value !== '' && typeof value !== 'boolean')
	.map(([name, value]) => `${kebab(name)}:${typeof value === 'number' && value && !unitless.test(name) ? `${value}px` : String(value).trim()}`).join(';');

function attributes(props) {
	let out = '';
	for (const [name, given] of Object.entries(props)) {
		if (['children', 'ref', 'key', 'dangerouslySetInnerHTML'].includes(name) || typeof given === 'function') continue;
		const value = name === 'lang' ? language : name === 'style' && given ? styleOf(given) : given;
		if (value === undefined || value === null || value === false || value === '' && (name === 'style' || name === 'href')) continue;
		out += ` ${names[name] ?? name.toLowerCase()}="${value === true ? (name.startsWith('data-') ? 'true' : '') : escape(String(value), /[&<>"]/g)}"`;
	}
	return out;
}

/** A tree as HTML, each block on a line of its own. */
function draw(node) {
	if (node === null || node === undefined || typeof node === 'boolean') return '';
	if (Array.isArray(node)) return node.map(draw).join('');
	if (typeof node !== 'object') return escape(String(node));
	const { type, props } = node;
	if (typeof type === 'function') return draw(type(props));
	if (type === 'liquid') return `\n${props.children}`;
	const open = `${block.has(type) ? '\n' : ''}<${type}${attributes(props)}`;
	if (empty.has(type)) return `${open}/>`;
	// A style is not escaped in HTML.
	return `${open}>${props.dangerouslySetInnerHTML?.__html ?? (type === 'style' ? props.children : draw(props.children))}</${type}>`;
}

export const render = (tree) => `${doctype}${draw(tree)}\n`;
export const pretty = (text) => text;
export const toPlainText = () => ''; // the server makes it of the HTML
