// The list of received emails.
import { html, useEffect, useRef } from './lib/core.js';
import { useGet, useList } from './api.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { EmailSections } from './email-sections.js';
import { encoded } from './paths.js';
import { Author, Kinds, kindsOf } from './received-words.js';
import { Button, Empty, Head, Icon, Time } from './ui/base.js';
import { Csv, Table } from './ui/list.js';

/** How often the list is read again, in ms: received mail has no live events. */
const pace = 30_000;

/** Nothing was received: which domains receive, or how to receive. */
function Nothing() {
	const got = useGet('/domains', { limit: 100 });
	const all = got.data?.data ?? [];
	const on = all.filter((d) => d.capabilities.receiving === 'enabled');
	const to = on[0] ?? (all.length === 1 ? all[0] : null);
	const act = html`<${Button} kind="primary" href=${base + (to ? `${encoded`/domains/${to.id}`}?tab=receiving` : '/domains')}>${t(on.length ? 'received.toDomain' : 'received.enable')}<//><${Button} href="/manual/receiving">${t('received.manual')}<//>`;
	return html`<${Empty} icon="mail" ghost=${[['Ann', t('received.ghost.one'), t('time.min', { n: 2 })], ['Ben', t('received.ghost.two'), t('time.h', { n: 1 })]]} title=${t('received.nothing')} act=${act}>${on.length ? t('received.nothingOn', { names: on.slice(0, 3).map((d) => d.name).join(', ') }) : t('received.nothingText')}<//>`;
}

/** The page. */
export default function Received() {
	const list = useList('/emails/receiving');
	const now = useRef(list);
	now.current = list;
	useEffect(() => {
		const timer = setInterval(() => {
			if (!document.hidden && window.scrollY < 200 && now.current.rows.length <= 50) now.current.reload();
		}, pace);
		return () => clearInterval(timer);
	}, []);
	return html`<${Head} title=${t('received.title')}><${Csv} path="/emails/receiving" name="received" /><//>
	<${EmailSections} at="received" />
	<${Table} list=${list} label=${t('received.label')} open=${(row) => base + encoded`/received/${row.id}`} empty=${html`<${Nothing} />`} columns=${[
		{ name: t('received.from'), class: 'w-to cell-cut hide-s', cell: (row) => html`<span title=${row.from.slice(0, 500)}><${Author} of=${row} /></span>` },
		{ name: html`<span class="only-l">${t('received.subject')}</span><span class="only-s">${t('received.subjectAll')}</span>`, class: 'cell-name cell-cut lead-s', cell: (row) => html`<a href=${base + encoded`/received/${row.id}`} title=${row.subject.slice(0, 500)}><bdi>${row.subject || t('emails.noSubject')}</bdi></a><span class="cell-sub"><${Author} of=${row} /></span>${kindsOf(row).length > 0 && html`<span class="cell-kinds"><${Kinds} of=${row} /></span>`}` },
		{ name: t('received.for'), class: 'w-to cell-cut drop-1', cell: (row) => html`<span title=${row.received_for.slice(0, 20).join(', ')}><bdi>${row.received_for[0]}</bdi>${row.received_for.length > 1 && html` <span class="muted">${t('emails.others', { n: row.received_for.length - 1 })}</span>`}</span>` },
		{ name: t('received.files'), hide: true, class: 'w-act num muted hide-s', cell: (row) => row.attachments.length > 0 && html`<span class="files-count" title=${t('email.attachmentsN', { n: row.attachments.length })}><${Icon} name="attach" /><span aria-hidden="true">${number(row.attachments.length)}</span><span class="vh">${t('email.attachmentsN', { n: row.attachments.length })}</span></span>` },
		{ name: t('emails.age'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
