// Nodes of a visual mail besides text: variables and images.
import { Anchor, Divider, EmailNode, EmailTheming, Heading, Img, Link, StarterKit, jsx } from './lib/visual.js';

/** How a variable is written in HTML. @param {{key: string, fallback: string|null}} of */
export const spelled = ({ key, fallback }) => `{{{${key}${fallback === null || fallback === undefined ? '' : `|${fallback}`}}}}`;

const placeholder = /\{\{\{\s*((?:contact\.)?\w+)\s*(?:\|([^{}]*))?\}\}\}/;

/** The meaning of a placeholder match. @param {any} match */
const variableOf = (match) => ({ key: match[1], fallback: match[2] === undefined ? null : match[2].trim() });

/** A variable: one thing in the line, which is typed as {{{name|else}}} too. */
const Variable = EmailNode.create({
	name: 'variable', group: 'inline', inline: true, atom: true, selectable: true,
	addAttributes: () => ({ key: { default: 'FIRST_NAME' }, fallback: { default: null } }),
	parseHTML: () => [{ tag: 'span[data-variable]', getAttrs: (element) => variableOf(element.dataset.variable.match(placeholder) ?? [null, 'FIRST_NAME']) }],
	renderHTML: ({ node }) => ['span', { class: 'chip', 'data-variable': spelled(node.attrs), title: spelled(node.attrs) }, node.attrs.key.replace(/^contact\./, '')],
	renderText: ({ node }) => spelled(node.attrs),
	addInputRules() {
		return [{
			find: new RegExp(`${placeholder.source}$`), undoable: true,
			handler: ({ range, match, chain }) => void chain().deleteRange(range).insertContentAt(range.from, { type: 'variable', attrs: variableOf(match) }).run(),
		}];
	},
	renderToReactEmail: ({ node }) => spelled({ fallback: null, ...node.attrs }),
});

/** An image by its URL: the editor fetches nothing, the preview does on request. */
const Image = EmailNode.create({
	name: 'image', group: 'block', atom: true, draggable: true,
	addAttributes: () => ({ src: { default: '' }, alt: { default: '' }, width: { default: null }, alignment: { default: 'left' }, href: { default: null } }),
	parseHTML: () => [{ tag: 'div[data-image]' }, { tag: 'img[src^="https://"]', getAttrs: (element) => ({ src: element.getAttribute('src'), alt: element.getAttribute('alt') ?? '' }) }],
	renderHTML: ({ node }) => ['div', { class: 'visual-image', 'data-image': '' }, ['span', { class: 'medium' }, node.attrs.alt || '–'], ['span', { class: 'cut' }, node.attrs.src || 'https://']],
	renderToReactEmail: ({ node, style }) => {
		const { src, alt, width, alignment, href } = node.attrs;
		if (!src) return null;
		const margin = { center: '0 auto', right: '0 0 0 auto' }[alignment];
		const image = jsx(Img, { src, alt: alt ?? '', width: width ?? undefined, style: { ...style, maxWidth: '100%', ...(margin ? { margin } : {}) } });
		return href ? jsx(Anchor, { href, children: image }) : image;
	},
});

