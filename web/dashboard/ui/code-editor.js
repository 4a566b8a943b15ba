// The code editor for HTML or text with variables, in a shadow root, loaded on demand. Its
// output equals its input but for what was typed.
import { html, useEffect, useRef, useState } from '../lib/core.js';
import { t, find } from '../i18n.js';
import { ApiError } from '../api.js';
import { Bones, Button, Failed, Icon } from './base.js';

/**
 * @param {{text: string, stamp?: any, kind?: 'html'|'text', label: string, known?: {name: string, detail?: string}[], findings?: (text: string) => any[],
 * refused?: any, completions?: {name: string, detail?: string}[], onChange: (text: string) => void, onImages?: (files: File[]) => void, handle?: {current: any}}} props
 * text is taken in when stamp changes; known are the names that {{{ completes, completions those
 * in Liquid; findings are {from, to, message} by text; refused is what the server said of it:
 * {message, place}; onImages gets image files that are dropped or pasted; handle gets the editor:
 * {read, write, replace, insert, goTo, focus}.
 */
export function CodeEditor({ text, stamp, kind = 'html', label, known = [], completions = [], findings = () => [], refused = null, onChange, onImages, handle }) {
	const host = useRef(/** @type {any} */ (null));
	const editor = useRef(/** @type {any} */ (null));
	const last = useRef(/** @type {any} */ ({}));
	last.current = { known, completions, findings, refused, onChange };
	const [failed, fail] = useState(/** @type {any} */ (null));
	const [ready, setReady] = useState(false);
	useEffect(() => {
		let gone = false;
		import('./editor-setup.js').then(({ mount }) => {
			if (gone) return;
			editor.current = mount(host.current, {
				text, kind, label, description: t('editor.leave'), phrases: find('editor.phrases') ?? {},
				known: () => last.current.known, findings: (now) => last.current.findings(now), refused: () => last.current.refused, completions: () => last.current.completions,
				changed: (read) => last.current.onChange(read()),
			});
			if (handle) handle.current = editor.current;
			setReady(true);
		}).catch((error) => gone || fail(error));
		return () => {
			gone = true;
			editor.current?.end();
			editor.current = null;
			if (handle) handle.current = null;
		};
	}, [kind]);
	useEffect(() => {
		editor.current?.write(text);
	}, [stamp]);
	useEffect(() => {
		editor.current?.look();
	}, [known, findings, refused]);
	if (failed) return html`<${Failed} title=${t('editor.failed')} error=${new ApiError(0, { message: t('editor.failedText') }, '')} retry=${() => location.reload()} />`;
	const take = (e, data) => {
		const files = [...(data?.files ?? [])].filter(({ type }) => type.startsWith('image/'));
		if (!onImages || !files.length || data.getData('text/plain')) return;
		e.preventDefault();
		e.stopPropagation();
		onImages(files);
	};
	return html`${!ready && html`<${Bones} rows=${12} />`}<div class="cm-editor code-host" ref=${host} hidden=${!ready} onDropCapture=${(e) => take(e, e.dataTransfer)} onPasteCapture=${(e) => take(e, e.clipboardData)}></div>`;
}

/**
 * What the server said of a text, and the way to the place. here: the text is the one in the editor; show opens the part that has it.
 * @param {{of: any, editor: {current: any}, here: boolean, show?: () => void}} props
 */
export const Refusal = ({ of, editor, here, show }) => html`<div class="vars" role="alert"><span class="bad row"><${Icon} name="alert" /><span>${of.message}</span></span>${of.place && (here
	? html`<${Button} class="push" onClick=${() => editor.current?.goTo(of.place.line, of.place.column)}>${t('editor.goTo', { line: of.place.line })}<//>`
	: show && html`<${Button} class="push" onClick=${show}>${t('editor.show')}<//>`)}</div>`;
