// What is known of the things that the cursor is on, to be changed: links, images, variables, and
// the blocks around.
import { html, useEffect, useState } from './lib/core.js';
import { closeHistory, NodeSelection } from './lib/visual.js';
import { alone, canQuote, comparisons, isName } from './liquid.js';
import { mayLead } from './visual-nodes.js';

export const Choice = ({ label, value, options, onChange }) => html`<span class="select-wrap"><select class="select" aria-label=${label} value=${value} onChange=${(e) => {
	const chosen = e.currentTarget.value;
	e.currentTarget.value = value;
	onChange(chosen);
}}>${options.map(([id, name]) => html`<option value=${id} selected=${id === value}>${name}</option>`)}</select><svg class="icon" aria-hidden="true"><use href="#i-down" /></svg></span>`;

/** A variable's name as it is shown. @param {string} name */
export const shortName = (name) => name.replace(/^contact\./, '');

/** The variables of the items of repeated blocks around the cursor. @returns {{name: string, type: string, items?: any[]}[]} */
export function itemsOf(editor, known) {
	const out = [];
	const { $from } = editor.state.selection;
	for (let depth = 1; depth <= $from.depth; depth++) {
		const { type, attrs } = $from.node(depth);
		if (type.name !== 'repeat') continue;
		const of = [...out, ...known].find((v) => v.name === attrs.list)?.items ?? [{ name: '', type: 'string' }];
		out.unshift(...of.map((item) => ({ ...item, name: item.name ? `${attrs.item}.${item.name}` : attrs.item })));
	}
	return out;
}

/** A line to type into; what is typed counts at once. hints: values to choose from. */
function Line({ id, label, value, hint, hints, wrong, note, onInput, onChange }) {
	const [typed, type] = useState(value ?? '');
	useEffect(() => type(value ?? ''), [value]);
	return html`<label class="visual-field"><span>${label}</span><input class="input" id=${id} value=${typed} placeholder=${hint} list=${hints && `${id}-hints`} onChange=${() => onChange?.(typed)} aria-invalid=${wrong?.(typed) ? 'true' : undefined} onInput=${(e) => {
		type(e.currentTarget.value);
		if (!wrong?.(e.currentTarget.value)) onInput(e.currentTarget.value);
	}} />${hints && html`<datalist id=${`${id}-hints`}>${hints.map((name) => html`<option value=${name} />`)}</datalist>`}${note && html`<span class="warn">${note}</span>`}</label>`;
}

/** The things that the cursor is on, the outermost block first. */
function things(editor) {
	const { selection } = editor.state;
	const { $from } = selection;
	const out = [];
	for (let depth = 1; depth <= $from.depth; depth++) {
		const node = $from.node(depth);
		if (['showIf', 'repeat'].includes(node.type.name)) out.push({ kind: node.type.name, attrs: node.attrs, at: $from.before(depth) });
	}
	if (selection instanceof NodeSelection && ['variable', 'image', 'showIf', 'repeat'].includes(selection.node.type.name)) out.push({ kind: selection.node.type.name, attrs: selection.node.attrs, at: selection.from });
	else if (editor.isActive('button')) out.push({ kind: 'button', attrs: editor.getAttributes('button'), at: selection.$from.before() });
	else if (editor.isActive('link')) out.push({ kind: 'link', attrs: editor.getAttributes('link'), at: selection.from });
	return out;
}

/** A change that leaves the thing chosen. */
const keep = (editor, at, tr) => (editor.state.selection instanceof NodeSelection && editor.state.selection.from === at ? tr.setSelection(NodeSelection.create(tr.doc, at)) : tr);

const kinds = { showIf: ShowIf, repeat: Repeat, variable: Variable, image: Image, button: Address, link: Address };

/** @param {{editor: any, said: any}} props */
export function Fields({ editor, said }) {
	return things(editor).map((of) => {
		const { kind, attrs, at } = of;
		// step: the change is one step of undo, not part of what is typed.
		const set = (more, step = false) => {
			if (kind === 'link') {
				editor.chain().extendMarkRange('link').updateAttributes('link', more).run();
				return;
			}
			const tr = editor.state.tr.setNodeMarkup(at, undefined, { ...editor.state.doc.nodeAt(at).attrs, ...more });
			editor.view.dispatch(keep(editor, at, step ? closeHistory(tr) : tr));
			if (step) editor.view.dispatch(closeHistory(editor.state.tr));
		};
		return html`<div class="visual-fields" data-kind=${kind} role="group" aria-label=${said.words[kind]} key=${`${kind} ${at}`}><${kinds[kind]} editor=${editor} attrs=${attrs} at=${at} set=${set} said=${said} kind=${kind} /></div>`;
	});
}

