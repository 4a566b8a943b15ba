// Images in the visual editor. The frame has no network: the page around it uploads files, and says
// what images of the library look like.
import { Anchor, closeHistory, EmailNode, Img, jsx } from './lib/visual.js';

/** What images look like by address: a data URL; empty: asked for. @type {Map<string, string>} */
const looks = new Map();

/** The views that are shown. @type {Set<() => void>} */
const views = new Set();

/** @param {string} src @param {string} data */
export function show(src, data) {
	looks.set(src, data);
	views.forEach((paint) => paint());
}

/** The box of an image in the document. @param {any} attrs @param {any} words @param {(src: string) => void} ask */
function box(attrs, words, ask) {
	const { src, alt } = attrs;
	if (/\/i\/[^/]+$/.test(src) && !looks.has(src)) {
		looks.set(src, '');
		ask(src);
	}
	const span = (text, className) => Object.assign(document.createElement('span'), { textContent: text, className });
	const shown = looks.get(src);
	if (shown) {
		const image = Object.assign(document.createElement('img'), { src: shown, alt });
		if (attrs.width) image.width = Number(attrs.width);
		return [image, ...(alt ? [] : [span(words.altNone, 'visual-note')])];
	}
	return src ? [span(alt || words.altNone, 'medium'), span(src, 'cut')] : [span(words.imageNone, 'medium')];
}

/** An image by its address. @param {any} words @param {(src: string) => void} ask is called for images that nothing is known of */
export const imageOf = (words, ask) => EmailNode.create({
	name: 'image', group: 'block', atom: true, draggable: true,
	addAttributes: () => Object.fromEntries(Object.entries({ src: '', alt: '', width: null, alignment: 'left', href: null }).map(([name, value]) => [name, { default: value, rendered: false }])),
	parseHTML: () => [{ tag: 'div[data-image]', getAttrs: (element) => JSON.parse(element.dataset.image || '{}') }, { tag: 'img[src^="https://"]', getAttrs: (element) => ({ src: element.getAttribute('src'), alt: element.getAttribute('alt') ?? '' }) }],
	renderHTML: ({ node }) => ['div', { 'data-image': JSON.stringify(node.attrs) }, node.attrs.alt],
	addNodeView: () => ({ node }) => {
		const dom = document.createElement('div');
		let now = node;
		const paint = () => {
			dom.className = `visual-image ${looks.get(now.attrs.src) ? 'visual-image--shown' : ''} align-${now.attrs.alignment}`;
			dom.replaceChildren(...box(now.attrs, words, ask));
		};
		views.add(paint);
		paint();
		return {
			dom,
			update: (next) => {
				if (next.type !== now.type) return false;
				now = next;
				paint();
				return true;
			},
			destroy: () => views.delete(paint),
		};
	},
	renderToReactEmail: ({ node, style }) => {
		const { src, alt, width, alignment, href } = node.attrs;
		if (!src) return null;
		const margin = { center: '0 auto', right: '0 0 0 auto' }[alignment];
		const image = jsx(Img, { src, alt: alt ?? '', width: width ?? undefined, style: { ...style, maxWidth: '100%', ...(margin ? { margin } : {}) } });
		return href ? jsx(Anchor, { href, children: image }) : image;
	},
});

/** Files that are being uploaded, and where their images go. @type {{id: number, at: number, name: string}[]} */
let waiting = [];
let count = 0;

/** The names of the files that are being uploaded. */
export const uploading = () => waiting.map(({ name }) => name);

/** Forgets files that belong to another document. */
export function forget() {
	waiting = [];
}

/** Keeps the positions of files that are being uploaded while the document changes. @param {any} transaction */
export function follow(transaction) {
	for (const one of waiting) one.at = transaction.mapping.map(one.at);
}

/** The images among files. @param {DataTransfer|null} data @returns {File[]} */
const imagesIn = (data) => [...(data?.files ?? [])].filter(({ type }) => type.startsWith('image/'));

/**
 * What the editor does with files that are pasted or dropped.
 * @param {(message: any) => void} tell
 */
export function taking(tell) {
	const take = (files, at) => {
		for (const file of files) {
			waiting.push({ id: ++count, at, name: file.name });
			tell({ kind: 'upload', id: count, file });
		}
		return files.length > 0;
	};
	return {
		// Text with a picture, as word processors have it, is pasted as text.
		handlePaste: (view, e) => !e.clipboardData?.getData('text/plain') && take(imagesIn(e.clipboardData), view.state.selection.to),
		handleDrop: (view, e) => {
			const files = imagesIn(e.dataTransfer);
			if (files.length) e.preventDefault();
			return take(files, view.posAtCoords({ left: e.clientX, top: e.clientY })?.pos ?? view.state.selection.to);
		},
	};
}

/** Puts an image that was uploaded where its file was put; nothing if it was refused. @param {any} editor @param {number} id @param {any} image */
export function arrived(editor, id, image) {
	const one = waiting.find((of) => of.id === id);
	waiting = waiting.filter((of) => of !== one);
	if (!one || !image) return;
	const $at = editor.state.doc.resolve(Math.min(one.at, editor.state.doc.content.size));
	const at = $at.parent.isTextblock ? $at.after() : $at.pos;
	editor.view.dispatch(closeHistory(editor.state.tr));
	editor.chain().insertContentAt(at, { type: 'image', attrs: image }, { updateSelection: false }).setNodeSelection(at).run();
	editor.view.dispatch(closeHistory(editor.state.tr));
}
