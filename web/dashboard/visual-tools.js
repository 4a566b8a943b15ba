// The tools of the visual editor: how text looks, what can be put in, and what is known of
// the thing that the cursor is on.
import { html } from './lib/core.js';
import { closeHistory } from './lib/visual.js';
import { Choice, Fields, itemsOf, shortName } from './visual-fields.js';

const Tool = ({ icon, word, on, id, disabled = false, run }) => html`<button type="button" class="btn btn--quiet btn--icon" id=${id} aria-label=${word} title=${word} aria-pressed=${on === undefined ? undefined : String(Boolean(on))} disabled=${disabled} onMouseDown=${(e) => e.preventDefault()} onClick=${run}><svg class="icon" aria-hidden="true"><use href=${`#i-${icon}`} /></svg></button>`;

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

/** @param {{editor: any, said: any}} props said is what the page told: words, known, unsubscribe. */
export function Tools({ editor, said }) {
	const { words } = said;
	if (!words) return null;
	return html`<div class="visual-tools" role="toolbar" aria-label=${words.tools}>${editor && html`<${Looks} editor=${editor} words=${words} /><${Put} editor=${editor} said=${said} />`}</div>
	${editor && html`<${Fields} editor=${editor} said=${said} />`}
	<div role="status" class=${said.uploading.length ? 'visual-fields' : 'vh'}>${said.uploading.length ? `${words.uploading} ${said.uploading.join(', ')}` : ''}</div>
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

/** Begins a new step of undo: what was typed just before stays. */
const apart = (editor) => editor.view.dispatch(closeHistory(editor.state.tr));

/** What can be put in where the cursor is. */
function Put({ editor, said: { words, known, unsubscribe, liquid, saved = [], ask, htmlOf } }) {
	// What was put in before is still chosen: an image, or a button whose words are to be typed
	// over. The next block goes behind it.
	const behind = (inline = false) => {
		apart(editor);
		const { selection } = editor.state;
		const at = selection.node ? selection.to : !inline && selection.$to.parent.type.name === 'button' ? selection.$to.after() : 0;
		if (at) editor.chain().insertContentAt(at, { type: 'paragraph' }).setTextSelection(at + 1).run();
	};
	const insert = (content, inline = false) => {
		behind(inline);
		editor.chain().focus().insertContent(content).run();
		apart(editor);
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
	// What is selected goes into the block, whose fields are asked for next.
	const wrap = (type, attrs) => {
		apart(editor);
		if (!editor.chain().focus().wrapIn(type, attrs).run()) return;
		apart(editor);
		requestAnimationFrame(() => /** @type {any} */ ([...document.querySelectorAll(`.visual-fields[data-kind=${type}] :is(select, input)`)].at(-1)?.closest('.visual-fields').querySelector('select, input'))?.focus());
	};
	const items = itemsOf(editor, known);
	const all = [...items, ...known];
	const first = all.find(({ type }) => type !== 'list' && type !== 'object') ?? { name: '', type: 'string' };
	const list = all.find(({ type }) => type === 'list');
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
		showIf: () => wrap('showIf', { key: first.name, type: first.type, op: first.type === 'boolean' ? 'is_true' : 'is_set' }),
		repeat: () => wrap('repeat', { list: list?.name ?? '', item: items.some(({ name }) => /^item(\.|$)/.test(name)) ? 'item2' : 'item' }),
	};
	const keepBlock = () => {
		const range = editor.state.selection.$from.blockRange(editor.state.selection.$to);
		if (range) htmlOf(editor, range).then((html) => ask({ kind: 'saveBlock', from: range.start, to: range.end, html }));
	};
	const offered = Object.keys(things).filter((name) => (name === 'unsubscribe' ? unsubscribe : name === 'showIf' ? liquid : name === 'repeat' ? liquid && !unsubscribe : true));
	const put = (name) => (name === 'keep' ? keepBlock() : name.startsWith('saved ') ? insert({ type: 'savedBlock', attrs: { name: name.slice(6) } }) : things[name]());
	const writable = all.filter(({ type }) => liquid ? type !== 'list' && type !== 'object' : type === 'string' || type === 'number');
	return html`<${Choice} label=${words.variable} value="" options=${[['', words.variable], ...writable.map(({ name, type }) => [name, `${shortName(name)} · ${words.types[type]}`])]} onChange=${(key) => key && insert({ type: 'variable', attrs: { key, fallback: null, type: all.find(({ name }) => name === key).type } }, true)} />
	<${Choice} label=${words.insert} value="" options=${[['', words.insert], ...offered.map((name) => [name, words[name]]), ...(liquid ? [...saved.map((name) => [`saved ${name}`, `${words.savedBlock}: ${name}`]), ['keep', words.saveBlock]] : [])]} onChange=${(name) => name && put(name)} />`;
}
