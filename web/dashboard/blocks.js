// Saved blocks: parts of emails that are written once and used in many.
import { html } from './lib/core.js';
import { api, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { TemplateSections } from './template-sections.js';
import { Button, Copy, Empty, Head, Input, Time } from './ui/base.js';
import { form } from './ui/audience.js';
import { attempt, confirm, Menu } from './ui/float.js';
import { Table } from './ui/list.js';
import { blockTag } from './liquid.js';

const pageOf = (row) => base + encoded`/blocks/${row.id}`;

/** Deletes a block, after asking. Resolves to whether it went. @param {any} row */
export async function removeBlock(row) {
	if (!(await confirm({ title: t('blocks.deleteTitle', { name: row.name }), text: t('blocks.deleteText'), act: t('blocks.delete') }))) return false;
	return (await attempt(() => api.del(encoded`/blocks/${row.id}`), t('blocks.deleted', { name: row.name }))) !== undefined;
}

/** Asks for the name of a new block. @param {string} content @returns {Promise<any>} the block */
export const saveBlock = (content) => form({
	title: t('blocks.new'), start: { name: '' }, act: t('blocks.create'),
	fields: (values, set) => html`<${Input} label=${t('blocks.name')} hint=${t('blocks.nameHint')} value=${values.name} onInput=${(name) => set({ name })} maxlength="100" autofocus />`,
	send: ({ name }) => api.post('/blocks', { name: name.trim(), html: content }),
});

/** The page. */
export default function Blocks() {
	const list = useList('/blocks');
	const make = async () => {
		const made = await saveBlock('<p></p>\n');
		if (made) go(encoded`/blocks/${made.id}`);
	};
	const remove = async (row) => {
		if (await removeBlock(row)) list.reload();
	};
	const add = html`<${Button} kind="primary" icon="plus" onClick=${make}>${t('blocks.new')}<//>`;
	return html`<${Head} title=${t('templates.title')}>${add}<//><${TemplateSections} at="blocks" />
	<${Table} list=${list} label=${t('blocks.title')} open=${pageOf} empty=${html`<${Empty} icon="template" title=${t('blocks.none')} act=${add}>${t('blocks.noneText')}<//>`} columns=${[
		{ name: t('blocks.name'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${pageOf(row)} title=${row.name}><bdi>${row.name}</bdi></a>` },
		{ name: t('blocks.tag'), class: 'cell-cut hide-s', cell: (row) => html`<${Copy} text=${blockTag(row.name)} />` },
		{ name: t('blocks.changed'), class: 'w-when hide-s', cell: (row) => html`<${Time} at=${row.updated_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'cell-acts w-acts', cell: (row) => html`<${Menu} kind="quiet" label=${t('blocks.actsOf', { name: row.name })} items=${[
			{ icon: 'edit', name: t('blocks.edit'), href: pageOf(row) },
			{ icon: 'trash', name: t('blocks.delete'), danger: true, run: () => remove(row) },
		]} />` },
	]} />`;
}
