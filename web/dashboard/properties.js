// The properties of contacts, and their fallbacks.
import { html } from './lib/core.js';
import { api, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { Button, Empty, Head, Id, Input, Select, Time } from './ui/base.js';
import { AudienceSections, form, useCount } from './ui/audience.js';
import { attempt, Menu, toast } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

/** The page. */
export default function Properties() {
	const list = useList('/contact-properties');
	const add = html`<${Button} kind="primary" icon="plus" onClick=${() => addProperty(list.reload)}>${t('properties.add')}<//>`;
	return html`<${Head} title=${t('properties.title')}><${Csv} path="/contact-properties" name="properties" />${list.rows.length > 0 && add}<//>
	<${AudienceSections} at="properties" />
	<${Table} list=${list} label=${t('properties.title')} empty=${html`<${Empty} ghost=${[[html`<span class="mono">city</span>`, t('properties.string'), 'Bergen'], [html`<span class="mono">orders</span>`, t('properties.number'), '12']]} icon="code" title=${t('properties.empty')} act=${add}>${t('properties.emptyText')}<//>`} columns=${[
		{ name: t('properties.key'), class: 'cell-name cell-cut', cell: (row) => html`<button type="button" class="link-plain mono" title=${row.key} onClick=${() => showProperty(row, list.reload)}>${row.key}</button><span class="cell-sub">${t(`properties.${row.type}`)}${row.fallback_value !== null && ` · ${row.fallback_value}`}</span>` },
		{ name: t('properties.type'), class: 'w-status hide-s', cell: (row) => t(`properties.${row.type}`) },
		{ name: t('properties.fallback'), class: 'cell-cut hide-s', cell: (row) => (row.fallback_value === null ? html`<span class="muted">${t('ui.none')}</span>` : html`<bdi>${String(row.fallback_value)}</bdi>`) },
		{ name: t('properties.madeAt'), class: 'w-age num muted drop-1', cell: (row) => html`<${Time} at=${row.created_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'w-act num', cell: (row) => html`<${Menu} kind="quiet" label=${t('properties.actsOf', { key: row.key })} items=${[
			{ icon: 'edit', name: t('properties.edit'), run: () => showProperty(row, list.reload) },
			null,
			{ icon: 'trash', name: t('properties.delete'), danger: true, run: () => removeProperty(row, list.reload) },
		]} />` },
	]} />`;
}

/** A fallback as it was typed. @param {string} type @param {string} text */
const typed = (type, text) => (text === '' ? null : type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text);

const fallback = (v, set, type) => html`<${Input} label=${t('properties.fallback')} value=${v.fallback} inputmode=${type === 'number' ? 'decimal' : undefined} onInput=${(text) => set({ fallback: text })} hint=${t('properties.fallbackHint')} />`;

async function addProperty(done) {
	const made = await form({
		title: t('properties.add'), act: t('properties.add'), start: { key: '', type: 'string', fallback: '' },
		fields: (v, set) => html`<${Input} label=${t('properties.key')} mono required autofocus autocomplete="off" spellcheck="false" value=${v.key} onInput=${(key) => set({ key })} hint=${t('properties.keyHint', { key: v.key || 'city' })} />
			<${Select} label=${t('properties.type')} value=${v.type} options=${['string', 'number'].map((type) => [type, t(`properties.${type}`)])} onChange=${(type) => set({ type })} hint=${t('properties.typeHint')} />${fallback(v, set, v.type)}`,
		send: (v) => api.post('/contact-properties', { key: v.key.trim(), type: v.type, fallback_value: typed(v.type, v.fallback) ?? undefined }),
	});
	if (!made) return;
	toast(t('properties.added'));
	done();
}

async function showProperty(row, done) {
	const saved = await form({
		title: html`<span class="mono">${row.key}</span>`, act: t('ui.save'), start: { fallback: row.fallback_value === null ? '' : String(row.fallback_value) },
		fields: (v, set) => html`${fallback(v, set, row.type)}<${Used} of=${row} />`,
		send: (v) => api.patch(encoded`/contact-properties/${row.id}`, { fallback_value: typed(row.type, v.fallback) }),
	});
	if (saved) done();
}

/** How many contacts have a value. @param {{of: any}} props */
function Used({ of }) {
	const found = useCount({ filter: { match: 'all', conditions: [{ field: `property:${of.key}`, op: 'is_set' }] } });
	return html`<dl class="kv"><dt>${t('properties.type')}</dt><dd>${t(`properties.${of.type}`)}</dd><dt>${t('properties.used')}</dt><dd>${found ? t('properties.usedBy', { n: found.count }) : '–'}</dd><dt>${t('contact.id')}</dt><dd><${Id} of=${of.id} /></dd></dl>`;
}

/** Contacts keep their values, so that the declaration can be made again. */
async function removeProperty(row, done) {
	if (!(await attempt(() => api.del(encoded`/contact-properties/${row.id}`)))) return;
	await done();
	toast(t('properties.deleted', { key: row.key }), { undo: async () => {
		await attempt(() => api.post('/contact-properties', { key: row.key, type: row.type, fallback_value: row.fallback_value ?? undefined }));
		await done();
	} });
}
