// The imports of contacts, and the drop area for files.
import { html, useState } from './lib/core.js';
import { useList } from './api.js';
import { t } from './i18n.js';
import { href, place, setQuery } from './router.js';
import { Empty, Head, Icon, Select, Status, Time } from './ui/base.js';
import { AudienceSections } from './ui/audience.js';
import { Csv, Table } from './ui/list.js';
import { number } from './format.js';
import { Mapping } from './import-new.js';
import { encoded } from './paths.js';

/** How the states of an import look. */
export const looks = { queued: 'neutral', in_progress: 'neutral', completed: 'completed', failed: 'bad' };

/** A state of an import. @param {{of: string}} props */
export const ImportStatus = ({ of }) => html`<${Status} of=${looks[of] ?? 'neutral'} word=${t(`imports.${of}`)} />`;

/** The page. */
export default function Imports() {
	const status = place.value.query.get('status') ?? '';
	const list = useList('/contacts/imports', { status }, { live: (e) => e.name === 'import' });
	const [file, setFile] = useState(/** @type {File|null} */ (null));
	if (file) return html`<${Mapping} file=${file} close=${() => setFile(null)} />`;
	return html`<${Head} title=${t('imports.title')}><${Csv} path="/contacts/imports" query=${{ status }} name="imports" /><//>
	<${AudienceSections} at="imports" />
	<div class="page"><${Drop} take=${setFile} /></div>
	${(list.rows.length > 0 || status) && html`<div class="tools"><${Select} bare label=${t('imports.status')} value=${status} options=${[['', t('imports.any')], ...Object.keys(looks).map((one) => [one, t(`imports.${one}`)])]} onChange=${(one) => setQuery({ status: one })} /></div>`}
	<${Table} list=${list} label=${t('imports.title')} open=${(row) => href(encoded`/imports/${row.id}`)} empty=${html`<${Empty} ghost=${status ? undefined : [['contacts.csv', html`<${ImportStatus} of="completed" />`, number(2482)]]} icon="download" title=${t(status ? 'imports.noneFound' : 'imports.empty')}>${t('imports.emptyText')}<//>`} columns=${[
		{ name: t('imports.file'), class: 'cell-name cell-cut', cell: (row) => html`<a class="medium" href=${href(encoded`/imports/${row.id}`)} title=${row.file_name}><bdi>${row.file_name ?? t('imports.one')}</bdi></a><span class="cell-sub"><${ImportStatus} of=${row.status} /> ${t('imports.totalRows')}: ${number(row.counts.total)}</span>` },
		{ name: t('imports.status'), class: 'w-status hide-s', cell: (row) => html`<${ImportStatus} of=${row.status} />` },
		...['total', 'created', 'updated', 'skipped', 'failed'].map((count) => ({ name: t(`imports.${count}Rows`), class: `w-count num ${{ total: 'hide-s', failed: '' }[count] ?? 'drop-2'}`, cell: (row) => html`<span class=${count === 'failed' && row.counts.failed ? 'bad' : ''}>${number(row.counts[count])}</span>` })),
		{ name: t('imports.begun'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}

/** Where a file is dropped, or chosen. @param {{take: (file: File) => void}} props */
function Drop({ take }) {
	const [over, setOver] = useState(false);
	return html`<label class=${`drop ${over ? 'is-over' : ''}`} onDragOver=${(e) => {
		e.preventDefault();
		setOver(true);
	}} onDragLeave=${() => setOver(false)} onDrop=${(e) => {
		e.preventDefault();
		setOver(false);
		if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]);
	}}><input class="vh" type="file" accept=".csv,.tsv,.txt,.zip,text/csv,application/zip" onChange=${(e) => e.currentTarget.files[0] && take(e.currentTarget.files[0])} /><${Icon} name="download" /><span><b class="medium">${t('imports.drop')}</b> <span class="link">${t('imports.choose')}</span></span><span class="muted t12">${t('imports.dropHint')}</span></label>`;
}
