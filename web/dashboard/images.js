// The team's image library: adding, describing and deleting images.
import { html, useState } from './lib/core.js';
import { api, useList } from './api.js';
import { size } from './format.js';
import { DropImages, NoImages, Picture, upload } from './image-library.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { TemplateSections } from './template-sections.js';
import { Bones, Copy, Failed, Head, Input, Time } from './ui/base.js';
import { form } from './ui/audience.js';
import { attempt, confirm, Menu, toast } from './ui/float.js';
import { Foot } from './ui/list.js';

/** The page. */
export default function Images() {
	const list = useList('/images');
	const [busy, setBusy] = useState(false);
	const take = async (files) => {
		if (busy) return;
		setBusy(true);
		for (const file of files) {
			const made = await upload(file);
			if (made && files.length === 1 && !made.alt) describe(made);
		}
		setBusy(false);
		list.reload();
	};
	const describe = async (row) => {
		const made = await form({
			title: t('images.describe'), start: { alt: row.alt ?? '' }, act: t('images.save'),
			fields: (values, set) => html`<${Input} label=${t('visual.words.alt')} hint=${t('images.altHint')} value=${values.alt} onInput=${(alt) => set({ alt })} maxlength="500" autofocus />`,
			send: ({ alt }) => api.patch(encoded`/images/${row.id}`, { alt: alt.trim() }),
		});
		if (!made) return;
		toast(t('images.described'));
		list.reload();
	};
	const remove = async (row) => {
		if (!(await confirm({ title: t('images.deleteTitle'), text: t(row.used_at ? 'images.deleteUsed' : 'images.deleteText'), act: t('images.delete') }))) return;
		await attempt(() => api.del(encoded`/images/${row.id}`, undefined, row.used_at ? { query: { force: true } } : {}), t('images.deleted'));
		list.reload();
	};
	return html`<${Head} title=${t('templates.title')} /><${TemplateSections} at="images" />
	<div class="page images-page"><${DropImages} take=${take} busy=${busy} many />
	${list.error && !list.rows.length ? html`<${Failed} error=${list.error} retry=${list.reload} />` : list.loading ? html`<${Bones} />` : !list.rows.length ? html`<${NoImages} />`
	: html`<ul class="gallery gallery--images">${list.rows.map((row) => html`<li key=${row.id}><${Picture} of=${row} /><div class="gallery-text"><span class=${row.alt ? 'cut medium' : 'cut warn'} title=${row.alt}>${row.alt ? html`<bdi>${row.alt}</bdi>` : t('images.noAlt')}</span><${Menu} kind="quiet" label=${t('images.actsOf', { name: row.alt || row.id.slice(0, 8) })} items=${[
		{ icon: 'edit', name: t('images.describe'), run: () => describe(row) },
		{ icon: 'trash', name: t('images.delete'), danger: true, run: () => remove(row) },
	]} /></div><div class="gallery-note"><span class="muted">${row.width} × ${row.height}, ${size(row.bytes)}</span><span class="muted">${row.used_at ? html`${t('images.used')} <${Time} at=${row.used_at} as="ago" />` : t('images.unused')}</span></div>${row.url && html`<div class="gallery-note"><${Copy} text=${row.url} /></div>`}</li>`)}</ul><${Foot} list=${list} />`}</div>`;
}
