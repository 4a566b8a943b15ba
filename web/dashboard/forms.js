// Sign-up forms: people become contacts by their own choice.
import { html } from './lib/core.js';
import { api, useList } from './api.js';
import { number, percent, sender } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go, href } from './router.js';
import { membership } from './state.js';
import { Button, Empty, Head, Input, Time } from './ui/base.js';
import { AudienceSections, form, Ticks } from './ui/audience.js';
import { attempt, confirm, Menu } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

const pageOf = (row) => base + encoded`/forms/${row.id}`;

/** Confirmed opt-ins of those that were asked for. @param {any} row */
export const rateOf = (row) => (row.requested ? percent(row.confirmed / row.requested, 0) : '–');

/** Deletes a form, after asking. Resolves to whether it was deleted. @param {any} row */
export async function removeForm(row) {
	if (!(await confirm({ title: t('forms.deleteTitle', { name: row.name }), text: t('forms.deleteText'), act: t('forms.delete') }))) return false;
	return (await attempt(() => api.del(encoded`/forms/${row.id}`), t('forms.deleted', { name: row.name }))) !== undefined;
}

/** Asks for what a new form needs, and opens its page. @param {any[]} topics @param {any[]} domains */
async function create(topics, domains) {
	const verified = domains.find((d) => d.status === 'verified')?.name;
	const made = await form({
		title: t('forms.new'), act: t('forms.create'),
		start: { name: '', from: verified ? sender(membership.value?.name ?? '', `news@${verified}`) : '', topics: topics.filter((topic) => topic.visibility === 'public').slice(0, 1).map((topic) => topic.id) },
		fields: (v, set) => html`<${Input} label=${t('forms.name')} hint=${t('forms.nameHint')} required maxlength="100" autofocus value=${v.name} onInput=${(name) => set({ name })} />
			<${Input} label=${t('forms.from')} hint=${verified ? t('forms.fromHint') : t('forms.noDomain')} required value=${v.from} onInput=${(from) => set({ from })} />
			<${Ticks} title=${t('topics.title')} options=${topics.map((topic) => [topic.id, topic.name])} value=${v.topics} onChange=${(ids) => set({ topics: ids })} />`,
		send: (v) => api.post('/forms', { name: v.name.trim(), from: v.from.trim(), topics: v.topics.map((/** @type {string} */ id) => ({ id, preselected: v.topics.length === 1 })) }),
	});
	if (made) go(encoded`/forms/${made.id}`);
}

/** The page. */
export default function Forms() {
	const list = useList('/forms');
	const topics = useList('/topics', {}, { limit: 20 }).rows;
	const domains = useList('/domains', {}, { limit: 100 }).rows;
	const remove = async (row) => {
		if (await removeForm(row)) list.reload();
	};
	const add = html`<${Button} kind="primary" icon="plus" onClick=${() => create(topics, domains)}>${t('forms.new')}<//>`;
	return html`<${Head} title=${t('forms.title')}><${Csv} path="/forms" name="forms" /><${Button} href=${href('/opt-ins')}>${t('optIns.title')}<//>${list.rows.length > 0 && add}<//>
	<${AudienceSections} at="forms" />
	<${Table} list=${list} label=${t('forms.title')} open=${pageOf} empty=${html`<${Empty} ghost=${[['Newsletter', number(412), number(318)], ['Events', number(58), number(49)]]} icon="form" title=${t('forms.none')} act=${add}>${t('forms.noneText')}<//>`} columns=${[
		{ name: t('forms.name'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${pageOf(row)} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub">${t('forms.line', { requested: row.requested, confirmed: row.confirmed })}</span>` },
		{ name: t('forms.confirm'), class: 'w-part cell-cut drop-1', cell: (row) => t(`forms.confirm_${row.confirm}`) },
		{ name: t('forms.requested'), class: 'w-count num hide-s', cell: (row) => number(row.requested) },
		{ name: t('forms.confirmed'), class: 'w-rate num hide-s', cell: (row) => html`${number(row.confirmed)} <span class="muted">${row.requested > 0 && rateOf(row)}</span>` },
		{ name: t('forms.changed'), class: 'w-age num muted drop-2', cell: (row) => html`<${Time} at=${row.updated_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'cell-acts w-acts', cell: (row) => html`<${Menu} kind="quiet" label=${t('forms.actsOf', { name: row.name })} items=${[
			{ icon: 'edit', name: t('ui.edit'), href: `${pageOf(row)}?tab=settings` },
			row.url && { icon: 'external', name: t('forms.open'), href: row.url },
			null,
			{ icon: 'trash', name: t('forms.delete'), danger: true, run: () => remove(row) },
		]} />` },
	]} />`;
}
