// The visual editor in its frame: a document of its own that has no session, no cookies and
// no network. It speaks with the page around it over one port that the page hands in.
import { composeReactEmail, Editor, speak } from './lib/visual.js';
import { html, render } from './lib/core.js';
import { arrived, follow, forget, show, taking, uploading } from './visual-images.js';
import { extensions } from './visual-nodes.js';
import { Tools } from './visual-tools.js';

/** Delay after a change until it is reported, in ms. */
const pause = 250;

/** The page that may speak to this frame: the one it was served with. */
const home = new URL(location.href).origin;

/** @type {any} */
let port = null;
/** @type {any} */
let editor = null;
/** The latest message of the page: texts, known variables, and so on. @type {any} */
let said = {};
let due = 0;

addEventListener('message', (e) => {
	if (e.source !== parent || e.origin !== home || !e.ports[0] || port) return;
	port = e.ports[0];
	port.onmessage = ({ data }) => hear(data);
	port.postMessage({ kind: 'ready' });
});

function hear(data) {
	if (data.kind === 'open') open(data);
	if (data.kind === 'know') draw(data);
	if (data.kind === 'focus') editor?.commands.focus();
	if (data.kind === 'mjml') convert(data);
	if (data.kind === 'shown') show(data.src, data.shown);
	if (data.kind === 'uploaded' && editor) {
		arrived(editor, data.id, data.image);
		draw({});
		if (data.image) askAlt();
	}
	if (data.kind === 'blockSaved' && editor) editor.chain().insertContentAt({ from: data.from, to: data.to }, { type: 'savedBlock', attrs: { name: data.name } }).run();
	if (data.kind === 'picked' && editor?.state.doc.nodeAt(data.at)?.type.name === 'image') {
		editor.chain().setNodeSelection(data.at).updateAttributes('image', data.image).run();
		if (!data.image.alt) askAlt();
	}
}

/** Asks for the alternative text of the image that is selected. */
const askAlt = () => requestAnimationFrame(() => document.getElementById('visual-alt')?.focus());

const tellPage = (message) => port.postMessage(message);

/** The HTML of blocks. @param {any} of the editor @param {{start: number, end: number}} range @returns {Promise<string>} */
async function htmlOf(of, { start, end }) {
	// The tags around are where it is cut out.
	const content = of.state.doc.slice(start, end).content.toJSON();
	const edge = { type: 'showIf', attrs: { key: 'here', type: 'boolean', op: 'is_true', value: '' }, content };
	speak(said.mailLanguage, true);
	const { html: made } = await composeReactEmail({ editor: Object.create(of, { getJSON: { value: () => ({ type: 'doc', content: [edge] }) } }) });
	return made.slice(made.indexOf('{% if here %}') + 13, made.lastIndexOf('{% endif %}')).trim();
}

/** Makes HTML of MJML. @param {{source: string, written: string}} of */
async function convert({ source, written }) {
	let made = { html: '', errors: [] };
	try {
		const { default: mjml } = await import('./lib/mjml.js');
		made = await mjml(source, { validationLevel: 'soft', fonts: {} }); // no fonts of other hosts, unless the source names them
	} catch (error) {
		made.errors = [{ line: Number(/line:? (\d+)/i.exec(error.message)?.[1] ?? 1), message: error.message }];
	}
	tellPage({ kind: 'mjml', source, written, html: made.html, errors: made.errors.map(({ line, message }) => ({ line, message })) });
}

function draw(more) {
	said = { ...said, ...more, uploading: uploading(), ask: tellPage, htmlOf };
	const root = document.documentElement;
	root.lang = said.language;
	root.style.colorScheme = said.dark ? 'dark' : 'light';
	render(html`<${Tools} editor=${editor} said=${said} />`, /** @type {any} */ (document.getElementById('root')));
}

/** Opens a design; fresh: its HTML was never made. */
function open(data) {
	if (due && data.written !== said.written) tell(true);
	clearTimeout(due);
	due = 0;
	forget();
	editor?.destroy();
	editor = null;
	draw(data);
	const host = /** @type {any} */ (document.getElementById('sheet'));
	host.replaceChildren();
	wear(host, data.kit);
	try {
		editor = new Editor({
			element: host, extensions: extensions(data.kit, data.words, data.liquid, (src) => tellPage({ kind: 'look', src })), content: JSON.parse(data.design), enableContentCheck: true,
			editorProps: {
				attributes: { role: 'textbox', 'aria-multiline': 'true', 'aria-label': said.words.content, spellcheck: 'true' },
				transformPastedHTML: tidy, handleKeyDown: (_view, e) => keys(e), ...taking((message) => {
					tellPage(message);
					draw({});
				}),
			},
			onUpdate: () => later(),
			onTransaction: ({ transaction }) => {
				follow(transaction);
				if (editor) draw({});
			},
		});
	} catch (error) {
		port.postMessage({ kind: 'failed', message: String(error) });
		return;
	}
	toText();
	draw({});
	if (data.fresh) later();
}

/** Puts the cursor into the first text: a logo that was chosen would be typed over. */
function toText() {
	let first = 0;
	editor.state.doc.descendants((node, at) => {
		if (!first && node.isTextblock) first = at + 1;
		return !first;
	});
	if (first) editor.commands.setTextSelection(first);
}

/** Shows a brand's colors and font in the document. @param {any} host @param {any} kit */
function wear(host, { colors, font }) {
	host.classList.toggle('has-color', Boolean(colors));
	host.classList.toggle('has-font', Boolean(font));
	for (const [name, value] of [...Object.entries(colors ?? {}), ['font', font]]) if (value) host.style.setProperty(`--kit-${name}`, value);
}

/** Pasted content keeps its text, not its formatting. */
function tidy(text) {
	const pasted = new DOMParser().parseFromString(text, 'text/html');
	if (pasted.querySelector('[data-pm-slice]')) return text;
	for (const element of pasted.querySelectorAll('script, style, iframe, object, embed, link, meta, base')) element.remove();
	for (const element of pasted.querySelectorAll('*')) for (const { name } of [...element.attributes]) if (!['href', 'src', 'alt'].includes(name)) element.removeAttribute(name);
	return new XMLSerializer().serializeToString(pasted.body);
}

function keys(e) {
	if (!(e.metaKey || e.ctrlKey) || e.altKey) return false;
	const key = e.key.toLowerCase();
	if (key !== 's' && key !== 'k') return false;
	e.preventDefault();
	if (key === 's') {
		tell().then(() => port.postMessage({ kind: 'save' }));
		return true;
	}
	document.getElementById('visual-link')?.click();
	return true;
}

function later() {
	due ||= window.setTimeout(() => tell(), pause);
}

/** Reports the document. gone: another one takes its place. */
async function tell(gone = false) {
	clearTimeout(due);
	due = 0;
	const of = editor;
	if (!of) return;
	const design = JSON.stringify(of.getJSON());
	const { written, mailLanguage, liquid } = said;
	speak(mailLanguage, liquid);
	const { html: made } = await composeReactEmail({ editor: of });
	// The document may have been changed, or another one opened, in between.
	if (gone || of === editor) port.postMessage({ kind: 'changed', written, design, html: made });
}

addEventListener('pagehide', () => due && tell());
