// The topics that contacts choose among, and the pages where they choose.
import { html } from './lib/core.js';
import { api, useList } from './api.js';
import { t } from './i18n.js';
import { href } from './router.js';
import { mayAdmin } from './state.js';
import { Button, Empty, Head, Id, Input, Notice, Select, Time } from './ui/base.js';
import { AudienceSections, form, useCount } from './ui/audience.js';
import { attempt, confirm, Menu, toast } from './ui/float.js';
import { Csv, Table } from './ui/list.js';
import { HostedPages } from './hosted-pages.js';
import { encoded } from './paths.js';

const visibilities = () => [['public', t('topics.public')], ['private', t('topics.private')]];
const defaults = () => [['opt_in', t('topics.optIn')], ['opt_out', t('topics.optOut')]];

/** The page. */
export default function Topics() {
	const list = useList('/topics');
	const add = html`<${Button} kind="primary" icon="plus" onClick=${() => addTopic(list.reload)}>${t('topics.add')}<//>`;
	return html`<${Head} title=${t('topics.title')}><${Csv} path="/topics" name="topics" />${list.rows.length > 0 && add}<//>
	<${AudienceSections} at="topics" />
	<${Table} list=${list} label=${t('topics.title')} empty=${html`<${Empty} ghost=${[['Product news', t('time.d', { n: 3 })], ['Events', t('time.d', { n: 9 })]]} icon="list" title=${t('topics.empty')} act=${add}>${t('topics.emptyText')}<//>`} columns=${[
		{ name: t('topics.name'), class: 'cell-name cell-cut', cell: (row) => html`<button type="button" class="link-plain medium" title=${row.description ?? row.name} onClick=${() => showTopic(row, list.reload)}><bdi>${row.name}</bdi></button>${row.description && html` <span class="muted hide-s"><bdi>${row.description}</bdi></span>`}<span class="cell-sub">${t(`topics.${row.default_subscription === 'opt_in' ? 'optIn' : 'optOut'}`)} · ${t(`topics.${row.visibility}`)}</span>` },
		{ name: t('topics.default'), class: 'w-rec cell-cut hide-s', cell: (row) => t(`topics.${row.default_subscription === 'opt_in' ? 'optIn' : 'optOut'}`) },
		{ name: t('topics.visibility'), class: 'w-rec cell-cut hide-s', cell: (row) => t(`topics.${row.visibility}`) },
		{ name: t('topics.madeAt'), class: 'w-age num muted drop-1', cell: (row) => html`<${Time} at=${row.created_at} />` },
		{ name: t('ui.acts'), hide: true, class: 'w-act num', cell: (row) => html`<${Menu} kind="quiet" label=${t('topics.actsOf', { name: row.name })} items=${[
			{ icon: 'edit', name: t('ui.edit'), run: () => showTopic(row, list.reload) },
			{ icon: 'list', name: t('archive.title'), href: href(encoded`/topics/${row.id}`) },
			{ icon: 'audience', name: t('topics.readers'), href: href(encoded`/contacts?topic=${row.id}`) },
			null,
			{ icon: 'trash', name: t('topics.delete'), danger: true, run: () => removeTopic(row, list.reload) },
		]} />` },
	]} />
	${mayAdmin.value && html`<${HostedPages} stamp=${list.rows} />`}`;
}

const fields = (v, set) => html`<${Input} label=${t('topics.name')} value=${v.name} required maxlength="50" autofocus onInput=${(name) => set({ name })} />
	<${Input} label=${t('topics.description')} value=${v.description} maxlength="200" lines="2" onInput=${(description) => set({ description })} hint=${t('topics.descriptionHint')} />
	<${Select} label=${t('topics.visibility')} value=${v.visibility} options=${visibilities()} onChange=${(visibility) => set({ visibility })} hint=${t(`topics.${v.visibility}Hint`)} />`;

async function addTopic(done) {
	const made = await form({
		title: t('topics.add'), act: t('topics.add'), start: { name: '', description: '', visibility: 'public', default_subscription: 'opt_in' },
		fields: (v, set) => html`${fields(v, set)}<${Select} label=${t('topics.default')} value=${v.default_subscription} options=${defaults()} onChange=${(default_subscription) => set({ default_subscription })} hint=${t('topics.defaultHint')} />${v.default_subscription === 'opt_out' && html`<${Notice} kind="warn">${t('topics.optOutWarning')}<//>`}`,
		send: (v) => api.post('/topics', { ...v, name: v.name.trim(), description: v.description.trim() || undefined }),
	});
	if (!made) return;
	toast(t('topics.added'));
	done();
}

async function showTopic(row, done) {
	const saved = await form({
		title: t('topics.edit'), act: t('ui.save'), start: { name: row.name, description: row.description ?? '', visibility: row.visibility },
		fields: (v, set) => html`${fields(v, set)}<${Reach} of=${row} />`,
		send: (v) => api.patch(encoded`/topics/${row.id}`, { name: v.name.trim(), description: v.description.trim() || null, visibility: v.visibility }),
	});
	if (saved) done();
}

/** How many mail of a topic reaches, of all contacts. @param {{of: any}} props */
function Reach({ of }) {
	const filter = { match: 'all', conditions: [] };
	const reached = useCount({ filter, topic_id: of.id });
	const all = useCount({ filter });
	return html`<dl class="kv"><dt>${t('topics.default')}</dt><dd>${t(`topics.${of.default_subscription === 'opt_in' ? 'optIn' : 'optOut'}`)} <span class="muted">${t('topics.never')}</span></dd>
		<dt>${t('topics.reaches')}</dt><dd>${reached && all ? t('topics.reachOf', { n: reached.count, all: all.count }) : '–'}</dd><dt>${t('contact.id')}</dt><dd><${Id} of=${of.id} /></dd></dl>`;
}

async function removeTopic(row, done) {
	if (!(await confirm({ title: t('topics.deleteTitle', { name: row.name }), text: t('topics.deleteText'), act: t('topics.delete') }))) return;
	await attempt(() => api.del(encoded`/topics/${row.id}`), t('topics.deleted'));
	done();
}
