// The visual editor beside the preview: its frame, and what is said to it. What comes back is
// a design and the HTML that was made of it; HTML by itself never goes in.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { ApiError, useGet, useList } from './api.js';
import { saveBlock } from './blocks.js';
import { kitOf } from './brand-colors.js';
import { find, language, t } from './i18n.js';
import { describe, embedded, lookAt, pickImage, upload } from './image-library.js';
import { Bones, Failed } from './ui/base.js';
import { toast } from './ui/float.js';
import { builtIn } from './variables.js';

const address = new URL('./visual.html', import.meta.url).href;

/** Whether the page is dark, by the reader's choice or the system's. */
const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

/** Whether a design is the source of an email in MJML. @param {string|null} design */
export const isMJML = (design) => Boolean(design?.startsWith('{"type":"mjml"'));

/** The parts of a draft that can be written. @param {any} value */
export const parts = (value) => [...(value.design ? [['visual', isMJML(value.design) ? 'MJML' : t('visual.part')]] : []), ['html', 'HTML'], ['text', t('composer.text')]];

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

/**
 * The frame with the editor: a document of its own. hear gets its messages, and begins the port's
 * work at "ready". @param {{port: {current: any}, hear: (data: any) => void, hidden: boolean, title?: string}} props
 */
export function Frame({ port, hear, hidden, title = t('visual.title') }) {
	const frame = useRef(/** @type {any} */ (null));
	const last = useRef(/** @type {any} */ (null));
	last.current = hear;
	const connect = () => {
		const channel = new MessageChannel();
		port.current = channel.port1;
		channel.port1.onmessage = ({ data }) => last.current(data);
		// The frame has no origin that could be named here; it looks at ours.
		frame.current.contentWindow.postMessage('begin', '*', [channel.port2]);
	};
	useEffect(() => () => port.current?.close(), []);
	return html`<iframe class="visual-frame" hidden=${hidden} ref=${frame} src=${address} sandbox="allow-scripts" title=${title} onLoad=${connect}></iframe>`;
}

/**
 * @param {{draft: any, known: {name: string, type: string}[], unsubscribe?: boolean}} props draft in one language; unsubscribe: the
 * mail can hold the link that unsubscribes.
 */
export function Visual({ draft, known, unsubscribe = false }) {
	const port = useRef(/** @type {any} */ (null));
	const last = useRef(/** @type {any} */ ({}));
	const [ready, setReady] = useState(false);
	const [failed, fail] = useState(/** @type {any} */ (null));
	const brand = useGet('/team/brand');
	const liquid = draft.value.syntax === 'liquid';
	const saved = useList(liquid ? '/blocks' : null, {}, { limit: 100 }).rows;
	last.current = { draft, known, brand: brand.data, saved };
	// A broadcast knows its contact, a template what its sends bring.
	const offered = (name) => (unsubscribe ? name.startsWith('contact.') : !builtIn.includes(name));
	const about = () => ({ known: last.current.known.filter(({ name }) => offered(name)), saved: last.current.saved.map(({ name }) => name), dark: isDark() });
	const say = (message) => port.current?.postMessage(message);
	const begin = () => {
		const { value, language: written } = last.current.draft;
		say({
			kind: 'open', ...about(), written, design: value.design, fresh: !value.html?.includes('role="presentation"'), kit: kitOf(last.current.brand),
			words: { ...find('visual.words'), ops: find('conditions.ops'), types: find('visual.types') }, language: language.value, mailLanguage: written || language.value, unsubscribe, liquid,
		});
	};
	const hear = (data) => {
		const { draft: now } = last.current;
		if (data.kind === 'ready') setReady(true);
		if (data.kind === 'changed') {
			const of = now.within(data.written);
			if (of.value.design && (data.design !== of.value.design || data.html !== of.value.html)) of.change({ design: data.design, html: data.html });
		}
		if (data.kind === 'save') now.save();
		if (data.kind === 'failed') fail(new ApiError(0, { message: t('visual.failedText') }, ''));
		if (data.kind === 'upload') upload(data.file).then((image) => say({ kind: 'uploaded', id: data.id, image: image && embedded(image) }));
		if (data.kind === 'saveBlock') saveBlock(data.html).then((made) => made && say({ kind: 'blockSaved', from: data.from, to: data.to, name: made.name }));
		if (data.kind === 'pick') pickImage().then((image) => image && say({ kind: 'picked', at: data.at, image: embedded(image) }));
		if (data.kind === 'described') describe(data.src, data.alt);
		if (data.kind === 'look') lookAt(data.src).then((shown) => shown && say({ kind: 'shown', src: data.src, shown }));
	};
	const there = ready && Boolean(brand.data);
	useEffect(() => {
		if (there) begin();
	}, [draft.stamp, draft.language, liquid, there, JSON.stringify(brand.data)]);
	useEffect(() => {
		const tell = () => say({ kind: 'know', ...about() });
		if (there) tell();
		const system = matchMedia('(prefers-color-scheme: dark)');
		system.addEventListener('change', tell);
		const eye = new MutationObserver(tell);
		eye.observe(document.documentElement, { attributeFilter: ['data-theme'] });
		return () => {
			system.removeEventListener('change', tell);
			eye.disconnect();
		};
	}, [known, saved, there]);
	if (brand.error && !brand.data) return html`<${Failed} error=${brand.error} retry=${brand.reload} />`;
	if (failed) return html`<${Failed} title=${t('visual.failed')} error=${failed} retry=${() => location.reload()} />`;
	return html`${!there && html`<${Bones} rows=${12} />`}<${Frame} port=${port} hear=${hear} hidden=${!there} />`;
}
