// The visual editor beside the preview: its frame, and what is said to it. What comes back is
// a design and the HTML that was made of it; HTML by itself never goes in.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { ApiError, useGet } from './api.js';
import { kitOf } from './brand-colors.js';
import { find, language, t } from './i18n.js';
import { Bones, Failed } from './ui/base.js';
import { toast } from './ui/float.js';
import { builtIn } from './variables.js';

const address = new URL('./visual.html', import.meta.url).href;

/** Whether the page is dark, by the reader's choice or the system's. */
const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

/** The parts of a draft that can be written. @param {any} value */
export const parts = (value) => [...(value.design ? [['visual', t('visual.part')]] : []), ['html', 'HTML'], ['text', t('composer.text')]];

/** The part that is shown where one was chosen. @param {any} value @param {string|null} chosen */
export const partOf = (value, chosen) => (value.design ? chosen ?? 'visual' : chosen === 'text' ? 'text' : 'html');

/**
 * Writes HTML by hand. Where a design made what stood there, it is dropped, since it says
 * something else now.
 * @param {any} draft @param {string} now @param {() => void} back is called when that is undone
 */
export function byHand(draft, now, back) {
	const { design, html: was } = draft.value;
	if (!design || now === was) {
		draft.change({ html: now });
		return;
	}
	draft.change({ html: now, design: null });
	toast(t('visual.dropped'), { kind: 'info', undo: () => {
		draft.change({ html: was, design });
		back();
	} });
}

/** What is said below HTML that a design made. @param {{value: any}} props */
export const Warning = ({ value }) => (value.design ? html`<div class="vars"><span>${t('visual.warning')}</span></div>` : null);

/** @param {{draft: any, known: {name: string}[], unsubscribe?: boolean}} props unsubscribe: the mail can hold the link that unsubscribes. */
export function Visual({ draft, known, unsubscribe = false }) {
	const frame = useRef(/** @type {any} */ (null));
	const port = useRef(/** @type {any} */ (null));
	const last = useRef(/** @type {any} */ ({}));
	const [ready, setReady] = useState(false);
	const [failed, fail] = useState(/** @type {any} */ (null));
	const brand = useGet('/team/brand');
	last.current = { draft, known, brand: brand.data };
	// A broadcast knows its contact, a template what its sends bring.
	const offered = (name) => (unsubscribe ? name.startsWith('contact.') : !builtIn.includes(name));
	const about = () => ({ known: last.current.known.filter(({ name }) => offered(name)), dark: isDark() });
	const begin = () => {
		const { value } = last.current.draft;
		port.current?.postMessage({ kind: 'open', ...about(), design: value.design, fresh: !value.html?.includes('role="presentation"'), kit: kitOf(last.current.brand), words: find('visual.words'), language: language.value, unsubscribe });
	};
	const hear = ({ data }) => {
		const { draft: now } = last.current;
		if (data.kind === 'ready') setReady(true);
		if (data.kind === 'changed' && now.value.design && (data.design !== now.value.design || data.html !== now.value.html)) now.change({ design: data.design, html: data.html });
		if (data.kind === 'save') now.save();
		if (data.kind === 'failed') fail(new ApiError(0, { message: t('visual.failedText') }, ''));
	};
	const connect = () => {
		const channel = new MessageChannel();
		port.current = channel.port1;
		channel.port1.onmessage = hear;
		// The frame has no origin that could be named here; it looks at ours.
		frame.current.contentWindow.postMessage('begin', '*', [channel.port2]);
	};
	useEffect(() => () => port.current?.close(), []);
	const there = ready && Boolean(brand.data);
	useEffect(() => {
		if (there) begin();
	}, [draft.stamp, there, JSON.stringify(brand.data)]);
	useEffect(() => {
		const tell = () => port.current?.postMessage({ kind: 'know', ...about() });
		if (there) tell();
		const system = matchMedia('(prefers-color-scheme: dark)');
		system.addEventListener('change', tell);
		const eye = new MutationObserver(tell);
		eye.observe(document.documentElement, { attributeFilter: ['data-theme'] });
		return () => {
			system.removeEventListener('change', tell);
			eye.disconnect();
		};
	}, [known, there]);
	if (brand.error && !brand.data) return html`<${Failed} error=${brand.error} retry=${brand.reload} />`;
	if (failed) return html`<${Failed} title=${t('visual.failed')} error=${failed} retry=${() => location.reload()} />`;
	return html`${!there && html`<${Bones} rows=${12} />`}<iframe class="visual-frame" hidden=${!there} ref=${frame} src=${address} sandbox="allow-scripts" title=${t('visual.title')} onLoad=${connect}></iframe>`;
}
