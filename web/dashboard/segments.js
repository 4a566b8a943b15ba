// The list of segments.
import { html } from './lib/core.js';
import { useGet, useList } from './api.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { Button, Empty, Head, Time } from './ui/base.js';
import { AudienceSections } from './ui/audience.js';
import { Csv, Table } from './ui/list.js';
import { inWords, useNames } from './segment-builder.js';

/** The page. */
export default function Segments() {
	const list = useList('/segments');
	const named = useNames(list.rows.map((row) => row.filter));
	const total = useGet('/segments', { limit: 1 });
	const add = html`<${Button} kind="primary" icon="plus" href=${href('/segments/new')}>${t('segments.add')}<//>`;
	return html`<${Head} title=${t('segments.title')}><${Csv} path="/segments" name="segments" />${total.data?.data.length > 0 && add}<//>
	<${AudienceSections} at="segments" />
	<${Table} list=${list} label=${t('segments.title')} open=${(row) => href(encoded`/segments/${row.id}`)} empty=${html`<${Empty} ghost=${[['Newsletter', number(1240)], ['Customers', number(310)]]} icon="audience" title=${t('segments.empty')} act=${add}>${t('segments.emptyText')}<//>`} columns=${[
		{ name: t('segments.name'), class: 'cell-name cell-cut', cell: (row) => html`<a class="medium" href=${href(encoded`/segments/${row.id}`)} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub">${inWords(row.filter, named)}</span>` },
		{ name: t('segments.who'), class: 'cell-cut hide-s', cell: (row) => html`<span class="muted" title=${inWords(row.filter, named)}>${inWords(row.filter, named)}</span>` },
		{ name: t('contacts.title'), class: 'w-age num drop-1', cell: (row) => (row.contact_count === undefined ? '' : number(row.contact_count)) },
		{ name: t('segments.madeAt'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
