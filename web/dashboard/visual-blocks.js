// Blocks of a visual mail that Liquid decides on: shown on a condition, repeated, saved ones.
import { EmailNode, jsx } from './lib/visual.js';
import { alone, blockTag, conditionTags, isName, isWhole, loopTags } from './liquid.js';

/** Content between two tags. @param {[string, string]} tags @param {any} children */
const between = ([open, close], children) => (open ? [jsx('liquid', { children: open }), children, jsx('liquid', { children: close })] : children);

/** The text of a label with its values. @param {string} text @param {Record<string, string>} values */
const worded = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);

/** The label of a condition. @param {any} attrs @param {any} words */
export const conditionLabel = ({ key, op, value }, words) => worded(words.showIfLabel, { name: key.replace(/^contact\./, ''), op: words.ops[op], value: alone.includes(op) ? '' : `“${value}”` }).trim();

/** A container with a head that names what happens to its content. */
const boxed = (name, label, isRight) => ({ node }) => ['div', { class: `visual-block ${isRight(node.attrs) ? '' : 'is-wrong'}`, [`data-${name}`]: JSON.stringify(node.attrs) }, ['div', { class: 'visual-block-head', contenteditable: 'false' }, label(node.attrs)], ['div', { class: 'visual-block-body' }, 0]];

const parsed = (name) => [{ tag: `div[data-${name}]`, contentElement: '.visual-block-body', getAttrs: (element) => JSON.parse(element.getAttribute(`data-${name}`)) }];

/** @param {any} words */
const showIf = (words) => EmailNode.create({
	name: 'showIf', group: 'block', content: 'block+', defining: true,
	addAttributes: () => Object.fromEntries(Object.entries({ key: '', type: 'string', op: 'is_set', value: '' }).map(([attr, value]) => [attr, { default: value, rendered: false }])),
	parseHTML: () => parsed('show-if'),
	renderHTML: boxed('show-if', (attrs) => conditionLabel(attrs, words), isWhole),
	renderToReactEmail: ({ node, children }) => between(conditionTags(node.attrs), children),
});

/** @param {any} words */
const repeat = (words) => EmailNode.create({
	name: 'repeat', group: 'block', content: 'block+', defining: true,
	addAttributes: () => ({ list: { default: '', rendered: false }, item: { default: 'item', rendered: false } }),
	parseHTML: () => parsed('repeat'),
	renderHTML: boxed('repeat', ({ list, item }) => worded(words.repeatLabel, { list: list || '…', item }), ({ list }) => isName(list)),
	renderToReactEmail: ({ node, children }) => between(loopTags(node.attrs), children),
});

/** @param {any} words */
const savedBlock = (words) => EmailNode.create({
	name: 'savedBlock', group: 'block', atom: true, draggable: true,
	addAttributes: () => ({ name: { default: '' } }),
	parseHTML: () => [{ tag: 'div[data-saved-block]', getAttrs: (element) => ({ name: element.getAttribute('data-saved-block') }) }],
	renderHTML: ({ node }) => ['div', { class: 'visual-image', 'data-saved-block': node.attrs.name }, ['span', { class: 'medium' }, words.savedBlock], ['span', { class: 'cut' }, node.attrs.name]],
	renderToReactEmail: ({ node }) => jsx('liquid', { children: blockTag(node.attrs.name) }),
});

/** @param {any} words */
export const blocks = (words) => [showIf(words), repeat(words), savedBlock(words)];
