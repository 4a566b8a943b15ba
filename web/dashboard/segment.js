// One segment: its members and its conditions; or a new one.
import { html, useState } from './lib/core.js';
import { api, ApiError, useGet, useList } from './api.js';
import { t } from './i18n.js';
import { go, href, place, setQuery } from './router.js';
import { Bones, Button, Empty, Failed, Head, Id, Input, Notice, Seg, Section, Tabs, Time } from './ui/base.js';
import { attempt, confirm, Menu, toast } from './ui/float.js';
import { Bulk, Csv, Table } from './ui/list.js';
import { form, nameOf, Subscribed } from './ui/audience.js';
import { Builder, complete, Fit, inWords, useNames } from './segment-builder.js';
import { removeContacts } from './contact-acts.js';
import { encoded } from './paths.js';

const trail = () => [[t('segments.title'), href('/segments')]];
const fresh = () => ({ match: 'all', conditions: [{ field: 'email', op: 'contains', value: '' }] });

/** The page. @param {{params: {id: string}}} props */
export default function Segment({ params }) {
	return params.id === 'new' ? html`<${Fresh} />` : html`<${One} id=${params.id} />`;
}

/** A segment that is to be made. */
function Fresh() {
	const [name, setName] = useState('');
	const [kind, setKind] = useState('filter');
	const [filter, setFilter] = useState(fresh);
	const [refused, setRefused] = useState('');
	const make = async () => {
		try {
			const made = await api.post('/segments', { name: name.trim(), ...(kind === 'filter' ? { filter } : {}) });
			toast(t('segments.made'));
			go(encoded`/segments/${made.id}`, { replace: true });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setRefused(e.message);
		}
	};
	const ready = name.trim() && (kind === 'hand' || complete(filter));
	return html`<${Head} title=${t('segments.add')} path=${trail()}><${Button} kind="primary" disabled=${!ready} onClick=${make}>${t('segments.make')}<//><//>
	<div class="page page--text"><div class="stack">
		${refused && html`<${Notice} kind="bad">${refused}<//>`}
		<${Input} label=${t('segments.name')} value=${name} onInput=${setName} maxlength="100" autofocus />
		<${Seg} label=${t('segments.who')} value=${kind} onChange=${setKind} options=${[['filter', t('segments.byConditions')], ['hand', t('segments.byHand')]]} /></div>
		${kind === 'hand' ? html`<p class="muted section">${t('segments.byHandText')}</p>` : html`<${Section} title=${t('conditions.title')}><${Builder} filter=${filter} onChange=${setFilter} /><//><${Section} title=${t('conditions.fit')}><${Fit} filter=${filter} /><//>`}</div>`;
}

function One({ id }) {
	const segment = useGet(encoded`/segments/${id}`, undefined, { live: (e) => e.name === 'import' });
	const s = segment.data;
	const at = place.value.query.get('tab') ?? 'members';
	if (segment.error && !s) return html`<${Head} title=${t('segments.one')} path=${trail()} /><${Failed} error=${segment.error} retry=${segment.reload} />`;
	if (!s) return html`<${Head} title="" text=${t('segments.one')} path=${trail()} /><${Bones} />`;
	return html`<${Head} title=${html`<bdi>${s.name}</bdi>`} text=${s.name} path=${trail()} note=${s.contact_count !== undefined && html`<span class="muted t13r nowrap hide-s">${t('segments.count', { n: s.contact_count })}</span>`}>
		<${Csv} path=${encoded`/segments/${id}/contacts`} query=${{ include: 'properties' }} name=${s.name} />
		<${Menu} label=${t('ui.acts')} items=${[
			{ icon: 'edit', name: t('segments.rename'), run: () => rename(s, segment) },
			{ icon: 'broadcast', name: t('broadcasts.title'), href: href('/broadcasts') },
			null,
			{ icon: 'trash', name: t('segments.delete'), danger: true, run: () => remove(s) },
		]} /><//>
	<${Tabs} label=${t('segments.one')} at=${at} onChange=${(tab) => setQuery({ tab: tab === 'members' ? null : tab })} tabs=${[['members', t('segments.members'), s.contact_count], ['conditions', t('conditions.title'), s.filter?.conditions?.length]]} />
	${at === 'conditions' ? html`<${Conditions} key=${JSON.stringify(s.filter)} of=${s} segment=${segment} />` : html`<${Members} of=${s} segment=${segment} />`}`;
}

async function rename(s, segment) {
	const saved = await form({
		title: t('segments.rename'), act: t('ui.save'), start: { name: s.name },
		fields: (v, set) => html`<${Input} label=${t('segments.name')} value=${v.name} required maxlength="100" autofocus onInput=${(name) => set({ name })} />`,
		send: (v) => api.patch(encoded`/segments/${s.id}`, { name: v.name.trim() }),
	});
	if (saved) segment.reload();
}

async function remove(s) {
	if (!(await confirm({ title: t('segments.deleteTitle', { name: s.name }), text: t('segments.deleteText', { n: s.contact_count ?? 0 }), act: t('segments.delete') }))) return;
	if (await attempt(() => api.del(encoded`/segments/${s.id}`), t('segments.deleted'))) go('/segments', { replace: true });
}

/** The members. @param {{of: any, segment: any}} props */
function Members({ of: s, segment }) {
	const named = useNames([s.filter]);
	const list = useList(encoded`/segments/${s.id}/contacts`, {}, { live: (e) => e.name === 'import' });
	const [selected, select] = useState(new Set());
	const changed = async () => {
		select(new Set());
		await Promise.all([list.reload(), segment.reload()]);
	};
	const chosen = list.rows.filter((row) => selected.has(row.id));
	const add = async () => {
		const made = await form({
			title: t('segments.addTitle', { name: s.name }), act: t('ui.add'), start: { email: '' },
			fields: (v, set) => html`<${Input} label=${t('contacts.email')} type="email" required autofocus autocomplete="off" value=${v.email} onInput=${(email) => set({ email })} hint=${t('segments.addHint')} />`,
			// Existing contacts are unchanged, and are added to the segment.
			send: (v) => api.post('/contacts', { email: v.email.trim(), segments: [s.id] }, { query: { on_conflict: 'skip' } }),
		});
		if (made) await changed();
	};
	return html`<div class="tools tools--under"><span class="muted t13r grow cut">${inWords(s.filter, named)}</span><${Button} icon="plus" onClick=${add}>${t('segments.addByHand')}<//></div>
	<${Table} list=${list} label=${t('segments.members')} selected=${selected} onSelect=${select} open=${(row) => href(encoded`/contacts/${row.id}`)} empty=${html`<${Empty} icon="audience" title=${t('segments.nobody')} act=${html`<${Button} icon="plus" onClick=${add}>${t('segments.addByHand')}<//>`}>${t(s.filter ? 'segments.nobodyFits' : 'segments.nobodyByHand')}<//>`} columns=${[
		{ name: t('contacts.email'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${href(encoded`/contacts/${row.id}`)} title=${row.email}><bdi>${row.email}</bdi></a><span class="cell-sub"><${Subscribed} of=${row} /> <bdi>${nameOf(row)}</bdi></span>` },
		{ name: t('contacts.name'), class: 'cell-cut w-team hide-s', cell: (row) => html`<bdi>${nameOf(row)}</bdi>` },
		{ name: t('contacts.state'), class: 'w-status hide-s', cell: (row) => html`<${Subscribed} of=${row} />` },
		{ name: t('contacts.addedAt'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />
	${chosen.length > 0 && html`<${Bulk} n=${chosen.length} clear=${() => select(new Set())}><${Button} kind="danger" onClick=${() => removeContacts(chosen, changed)}>${t('contacts.removeAct', { n: chosen.length })}<//><//>`}`;
}

/** The filter. @param {{of: any, segment: any}} props */
function Conditions({ of: s, segment }) {
	const start = s.filter ? { match: s.filter.match, conditions: s.filter.conditions ?? [] } : null;
	const [filter, setFilter] = useState(start);
	const dirty = JSON.stringify(filter) !== JSON.stringify(start);
	const save = () => attempt(async () => {
		await api.patch(encoded`/segments/${s.id}`, { filter });
		await segment.reload();
	}, t('segments.saved'));
	if (!filter) return html`<${Empty} icon="audience" title=${t('segments.byHand')} act=${html`<${Button} icon="plus" onClick=${() => setFilter(fresh())}>${t('conditions.add')}<//>`}>${t('segments.byHandText')}<//>`;
	return html`<div class="page page--text"><${Section} title=${t('conditions.title')} acts=${dirty && html`<div class="row"><span class="muted t12">${t('segments.unsaved')}</span><${Button} kind="quiet" onClick=${() => setFilter(start)}>${t('segments.discard')}<//><${Button} kind="primary" disabled=${!complete(filter)} onClick=${save}>${t('ui.save')}<//></div>`}><${Builder} filter=${filter} onChange=${setFilter} /><//>
		<${Section} title=${t('conditions.fit')}><${Fit} filter=${filter} /><p class="muted t12">${t('segments.alsoByHand')}</p><//>
		<${Section}><${Id} of=${s.id} /><//></div>`;
}
