// The attachments of a draft: each file is stored when it is added.
import { html, useRef, useState } from './lib/core.js';
import { api } from './api.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { Button, Icon } from './ui/base.js';
import { attempt } from './ui/float.js';

/** The content of a file as the API takes it. @param {File} file @returns {Promise<{filename: string, content: string}>} */
const read = (file) => new Promise((done, fail) => {
	const reader = new FileReader();
	reader.onload = () => done({ filename: file.name, content: String(reader.result).split(',')[1] ?? '' });
	reader.onerror = () => fail(reader.error);
	reader.readAsDataURL(file);
});

/** The files, with buttons to add and to remove some. @param {{draft: any}} props */
export function Files({ draft }) {
	const input = useRef(/** @type {any} */ (null));
	const [busy, setBusy] = useState(false);
	const files = draft.value.attachments;
	const set = async (kept, added = []) => {
		setBusy(true);
		await attempt(async () => {
			if (!(await draft.save())) return;
			await api.patch(draft.path, { attachments: [...kept.map((file) => ({ id: file.id })), ...(await Promise.all(added.map(read)))] });
			await draft.settle(true);
		});
		setBusy(false);
	};
	return html`<span class="row row--wrap">${files.map((file) => html`<span key=${file.id} class="row"><${Icon} name="attach" /><bdi class="break">${file.filename}</bdi> <span class="muted">${size(file.size)}</span><${Button} kind="quiet" icon="x" label=${t('template.remove', { key: file.filename })} disabled=${busy} onClick=${() => set(files.filter((other) => other !== file))} /></span>`)}
	<${Button} icon="attach" busy=${busy} onClick=${() => input.current.click()}>${t('brand.choose')}<//>
	<input class="vh" type="file" tabindex="-1" multiple aria-label=${t('email.tabs.attachments')} ref=${input} onChange=${(e) => {
		const added = [...e.currentTarget.files];
		e.currentTarget.value = '';
		if (added.length) set(files, added);
	}} /></span>`;
}
