// An email written in MJML: its source in the code editor, and the HTML that the editor's frame makes of it.
import { html, useEffect, useMemo, useRef, useState } from './lib/core.js';
import { t } from './i18n.js';
import { mjmlDesign } from './starters.js';
import { Button, Icon } from './ui/base.js';
import { CodeEditor } from './ui/code-editor.js';
import { Frame } from './visual.js';

/** How long after a change the HTML is made, in ms. */
const pause = 400;

/** Whether a text is MJML. @param {string} text */
export const looksLikeMJML = (text) => /^\s*<mjml[\s>]/i.test(text);

/** The places of the compiler's errors. @param {any[]} errors @param {string} text */
function placed(errors, text) {
	const lines = text.split('\n');
	return errors.map(({ line, message }) => {
		const at = Math.min(Math.max(1, line ?? 1), lines.length);
		const from = lines.slice(0, at - 1).reduce((sum, one) => sum + one.length + 1, 0);
		return { from, to: from + lines[at - 1].length, line: at, message: t('mjml.error', { line: at, message }) };
	});
}

/** @param {{draft: any, completions: {name: string}[], known: {name: string}[]}} props draft in one language */
export function MJML({ draft, completions, known }) {
	const { value } = draft;
	const { source } = JSON.parse(value.design);
	const port = useRef(/** @type {any} */ (null));
	const editor = useRef(/** @type {any} */ (null));
	const input = useRef(/** @type {any} */ (null));
	const timer = useRef(0);
	const last = useRef(/** @type {any} */ ({}));
	last.current = draft;
	const [wrong, say] = useState(/** @type {any} */ ({ of: '', errors: [] }));
	const make = (text) => port.current?.postMessage({ kind: 'mjml', source: text, written: last.current.language });
	const hear = (data) => {
		// HTML that was never made of the source is made once.
		if (data.kind === 'ready' && !/class="[^"]*mj-(column|outlook)/.test(last.current.value.html ?? '')) make(source);
		if (data.kind !== 'mjml') return;
		say({ of: data.source, errors: data.errors });
		if (data.html) last.current.within(data.written).change({ design: mjmlDesign(data.source), html: data.html });
	};
	const change = (text) => {
		last.current.change({ design: mjmlDesign(text) });
		clearTimeout(timer.current);
		timer.current = window.setTimeout(() => make(text), pause);
	};
	useEffect(() => () => clearTimeout(timer.current), []);
	const find = useMemo(() => (text) => (text === wrong.of ? placed(wrong.errors, text) : []), [wrong]);
	const found = find(source);
	return html`<${CodeEditor} key=${draft.language} kind="html" text=${source} stamp=${`${draft.stamp} ${draft.language}`} label="MJML" known=${known} completions=${completions} findings=${find} handle=${editor} onChange=${change} />
	<div class="vars"><span class="grow">${found.length ? html`<span class="bad row"><${Icon} name="alert" /><span>${found[0].message}</span></span>` : t('mjml.text')}</span>
		${found.length > 0 && html`<${Button} onClick=${() => editor.current?.goTo(found[0].line, 1)}>${t('editor.goTo', { line: found[0].line })}<//>`}
		<${Button} icon="attach" onClick=${() => input.current.click()}>${t('mjml.upload')}<//>
		<input class="vh" type="file" tabindex="-1" accept=".mjml,text/plain" aria-label=${t('mjml.upload')} ref=${input} onChange=${async (e) => {
			const [file] = e.currentTarget.files;
			e.currentTarget.value = '';
			if (!file) return;
			const text = await file.text();
			editor.current?.write(text);
			change(text);
		}} /></div>
	<div hidden><${Frame} port=${port} hear=${hear} hidden title="MJML" /></div>`;
}
