// Nodes of a visual mail besides text: variables, and what the team's brand has.
import { Divider, EmailNode, EmailTheming, Heading, Img, Link, StarterKit, jsx } from './lib/visual.js';
import { spelled } from './liquid.js';
import { blocks } from './visual-blocks.js';
import { imageOf } from './visual-images.js';

/** A variable that is typed as {{{name|else}}}, and in Liquid as {{ name | default: "else" }} or with other filters. */
const placeholder = /\{\{\{\s*((?:contact\.)?\w+)\s*(?:\|([^{}]*))?\}\}\}/;
const output = /(?<!\{)\{\{\s*([^{}\s][^{}]*?)\s*\}\}/;

/** The meaning of a placeholder match. @param {any} match */
const variableOf = (match) => ({ key: match[1], fallback: match[2] === undefined ? null : match[2].trim() });

/** The meaning of an output match. @param {any} match */
function outputOf([, inside]) {
	const [, key, , fallback] = /^([A-Za-z_]\w*(?:\.\w+)*)(?:\s*\|\s*default:\s*(["'])(.*)\2)?$/.exec(inside) ?? [];
	return key ? { key, fallback: fallback ?? null } : { key: inside.split(/[\s|]/)[0], expression: inside };
}

/** A variable: one thing in the line, which can be typed too. @param {boolean} liquid */
const variable = (liquid) => EmailNode.create({
	name: 'variable', group: 'inline', inline: true, atom: true, selectable: true,
	addAttributes: () => Object.fromEntries(Object.entries({ key: 'FIRST_NAME', fallback: null, type: 'string', expression: null }).map(([attr, value]) => [attr, { default: value, rendered: false }])),
	parseHTML: () => [{ tag: 'span[data-variable]', getAttrs: (element) => JSON.parse(element.dataset.variable) }],
	renderHTML: ({ node }) => ['span', { class: 'chip', 'data-variable': JSON.stringify(node.attrs), title: spelled(node.attrs) }, (node.attrs.expression ?? node.attrs.key).replace(/^contact\./, '')],
	renderText: ({ node }) => spelled(node.attrs),
	addInputRules() {
		/** @type {[RegExp, (match: any) => any][]} */
		const rules = [[placeholder, variableOf], ...(liquid ? [/** @type {any} */ ([output, outputOf])] : [])];
		return rules.map(([find, meaning]) => ({
			find: new RegExp(`${find.source}$`), undoable: true,
			handler: ({ range, match, chain }) => void chain().deleteRange(range).insertContentAt(range.from, { type: 'variable', attrs: meaning(match) }).run(),
		}));
	},
	renderToReactEmail: ({ node }) => spelled(node.attrs),
});

/** An address that a link may lead to. @param {string} href */
export const mayLead = (href) => /^(https?:\/\/|mailto:|tel:|\{\{)[^]*\S$/i.test(href) && !/\s/.test(href.replace(/\{\{[^]*?\}\}/g, ''));

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

/** All that a mail may be made of. @param {any} kit the team's brand, as kitOf makes it @param {any} words @param {boolean} liquid @param {(src: string) => void} look asks for an image */
export const extensions = (kit, words, liquid, look) => [
	StarterKit.configure({
		CodeBlockPrism: false, Code: false, ThreeColumns: false, FourColumns: false, Table: false, TableRow: false, TableCell: false, TableHeader: false, Body: false, Div: false,
		Section: false, Sup: false, Uppercase: false, PreservedStyle: false, PreviewText: false, Heading: false, Divider: false, Link: false,
		FocusScopes: false, // it forgets what is chosen when a field beside is typed into
	}),
	// Their views are React's: the plain ones of the document do.
	Heading.extend({ addNodeView: () => null }).configure({ levels: [1, 2, 3] }).extend({
		renderHTML: ({ node, HTMLAttributes }) => [`h${node.attrs.level}`, { ...HTMLAttributes, class: `node-h${node.attrs.level}` }, 0],
	}),
	Divider.extend({
		addNodeView: () => null, renderHTML: () => ['hr', { class: 'node-hr' }],
		// Typing does not replace a divider that is selected; undoing its insertion does.
		addProseMirrorPlugins() {
			return this.parent().map((plugin) => new plugin.constructor({ ...plugin.spec, filterTransaction: (tr, state) => Boolean(tr.getMeta('history$')) || plugin.spec.filterTransaction(tr, state) }));
		},
	}),
	Link.configure({ openOnClick: false, autolink: false, isAllowedUri: (href) => mayLead(href ?? ''), HTMLAttributes: { class: 'node-link', rel: null, target: '_blank' } }),
	theming(kit), variable(liquid), imageOf(words, look), logoOf(kit), footerOf(kit, words), ...blocks(words),
];
