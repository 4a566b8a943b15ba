// The list of emails.
import { html } from './lib/core.js';
import { useList } from './api.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { Empty, Head, Status, Time } from './ui/base.js';
import { Csv, Table } from './ui/list.js';

/** The page. */
export default function Emails() {
	const list = useList('/emails', {}, { live: (e) => e.name === 'email' });
	return html`<${Head} title=${t('emails.title')}><${Csv} path="/emails" name="emails" /><//>
	<${Table} list=${list} label=${t('emails.title')} open=${(row) => `${base}/emails/${row.id}`} empty=${html`<${Empty} icon="mail" title="None" />`} columns=${[
		{ name: t('emails.title'), class: 'w-status', cell: (row) => html`<${Status} of=${row.last_event} />` },
		{ name: t('emails.title'), class: 'w-to cell-cut', cell: (row) => row.to.join(', ') },
		{ name: t('emails.title'), class: 'cell-cut', cell: (row) => row.subject },
		{ name: t('emails.title'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
