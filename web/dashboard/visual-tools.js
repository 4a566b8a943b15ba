// The tools of the visual editor: how text looks, what can be put in, and what is known of
// the thing that the cursor is on.
import { html, useEffect, useState } from './lib/core.js';
import { NodeSelection } from './lib/visual.js';
import { mayLead } from './visual-nodes.js';

const Tool = ({ icon, word, on, id, disabled = false, run }) => html`<button type="button" class="btn btn--quiet btn--icon" id=${id} aria-label=${word} title=${word} aria-pressed=${on === undefined ? undefined : String(Boolean(on))} disabled=${disabled} onMouseDown=${(e) => e.preventDefault()} onClick=${run}><svg class="icon" aria-hidden="true"><use href=${`#i-${icon}`} /></svg></button>`;

const Choice = ({ label, value, options, onChange }) => html`<span class="select-wrap"><select class="select" aria-label=${label} value=${value} onChange=${(e) => {
	const chosen = e.currentTarget.value;
	e.currentTarget.value = value;
	onChange(chosen);
}}>${options.map(([id, name]) => html`<option value=${id} selected=${id === value}>${name}</option>`)}</select><svg class="icon" aria-hidden="true"><use href="#i-down" /></svg></span>`;

const blocks = ['paragraph', 'heading1', 'heading2', 'heading3', 'blockquote'];

/** The kind of the block that the cursor is in. */
const blockOf = (editor) => (editor.isActive('blockquote') ? 'blockquote' : blocks.find((name) => /\d$/.test(name) && editor.isActive('heading', { level: Number(name.slice(-1)) })) ?? 'paragraph');

function turn(editor, name) {
	const chain = editor.chain().focus();
	if (editor.isActive('blockquote') && name !== 'blockquote') chain.lift('blockquote');
	if (name === 'blockquote') chain.setParagraph().wrapIn('blockquote').run();
	else if (name === 'paragraph') chain.setParagraph().run();
	else chain.setHeading({ level: Number(name.slice(-1)) }).run();
}

/** The thing that the cursor is on, if something is known of it. */
function thing(editor) {
	const { selection } = editor.state;
	if (selection instanceof NodeSelection && ['variable', 'image'].includes(selection.node.type.name)) return { kind: selection.node.type.name, attrs: selection.node.attrs, at: selection.from };
	if (editor.isActive('button')) return { kind: 'button', attrs: editor.getAttributes('button'), at: selection.$from.before() };
	if (editor.isActive('link')) return { kind: 'link', attrs: editor.getAttributes('link'), at: selection.from };
	return null;
}

/** @param {{editor: any, said: any}} props said is what the page told: words, known, unsubscribe. */
export function Tools({ editor, said }) {
	const { words } = said;
	if (!words) return null;
	const of = editor && thing(editor);
	return html`<div class="visual-tools" role="toolbar" aria-label=${words.tools}>${editor && html`<${Looks} editor=${editor} words=${words} /><${Put} editor=${editor} said=${said} />`}</div>
	${of && html`<${Fields} key=${`${of.kind} ${of.at}`} editor=${editor} of=${of} said=${said} />`}
	<div class="visual-sheet" onMouseDown=${(e) => {
		if (e.target.closest('.ProseMirror') || !editor) return;
		e.preventDefault();
		editor.commands.focus('end');
	}}><div id="sheet" class="visual-paper"></div></div>`;
}

function Looks({ editor, words }) {
	const act = (name, ...more) => () => editor.chain().focus()[name](...more).run();
	const align = ['left', 'center', 'right'].find((side) => editor.isActive({ alignment: side })) ?? 'left';
	const put = (side) => {
		const chain = editor.chain().focus();
		for (const name of ['paragraph', 'heading', 'button', 'image']) if (editor.isActive(name)) chain.updateAttributes(name, { alignment: side });
		chain.run();
	};
	return html`<${Choice} label=${words.block} value=${blockOf(editor)} options=${blocks.map((name) => [name, words[name]])} onChange=${(name) => turn(editor, name)} />
	<span class="visual-group">${[['bold', 'toggleBold'], ['italic', 'toggleItalic'], ['underline', 'toggleUnderline'], ['strike', 'toggleStrike']].map(([name, run]) => html`<${Tool} key=${name} icon=${name} word=${words[name]} on=${editor.isActive(name)} run=${act(run)} />`)}
	<${Tool} icon="link" id="visual-link" word=${words.link} on=${editor.isActive('link')} disabled=${editor.state.selection.empty && !editor.isActive('link')} run=${() => {
		if (!editor.isActive('link')) editor.chain().focus().setMark('link', { href: '' }).run();
		requestAnimationFrame(() => /** @type {any} */ (document.getElementById('visual-address'))?.select());
	}} /></span>
	<span class="visual-group"><${Tool} icon="bullets" word=${words.bullets} on=${editor.isActive('bulletList')} run=${act('toggleBulletList')} /><${Tool} icon="numbers" word=${words.numbers} on=${editor.isActive('orderedList')} run=${act('toggleOrderedList')} /></span>
	<span class="visual-group">${[['left', 'start'], ['center', 'center'], ['right', 'end']].map(([side, icon]) => html`<${Tool} key=${side} icon=${icon} word=${words[side]} on=${align === side} run=${() => put(side)} />`)}</span>
	<span class="visual-group"><${Tool} icon="undo" word=${words.undo} disabled=${!editor.can().undo()} run=${act('undo')} /><${Tool} icon="redo" word=${words.redo} disabled=${!editor.can().redo()} run=${act('redo')} /></span>`;
}

