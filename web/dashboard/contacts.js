// The list of contacts.
import { html, useState } from './lib/core.js';
import { useGet, useList } from './api.js';
import { t } from './i18n.js';
import { href, place, setQuery } from './router.js';
import { Button, Empty, Head, Select, Time } from './ui/base.js';
import { AudienceSections, nameOf, Search, Subscribed } from './ui/audience.js';
import { Bulk, Csv, Table } from './ui/list.js';
import { addContact, removeContacts, segmentChoice, toSegment } from './contact-acts.js';
import { askOptIn } from './consents.js';
import { encoded } from './paths.js';

/** The page. */
export default function Contacts() {
	const asked = place.value.query;
	const query = { search: asked.get('search') ?? '', segment_id: asked.get('segment') ?? '', topic_id: asked.get('topic') ?? '', state: asked.get('state') ?? '' };
	const list = useList('/contacts', { ...query, include: 'properties' }, { live: (e) => e.name === 'import' && e.data?.status !== 'queued' });
	const segments = useGet('/segments', { limit: 100 }).data?.data ?? [];
	const topics = useGet('/topics', { limit: 100 }).data?.data ?? [];
	const [selected, select] = useState(new Set());
	const chosen = list.rows.filter((row) => selected.has(row.id));
	const changed = () => {
		select(new Set());
		return list.reload();
	};
	const filtered = query.search || query.segment_id || query.topic_id || query.state;
	const empty = filtered
		? html`<${Empty} icon="search" title=${t('contacts.noneFound')} act=${html`<${Button} onClick=${() => setQuery({ search: null, segment: null, topic: null, state: null })}>${t('contacts.showAll')}<//>`}>${t('contacts.noneFoundText')}<//>`
		: html`<${Empty} ghost=${[['ann@example.com', 'Ann', html`<${Subscribed} of=${{ unsubscribed: false }} />`], ['ben@example.com', 'Ben', html`<${Subscribed} of=${{ unsubscribed: false }} />`], ['zoe@example.com', 'Zoë', html`<${Subscribed} of=${{ unsubscribed: true }} />`]]} icon="audience" title=${t('contacts.empty')} act=${html`<${Button} icon="plus" onClick=${() => addContact(segments, changed)}>${t('contacts.add')}<//><${Button} href=${href('/imports')}>${t('contacts.import')}<//>`}>${t('contacts.emptyText')}<//>`;
	return html`<${Head} title=${t('contacts.title')} note=${list.page?.total !== undefined && html`<span class="muted t13r nowrap">${t('segments.count', { n: list.page.total })}</span>`}><${Csv} path="/contacts" query=${{ ...query, include: 'properties' }} name="contacts" /><${Button} href=${href('/imports')}>${t('contacts.import')}<//><${Button} icon="mail" label=${t('consents.ask')} onClick=${() => askOptIn()} /><${Button} kind="primary" icon="plus" onClick=${() => addContact(segments, changed)}>${t('contacts.add')}<//><//>
	<${AudienceSections} at="contacts" />
	<div class="tools tools--under"><${Search} label=${t('contacts.search')} value=${query.search} />
		${segments.length > 0 && html`<${Select} bare label=${t('contacts.segment')} value=${query.segment_id} options=${segmentChoice(segments, t('contacts.anySegment'))} onChange=${(segment) => setQuery({ segment })} />`}
		${topics.length > 0 && html`<${Select} bare label=${t('contacts.topic')} value=${query.topic_id} options=${[['', t('contacts.anyTopic')], ...topics.map((topic) => [topic.id, topic.name])]} onChange=${(topic) => setQuery({ topic })} />`}
		<${Select} bare label=${t('contacts.state')} value=${query.state} options=${[['', t('contacts.anyState')], ...['subscribed', 'unsubscribed', 'suppressed'].map((state) => [state, t(`contacts.states.${state}`)])]} onChange=${(state) => setQuery({ state })} /></div>
	<${Table} list=${list} label=${t('contacts.title')} open=${(row) => href(encoded`/contacts/${row.id}`)} empty=${empty} selected=${selected} onSelect=${select} columns=${[
		{ name: t('contacts.email'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${href(encoded`/contacts/${row.id}`)} title=${row.email}><bdi>${row.email}</bdi></a><span class="cell-sub"><${Subscribed} of=${row} /> <bdi>${nameOf(row)}</bdi></span>` },
		{ name: t('contacts.name'), class: 'cell-cut w-team hide-s', cell: (row) => html`<bdi title=${nameOf(row)}>${nameOf(row)}</bdi>` },
		{ name: t('contacts.state'), class: 'w-status hide-s', cell: (row) => html`<${Subscribed} of=${row} />` },
		{ name: t('properties.title'), class: 'cell-cut w-to drop-1', cell: (row) => html`<${Properties} of=${row.properties} />` },
		{ name: t('contacts.addedAt'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />
	${chosen.length > 0 && html`<${Bulk} n=${chosen.length} clear=${() => select(new Set())}>${segments.length > 0 && html`<${Button} onClick=${() => toSegment(chosen, segments, changed)}>${t('contacts.toSegment')}<//>`}<${Button} kind="danger" onClick=${() => removeContacts(chosen, changed)}>${t('contacts.removeAct', { n: chosen.length })}<//><//>`}`;
}

/** The properties of a contact in one line. @param {{of: any}} props */
function Properties({ of }) {
	const all = Object.entries(of ?? {});
	const text = all.map(([key, p]) => `${key} ${p.value}`).join(' · ');
	return html`<span class="muted" title=${text}>${all.map(([key, p], i) => html`${i > 0 && ' · '}<span class="mono">${key}</span> <bdi>${String(p.value)}</bdi>`)}</span>`;
}