/** An address that a link may lead to. @param {string} href */
export const mayLead = (href) => /^(https?:\/\/|mailto:|tel:|\{\{\{)\S+$/i.test(href);

const { serializerPlugin } = EmailTheming.options;

/** What the theme leaves out: a margin around the mail, and columns of one width. The same stands in more.css. */
const looks = {
	container: { paddingTop: '24px', paddingRight: '24px', paddingBottom: '24px', paddingLeft: '24px' },
	columnsColumn: { width: '50%', verticalAlign: 'top', paddingRight: '12px' },
};

/** The head of a mail: the logo of the team, or its name. @param {any} kit */
const logoOf = (kit) => EmailNode.create({
	name: 'brandLogo', group: 'block', atom: true, draggable: true,
	parseHTML: () => [{ tag: 'div[data-brand-logo]' }],
	renderHTML: () => ['div', { class: 'visual-brand', 'data-brand-logo': '' }, ...(kit.logo?.shown ? [['img', { src: kit.logo.shown, alt: kit.name, width: kit.logo.width, height: kit.logo.height }]] : [kit.name])],
	renderToReactEmail: () => {
		if (!kit.logo) return jsx('div', { style: { margin: '0 0 16px', fontSize: '18px', fontWeight: 600, ...fontOf(kit) }, children: kit.name });
		const { src, width, height } = kit.logo;
		return jsx('div', { style: { margin: '0 0 16px' }, children: jsx(Img, { src, alt: kit.name, width: width ?? undefined, height, style: { maxWidth: '100%' } }) });
	},
});

/** The footer of the team, with its postal address. @param {any} kit @param {any} words */
const footerOf = (kit, words) => EmailNode.create({
	name: 'brandFooter', group: 'block', atom: true, draggable: true,
	parseHTML: () => [{ tag: 'div[data-brand-footer]' }],
	renderHTML: () => ['div', { class: `visual-foot ${kit.footer ? '' : 'visual-foot--none'}`, 'data-brand-footer': '' }, kit.footer ?? words.footerNone],
	renderToReactEmail: () => kit.footer && jsx('div', { style: { margin: '12px 0 0', color: '#5d6470', fontSize: '12px', lineHeight: '18px', ...fontOf(kit) }, children: kit.footer.split('\n').flatMap((line, i) => (i ? [jsx('br'), line] : [line])) }),
});

/** @param {any} kit */
const fontOf = (kit) => (kit.font ? { fontFamily: kit.font } : {});

/** Nodes that have a font of their own in the theme, or that some mail programs give theirs. */
const lettered = ['container', 'paragraph', 'heading', 'blockquote', 'button', 'listItem', 'columnsColumn'];

/** What a brand adds to the looks of a node. @param {any} kit @param {string} type */
const branded = (kit, type) => ({
	...(lettered.includes(type) ? fontOf(kit) : {}),
	...(kit.colors && type === 'button' ? { backgroundColor: kit.colors.button, color: kit.colors.on } : {}),
	...(kit.colors && type === 'link' ? { color: kit.colors.link } : {}),
});

/** @param {any} kit */
const theming = (kit) => EmailTheming.configure({ theme: 'basic', serializerPlugin: { ...serializerPlugin, getNodeStyles: (node, ...more) => {
	const { align, ...style } = serializerPlugin.getNodeStyles(node, ...more);
	return { ...style, ...looks[node.type], ...branded(kit, node.type) };
} } });

/** All that a mail may be made of. @param {any} kit the team's brand, as kitOf makes it @param {any} words */
export const extensions = (kit, words) => [
	StarterKit.configure({
		CodeBlockPrism: false, Code: false, ThreeColumns: false, FourColumns: false, Table: false, TableRow: false, TableCell: false, TableHeader: false, Body: false, Div: false,
		Section: false, Sup: false, Uppercase: false, PreservedStyle: false, PreviewText: false, Heading: false, Divider: false, Link: false,
		FocusScopes: false, // it forgets what is chosen when a field beside is typed into
	}),
	// Their views are React's: the plain ones of the document do.
	Heading.extend({ addNodeView: () => null }).configure({ levels: [1, 2, 3] }).extend({
		renderHTML: ({ node, HTMLAttributes }) => [`h${node.attrs.level}`, { ...HTMLAttributes, class: `node-h${node.attrs.level}` }, 0],
	}),
	Divider.extend({ addNodeView: () => null, renderHTML: () => ['hr', { class: 'node-hr' }] }),
	Link.configure({ openOnClick: false, autolink: false, isAllowedUri: (href) => mayLead(href ?? ''), HTMLAttributes: { class: 'node-link', rel: null, target: '_blank' } }),
	theming(kit), Variable, Image, logoOf(kit), footerOf(kit, words),
];
