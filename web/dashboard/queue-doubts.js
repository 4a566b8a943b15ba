// Transactions whose outcome at the relay is or was unknown: its reply was lost.
import { html } from './lib/core.js';
import { useList } from './api.js';
import { exact } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { Copy, Empty, Status, Time } from './ui/base.js';
import { Csv, Table } from './ui/list.js';

/** The list, of the team or of all. @param {{at: {all: boolean, header: string|null, named?: string}, teams?: any[]}} props */
export function Doubts({ at, teams }) {
	const query = { team: at.named };
	const list = useList('/queue/doubts', query, { team: at.header, live: (e) => e.name === 'queue' });
	const who = (row) => teams?.find((one) => one.id === row.team)?.name ?? '–';
	return html`<div class="tools tools--top"><span class="t13r muted grow">${t('queue.doubtsText')}</span><${Csv} path="/queue/doubts" query=${query} team=${at.header} name="doubts" /></div>
	<${Table} list=${list} label=${t('queue.tabs.doubts')} open=${at.all ? undefined : (row) => base + encoded`/emails/${row.email_id}`} empty=${html`<${Empty} icon="queue" title=${t('queue.noDoubts')}>${t('queue.noDoubtsText')}<//>`} columns=${[
		{ name: t('queue.became'), class: 'cell-cut', cell: (row) => html`<span title=${row.settled_at ? `${row.settled} (${exact(row.settled_at)})` : t('queue.openDoubt')}><${Status} of=${row.settled_at ? 'neutral' : 'delivery_delayed'} word=${row.settled ?? t('queue.openDoubt')} /></span><span class="cell-sub">${row.to.join(', ')}</span>` },
		{ name: t('queue.to'), class: 'w-to cell-cut hide-s', cell: (row) => (at.all ? html`<bdi title=${row.to.join(', ')}>${row.to.join(', ')}</bdi>` : html`<a href=${base + encoded`/emails/${row.email_id}?tab=conversation`} title=${row.to.join(', ')}><bdi>${row.to.join(', ')}</bdi></a>`) },
		...(at.all ? [{ name: t('queue.team'), class: 'w-team cell-cut hide-s', cell: who }] : []),
		{ name: t('queue.relay'), class: 'w-relay cell-cut hide-s', cell: (row) => html`<span class="mono">${row.relay}</span>` },
		{ name: t('queue.messageId'), class: 'cell-cut hide-s', cell: (row) => (row.message_id ? html`<${Copy} text=${row.message_id} />` : '–') },
		{ name: t('queue.when'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
