// Opt-ins: who asked to get mail, and what became of it.
import { html } from './lib/core.js';
import { useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, href, place, setQuery } from './router.js';
import { Empty, Head, Select, Status, Time } from './ui/base.js';
import { Csv, Table } from './ui/list.js';

const states = ['pending', 'confirmed', 'expired', 'refused'];
const looks = { pending: 'scheduled', confirmed: 'good', expired: 'neutral', refused: 'canceled' };

/** The state of an opt-in. @param {{of: string}} props */
export const OptInState = ({ of }) => html`<${Status} of=${looks[of]} word=${t(`optIns.is_${of}`)} />`;

const pageOf = (row) => base + encoded`/opt-ins/${row.id}`;

/** The page. */
export default function AllOptIns() {
	return html`<${Head} title=${t('optIns.title')} path=${[[t('forms.title'), href('/forms')]]}><${Csv} path="/opt-ins" query=${{ status: place.value.query.get('status') ?? '' }} name="opt-ins" /><//><${OptIns} />`;
}

/** The opt-ins of a form, or all. @param {{of?: any}} props */
export function OptIns({ of }) {
	const status = place.value.query.get('status') ?? '';
	const all = useList('/opt-ins', { status });
	const names = new Map(useList(of ? null : '/forms', {}, { limit: 100 }).rows.map((row) => [row.id, row.name]));
	const list = of ? { ...all, rows: all.rows.filter((row) => row.form === of.id) } : all;
	const formOf = (row) => (row.form ? names.get(row.form) ?? '…' : 'API');
	const empty = html`<${Empty} icon="mail" title=${t(status ? 'optIns.noneSuch' : 'optIns.none')}>${t('optIns.noneText')}<//>`;
	return html`<div class="tools tools--top"><${Select} bare label=${t('optIns.state')} value=${status} options=${[['', t('contacts.anyState')], ...states.map((one) => [one, t(`optIns.is_${one}`)])]} onChange=${(value) => setQuery({ status: value })} /></div>
	<${Table} list=${list} label=${t('optIns.title')} open=${pageOf} empty=${empty} columns=${[
		{ name: t('contacts.email'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${pageOf(row)} title=${row.email}><bdi>${row.email}</bdi></a><span class="cell-sub"><${OptInState} of=${row.status} /></span>` },
		{ name: t('optIns.state'), class: 'w-status hide-s', cell: (row) => html`<${OptInState} of=${row.status} />` },
		...(of ? [] : [{ name: t('forms.one'), class: 'w-part cell-cut drop-1', cell: (row) => html`<bdi class="muted">${formOf(row)}</bdi>` }]),
		{ name: t('optIns.requested'), class: 'w-when num muted', cell: (row) => html`<${Time} at=${row.requested_at} />` },
		{ name: t('optIns.decided'), class: 'w-when num muted drop-2', cell: (row) => html`<${Time} at=${row.decided_at} />` },
	]} />`;
}
