// Images of the team: uploading one, choosing one, and what those of an email weigh.
import { html, signal, useEffect, useRef, useState } from './lib/core.js';
import { api, ApiError, request, useList } from './api.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { Bones, Button, Empty, Failed, Icon, Input } from './ui/base.js';
import { dialog, DialogBody, toast } from './ui/float.js';
import { Foot } from './ui/list.js';

/** The style of an image in a mail, not of this page. */
const mailStyle = 'style="max-width:100%;height:auto"';

/** The most bytes of an image, and of all images in one email, and of its HTML: Gmail cuts off what is longer. */
const most = 5 << 20;
const heavy = 1_000_000;
const long = 102 * 1024;

/** The width of the content of an email, in pixels. */
const wide = 552;

/** The media types that browsers offer for uploading. */
export const accepted = 'image/png,image/jpeg,image/gif,image/webp';

/** Images by address that this page knows of. @type {any} */
const seen = signal({});

/** @param {any[]} images */
function see(images) {
	seen.value = { ...seen.value, ...Object.fromEntries(images.flatMap((image) => image.sizes.filter(({ url }) => url).map((size) => [size.url, { ...image, bytes: size.bytes }]))) };
}

/** Uploads a file. Resolves to the image, or undefined after showing why not. @param {File} file @returns {Promise<any>} */
export async function upload(file) {
	if (file.size > most) {
		toast(t('images.tooLarge', { name: file.name, size: size(file.size) }), { kind: 'bad' });
		return undefined;
	}
	const form = new FormData();
	form.append('file', file, file.name);
	try {
		const image = await (await request('POST', '/images', { body: form })).json();
		see([image]);
		return image;
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		toast(t('images.refused', { name: file.name, message: e.message }), { kind: 'bad' });
		return undefined;
	}
}

/** An image as an email has it. @param {any} image */
export const embedded = ({ url, width, alt }) => ({ src: url, width: Math.min(width, wide), alt: alt ?? '' });

/** An image's content as a data URL: this page loads none of other hosts. @param {string} id @returns {Promise<string>} */
async function contentOf(id) {
	const blob = await (await request('GET', encoded`/images/${id}/content`)).blob();
	return new Promise((done, fail) => {
		const reader = new FileReader();
		reader.onload = () => done(String(reader.result));
		reader.onerror = () => fail(reader.error);
		reader.readAsDataURL(blob);
	});
}

/** Whether an address can be one of the library. @param {string} src */
const isOurs = (src) => /\/i\/[0-9a-f]{32}(-\d+)?\.(png|jpg|gif)$/.test(src);

/** The images of the library, read once. @type {Promise<void>|null} */
let reading = null;

/** Learns of the newest images of the library. */
const learn = () => (reading ??= api.get('/images', { limit: 100 }).then(({ data }) => see(data), (e) => {
	reading = null;
	if (!(e instanceof ApiError)) throw e;
}));

/** The library's image at an address. @param {string} src @returns {Promise<any>} */
async function imageAt(src) {
	if (!isOurs(src)) return undefined;
	if (!seen.value[src]) await learn();
	return seen.value[src];
}

/** What an image of the library looks like; undefined: nothing is known of it. @param {string} src @returns {Promise<string|undefined>} */
export async function lookAt(src) {
	const image = await imageAt(src);
	try {
		return image && (await contentOf(image.id));
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		return undefined;
	}
}

/** Gives an image of the library the alternative text that an email has, if it has none. @param {string} src @param {string} alt */
export async function describe(src, alt) {
	const image = await imageAt(src);
	if (!image || image.alt || !alt.trim()) return;
	try {
		see([await api.patch(encoded`/images/${image.id}`, { alt: alt.trim() })]);
	} catch (e) {
		if (!(e instanceof ApiError)) throw e; // it stays without
	}
}

/** @param {{of: any}} props */
export function Picture({ of }) {
	const box = useRef(/** @type {any} */ (null));
	const [shown, show] = useState('');
	useEffect(() => {
		let current = true;
		const eye = new IntersectionObserver(([entry]) => {
			if (!entry.isIntersecting) return;
			eye.disconnect();
			contentOf(of.id).then((data) => current && show(data), (e) => {
				if (!(e instanceof ApiError)) throw e;
			});
		});
		eye.observe(box.current);
		return () => {
			current = false;
			eye.disconnect();
		};
	}, [of.id]);
	return html`<span class="picture" ref=${box}>${shown && html`<img src=${shown} alt=${of.alt ?? ''} />`}</span>`;
}

