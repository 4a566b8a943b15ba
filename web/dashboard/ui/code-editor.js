// The code editor for HTML or text with variables, in a shadow root, loaded on demand. Its
// output equals its input but for what was typed.
import { html, useEffect, useRef, useState } from '../lib/core.js';
import { t, find } from '../i18n.js';
import { ApiError } from '../api.js';
import { Bones, Failed } from './base.js';

/**
 * @param {{text: string, stamp?: any, kind?: 'html'|'text', label: string, known?: {name: string, detail?: string}[], findings?: (text: string) => any[],
 * onChange: (text: string) => void, onFindings?: (findings: any[]) => void, handle?: {current: any}}} props
 * text is taken in when stamp changes; known are the names that {{{ completes; findings are
 * {from, to, message} by text; handle gets the editor: {read, write, replace, focus}.
 */
export function CodeEditor({ text, stamp, kind = 'html', label, known = [], findings = () => [], onChange, handle }) {
	const host = useRef(/** @type {any} */ (null));
	const editor = useRef(/** @type {any} */ (null));
	const last = useRef(/** @type {any} */ ({}));
	last.current = { known, findings, onChange };
	const [failed, fail] = useState(/** @type {any} */ (null));
	const [ready, setReady] = useState(false);
	useEffect(() => {
		let gone = false;
		import('./editor-setup.js').then(({ mount }) => {
			if (gone) return;
			editor.current = mount(host.current, {
				text, kind, label, description: t('editor.leave'), phrases: find('editor.phrases') ?? {},
				known: () => last.current.known, findings: (now) => last.current.findings(now),
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
	}, [known, findings]);
	if (failed) return html`<${Failed} title=${t('editor.failed')} error=${new ApiError(0, { message: t('editor.failedText') }, '')} retry=${() => location.reload()} />`;
	return html`${!ready && html`<${Bones} rows=${12} />`}<div class="cm-editor code-host" ref=${host} hidden=${!ready}></div>`;
}