/** Takes a block away, and leaves its content. */
function Unwrap({ editor, at, words }) {
	const run = () => {
		const node = editor.state.doc.nodeAt(at);
		editor.view.dispatch(closeHistory(editor.state.tr.replaceWith(at, at + node.nodeSize, node.content)));
		editor.commands.focus();
	};
	return html`<button type="button" class="btn" onClick=${run}>${words.unwrap}</button>`;
}

/** The options of a choice of variables, with the one in use. */
const named = (all, words, key) => [...(all.some(({ name }) => name === key) ? [] : [[key, key || '–']]), ...all.map(({ name, type }) => [name, `${shortName(name)} · ${words.types[type]}`])];

function ShowIf({ editor, attrs, at, set, said: { words, known } }) {
	const all = [...itemsOf(editor, known), ...known];
	const choose = (key) => {
		const type = all.find(({ name }) => name === key)?.type ?? attrs.type;
		set({ key, type, op: comparisons[type].includes(attrs.op) ? attrs.op : comparisons[type][0] }, true);
	};
	const number = attrs.type === 'number';
	return html`<label class="visual-field"><span>${words.showIf}</span><${Choice} label=${words.showIf} value=${attrs.key} options=${named(all, words, attrs.key)} onChange=${choose} /></label>
	<${Choice} label=${words.comparison} value=${attrs.op} options=${comparisons[attrs.type].map((op) => [op, words.ops[op]])} onChange=${(op) => set({ op }, true)} />
	${!alone.includes(attrs.op) && html`<${Line} id="visual-value" label=${words.value} value=${attrs.value} wrong=${(text) => (number ? !Number.isFinite(Number(text)) : !canQuote(text))} onInput=${(value) => set({ value })} />`}
	<${Unwrap} editor=${editor} at=${at} words=${words} />`;
}

function Repeat({ editor, attrs, at, set, said: { words, known } }) {
	const lists = [...itemsOf(editor, known).filter(({ name }) => !name.startsWith(`${attrs.item}.`)), ...known].filter(({ type }) => type === 'list').map(({ name }) => name);
	return html`<${Line} id="visual-list" label=${words.repeat} value=${attrs.list} hints=${lists} hint="order.items" wrong=${(text) => !isName(text)} onInput=${(list) => set({ list })} />
	<${Line} id="visual-item" label=${words.item} value=${attrs.item} wrong=${(text) => !/^[A-Za-z_]\w*$/.test(text)} onInput=${(item) => set({ item })} />
	<${Unwrap} editor=${editor} at=${at} words=${words} />`;
}

function Variable({ editor, attrs, set, said: { words, known } }) {
	const all = [...itemsOf(editor, known), ...known].filter(({ type }) => type !== 'list' && type !== 'object');
	const choose = (key) => set({ key, type: all.find(({ name }) => name === key)?.type ?? 'string', expression: null }, true);
	return html`<label class="visual-field"><span>${words.variable}</span><${Choice} label=${words.variable} value=${attrs.key} options=${named(all, words, attrs.key)} onChange=${choose} /></label>
	${attrs.expression ? html`<code class="visual-field">${attrs.expression}</code>` : attrs.type !== 'html' && html`<${Line} label=${words.fallback} hint=${words.fallbackHint} value=${attrs.fallback} wrong=${(text) => /[{}]/.test(text) || !canQuote(text)} onInput=${(text) => set({ fallback: text === '' ? null : text })} />`}`;
}

function Image({ attrs, at, set, said: { words, ask } }) {
	return html`<button type="button" class="btn" onClick=${() => ask({ kind: 'pick', at })}>${words.pick}</button>
	<${Line} id="visual-alt" label=${words.alt} hint=${words.altHint} note=${attrs.src && !attrs.alt && words.altAsk} value=${attrs.alt} onInput=${(alt) => set({ alt })} onChange=${(alt) => ask({ kind: 'described', src: attrs.src, alt })} />
	<${Line} id="visual-address" label=${words.imageAddress} hint="https://" value=${attrs.src} wrong=${(text) => text !== '' && !/^(https?:\/\/|\{\{)[^]*\S$/i.test(text.trim())} onInput=${(src) => set({ src: src.trim() })} />
	<${Line} label=${words.width} hint=${words.widthHint} value=${attrs.width} wrong=${(text) => !/^\d{0,4}$/.test(text)} onInput=${(width) => set({ width: width || null })} />`;
}

function Address({ editor, kind, attrs, set, said: { words } }) {
	return html`<${Line} id="visual-address" label=${words.address} value=${attrs.href} hint="https://" wrong=${(text) => !mayLead(text.trim())} onInput=${(href) => set({ href: href.trim() })} />
	${kind === 'link' && html`<button type="button" class="btn" onClick=${() => editor.chain().focus().extendMarkRange('link').unsetMark('link').run()}>${words.unlink}</button>`}`;
}