/** A place to drop files at, and a button to choose some. @param {{take: (files: File[]) => any, busy: boolean, many?: boolean}} props */
export function DropImages({ take, busy, many = false }) {
	const input = useRef(/** @type {any} */ (null));
	const [over, setOver] = useState(false);
	return html`<div class=${`brand-drop image-drop ${over ? 'is-over' : ''}`} onDragOver=${(e) => {
		e.preventDefault();
		setOver(true);
	}} onDragLeave=${() => setOver(false)} onDrop=${(e) => {
		e.preventDefault();
		setOver(false);
		take([...e.dataTransfer.files]);
	}}><span class="muted t13r">${t('images.drop')}</span><${Button} icon="attach" busy=${busy} onClick=${() => input.current.click()}>${t('brand.choose')}<//><span class="muted t12">${t('images.limits')}</span>
	<input class="vh" type="file" tabindex="-1" multiple=${many} accept=${accepted} aria-label=${t('images.drop')} ref=${input} onChange=${(e) => {
		const files = [...e.currentTarget.files];
		e.currentTarget.value = '';
		take(files);
	}} /></div>`;
}

/** Chooses an image of the library, or uploads one. Resolves to it. @returns {Promise<any>} */
export const pickImage = () => dialog((close) => html`<${Pick} close=${close} />`);

function Pick({ close }) {
	const list = useList('/images', {}, { limit: 24 });
	const [busy, setBusy] = useState(false);
	const [chosen, choose] = useState(/** @type {any} */ (null));
	const [alt, setAlt] = useState('');
	const take = async ([file]) => {
		if (!file || busy) return;
		setBusy(true);
		const made = await upload(file);
		setBusy(false);
		if (!made) return;
		choose(made);
		setAlt(made.alt ?? '');
	};
	const done = async () => {
		if (!chosen) return;
		see([chosen]);
		await describe(chosen.url, alt);
		close({ ...chosen, alt });
	};
	const rows = [...(chosen && !list.rows.some((row) => row.id === chosen.id) ? [chosen] : []), ...list.rows];
	return html`<${DialogBody} title=${t('images.pick')} onSubmit=${done} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!chosen}>${t('images.use')}<//>`}>
		<${DropImages} take=${take} busy=${busy} />
		${list.error && !rows.length ? html`<${Failed} error=${list.error} retry=${list.reload} />` : list.loading ? html`<${Bones} rows=${3} />` : html`<div class="pictures" role="group" aria-label=${t('images.title')}>${rows.map((row) => html`<button type="button" key=${row.id} class="picture-pick" aria-pressed=${String(chosen?.id === row.id)} disabled=${!row.url} aria-label=${row.alt || t('images.noAlt')} onClick=${() => {
			choose(row);
			setAlt(row.alt ?? '');
		}}><${Picture} of=${row} /></button>`)}</div><${Foot} list=${list} />`}
		${chosen && html`<${Input} label=${t('visual.words.alt')} hint=${t('images.altHint')} value=${alt} onInput=${setAlt} maxlength="500" />`}<//>`;
}

const escapes = { '&': '&amp;', '<': '&lt;', '"': '&quot;' };

/** Puts images into HTML at the cursor. @param {any} editor @param {any[]} images */
function insert(editor, images) {
	for (const image of images) {
		const { src, width, alt } = embedded(image);
		editor?.insert(`<img src="${src}" alt="${alt.replace(/[&<"]/g, (character) => escapes[character])}" width="${width}" ${mailStyle}>`);
	}
}

/** Uploads files that were dropped into HTML or pasted, and puts them in. @param {any} editor @param {File[]} files */
export async function insertFiles(editor, files) {
	for (const file of files) {
		const made = await upload(file);
		if (made) insert(editor, [made]);
	}
}

/** The button that puts an image into HTML. @param {{editor: {current: any}}} props */
export const InsertImage = ({ editor }) => html`<${Button} kind="quiet" icon="image" label=${t('images.pick')} onClick=${async () => {
	const image = await pickImage();
	if (image) insert(editor.current, [image]);
}} />`;

/** What is too much in an email: long HTML, heavy images. @param {{value: any}} props */
export function Weight({ value }) {
	const source = value.html ?? '';
	const bytes = new Blob([source]).size;
	const used = [...new Set([...source.matchAll(/(?:src|background)="(https?:\/\/[^"]+)"/g)].map(([, src]) => src).filter(isOurs))];
	const known = used.map((src) => seen.value[src]);
	useEffect(() => {
		if (!known.every(Boolean)) learn();
	}, [used.join(' ')]);
	const weigh = known.reduce((sum, image) => sum + (image?.bytes ?? 0), 0);
	return html`${bytes > long && html`<div class="vars"><span class="warn row"><${Icon} name="alert" /><span>${t('images.longHTML', { size: size(bytes) })}</span></span></div>`}
	${weigh > heavy && html`<div class="vars"><span class="warn row"><${Icon} name="alert" /><span>${t('images.heavy', { size: size(weigh) })}</span></span></div>`}`;
}

/** The library when it is empty. */
export const NoImages = () => html`<${Empty} icon="image" title=${t('images.none')}>${t('images.noneText')}<//>`;