/** What can be put in where the cursor is. */
function Put({ editor, said: { words, known, unsubscribe } }) {
	// What was put in before is still chosen: an image, or a button whose words are to be typed
	// over. The next block goes behind it.
	const behind = (inline = false) => {
		const { selection } = editor.state;
		const at = selection.node ? selection.to : !inline && selection.$to.parent.type.name === 'button' ? selection.$to.after() : 0;
		if (at) editor.chain().insertContentAt(at, { type: 'paragraph' }).setTextSelection(at + 1).run();
	};
	const insert = (content, inline = false) => {
		behind(inline);
		editor.chain().focus().insertContent(content).run();
	};
	// What was put in is chosen: a button's words are typed over, an image asks for its address.
	const choose = (content) => {
		insert(content);
		/** @type {any} */
		let put = null;
		editor.state.doc.nodesBetween(0, editor.state.selection.to, (node, at) => {
			if (node.type.name === content.type) put = { node, at };
		});
		if (!put) return;
		if (put.node.isAtom) editor.commands.setNodeSelection(put.at);
		else editor.commands.setTextSelection({ from: put.at + 1, to: put.at + put.node.nodeSize - 1 });
	};
	const things = {
		button: () => choose({ type: 'button', attrs: { href: '' }, content: [{ type: 'text', text: words.buttonText }] }),
		image: () => choose({ type: 'image' }),
		brandLogo: () => insert({ type: 'brandLogo' }),
		brandFooter: () => insert({ type: 'brandFooter' }),
		divider: () => insert({ type: 'horizontalRule' }),
		columns: () => {
			behind();
			editor.chain().focus().insertColumns(2).run();
		},
		unsubscribe: () => insert([{ type: 'text', text: words.unsubscribeText, marks: [{ type: 'link', attrs: { href: '{{{UNSUBSCRIBE_URL}}}' } }] }], true),
	};
	return html`<${Choice} label=${words.variable} value="" options=${[['', words.variable], ...known.map(({ name }) => [name, name.replace(/^contact\./, '')])]} onChange=${(key) => key && insert({ type: 'variable', attrs: { key, fallback: null } }, true)} />
	<${Choice} label=${words.insert} value="" options=${[['', words.insert], ...Object.keys(things).filter((name) => unsubscribe || name !== 'unsubscribe').map((name) => [name, words[name]])]} onChange=${(name) => name && things[name]()} />`;
}

/** A line to type into; what is typed counts at once. */
function Line({ id, label, value, hint, wrong, onInput }) {
	const [typed, type] = useState(value ?? '');
	useEffect(() => type(value ?? ''), [value]);
	return html`<label class="visual-field"><span>${label}</span><input class="input" id=${id} value=${typed} placeholder=${hint} aria-invalid=${wrong?.(typed) ? 'true' : undefined} onInput=${(e) => {
		type(e.currentTarget.value);
		if (!wrong?.(e.currentTarget.value)) onInput(e.currentTarget.value);
	}} /></label>`;
}

/** What is known of the thing that the cursor is on. */
function Fields({ editor, of: { kind, attrs, at }, said: { words, known } }) {
	const set = (more) => (kind === 'link'
		? editor.chain().extendMarkRange('link').updateAttributes('link', more).run()
		: editor.view.dispatch(keep(editor, at, editor.state.tr.setNodeMarkup(at, undefined, { ...editor.state.doc.nodeAt(at).attrs, ...more }))));
	const noLink = (text) => !mayLead(text.trim());
	const address = html`<${Line} id="visual-address" label=${words.address} value=${attrs.href} hint="https://" wrong=${noLink} onInput=${(href) => set({ href: href.trim() })} />`;
	if (kind === 'variable') return html`<div class="visual-fields"><label class="visual-field"><span>${words.variable}</span><${Choice} label=${words.variable} value=${attrs.key} options=${[...(known.some((v) => v.name === attrs.key) ? [] : [[attrs.key, attrs.key]]), ...known.map(({ name }) => [name, name.replace(/^contact\./, '')])]} onChange=${(key) => set({ key })} /></label>
		<${Line} label=${words.fallback} hint=${words.fallbackHint} value=${attrs.fallback} wrong=${(text) => /[{}]/.test(text)} onInput=${(text) => set({ fallback: text === '' ? null : text })} /></div>`;
	if (kind === 'image') return html`<div class="visual-fields"><${Line} id="visual-address" label=${words.imageAddress} hint="https://" value=${attrs.src} wrong=${(text) => text !== '' && !/^https:\/\/\S+$/i.test(text.trim())} onInput=${(src) => set({ src: src.trim() })} />
		<${Line} label=${words.alt} hint=${words.altHint} value=${attrs.alt} onInput=${(alt) => set({ alt })} /><${Line} label=${words.width} hint=${words.widthHint} value=${attrs.width} wrong=${(text) => !/^\d{0,4}$/.test(text)} onInput=${(width) => set({ width: width || null })} /></div>`;
	return html`<div class="visual-fields">${address}${kind === 'link' && html`<button type="button" class="btn" onClick=${() => editor.chain().focus().extendMarkRange('link').unsetMark('link').run()}>${words.unlink}</button>`}</div>`;
}

/** A change that leaves the thing chosen. */
const keep = (editor, at, tr) => (editor.state.selection instanceof NodeSelection ? tr.setSelection(NodeSelection.create(tr.doc, at)) : tr);
