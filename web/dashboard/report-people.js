// The recipients of a broadcast by result, and a segment of them.
import { html, useState } from './lib/core.js';
import { api, ApiError, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, place, setQuery } from './router.js';
import { Button, Empty, Input, Section, Select, Status } from './ui/base.js';
import { dialog, DialogBody, toast } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

const outcomes = ['sent', 'delivered', 'opened', 'clicked', 'not_opened', 'not_clicked', 'bounced', 'complained', 'unsubscribed', 'suppressed', 'failed', 'canceled'];

/** @param {{of: any, limit: number, short?: boolean}} props short: the first of them. */
export function People({ of, limit, short = false }) {
	const chosen = place.value.query.get('outcome');
	const outcome = outcomes.includes(chosen) ? chosen : of.counts.clicked ? 'clicked' : of.counts.opened ? 'opened' : 'sent';
	const email = short ? '' : place.value.query.get('email') ?? '';
	const query = { type: outcome, email };
	const list = useList(encoded`/broadcasts/${of.id}/recipients`, query, { limit, live: (e) => e.name === 'broadcast' && e.id === of.id });
	const path = encoded`/broadcasts/${of.id}/recipients`;
	const n = of.counts[outcome];
	const acts = html`<div class="row row--wrap">${!short && html`<input class="input" type="search" aria-label=${t('report.person')} placeholder=${t('report.person')} value=${email} onChange=${(e) => setQuery({ email: e.currentTarget.value.trim() })} />`}
		<${Select} bare label=${t('report.outcome')} value=${outcome} onChange=${(to) => setQuery({ outcome: to })} options=${outcomes.map((o) => [o, t(`report.${o}`)])} />
		${!short && html`<${Csv} path=${path} query=${query} name=${`broadcast-${outcome}`} />`}
		${(n ?? list.rows.length) > 0 && html`<${Button} onClick=${() => void dialog((close) => html`<${Make} of=${of} outcome=${outcome} close=${close} />`)}>${n === undefined ? t('report.segmentOf') : t('report.segment', { n })}<//>`}</div>`;
	const link = (row) => row.clicked_links?.[0]?.url.replace(/^https?:\/\//, '') ?? '';
	return html`<${Section} title=${t('report.people')} acts=${acts}><${Table} list=${short ? { ...list, page: { ...list.page, has_more: false } } : list} label=${t('report.people')} open=${(row) => (row.contact_id ? base + encoded`/contacts/${row.contact_id}` : null)}
		empty=${html`<${Empty} icon="audience" title=${t('report.noPeople')}>${t('report.noPeopleText')}<//>`} columns=${[
			{ name: t('report.person'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${base + encoded`/emails/${row.id}`}><bdi>${row.email}</bdi></a>` },
			...(outcome === 'clicked' ? [{ name: t('report.link'), class: 'cell-cut muted hide-s', cell: (row) => html`<bdi title=${link(row)}>${link(row)}</bdi>` }] : []),
			{ name: t('report.state'), class: 'w-status', cell: (row) => html`<${Status} of=${row.state} />` },
		]} />${short && list.page?.has_more && html`<div class="table-foot"><a class="btn" href=${base + encoded`/broadcasts/${of.id}/report?tab=people&outcome=${outcome}`}>${t('ui.more')}</a></div>`}<//>`;
}

function Make({ of, outcome, close }) {
	const [name, setName] = useState(t('report.segmentName', { name: of.name, outcome: t(`report.${outcome}`).toLowerCase() }));
	const [wrong, setWrong] = useState('');
	const make = async () => {
		try {
			const made = await api.post(encoded`/broadcasts/${of.id}/segment`, { name: name.trim(), outcome });
			close();
			toast(t('report.segmentMade', { n: made.contact_count }), { href: base + encoded`/segments/${made.id}`, word: t('report.segmentOpen') });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('report.segmentTitle')} onSubmit=${make} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!name.trim()}>${t('report.segmentAct')}<//>`}>
		<${Input} label=${t('report.segmentLabel')} value=${name} onInput=${setName} error=${wrong} autofocus /><//>`;
}
