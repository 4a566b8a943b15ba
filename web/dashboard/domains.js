// The sending domains of a team.
import { html, useState } from './lib/core.js';
import { api, ApiError, useGet, useList } from './api.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { domainIn, encoded } from './paths.js';
import { base, go } from './router.js';
import { Spark } from './ui/chart.js';
import { mayAdmin } from './state.js';
import { Button, Empty, Head, Input, Notice, Status, Time } from './ui/base.js';
import { dialog, DialogBody, useAsked } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

/** The form of a new domain; closes with the domain. @param {{close: (answer?: any) => void}} props */
function AddDomain({ close }) {
	const [name, setName] = useState('');
	const [path, setPath] = useState('');
	const [wrong, say] = useState('');
	const send = async () => {
		try {
			close(await api.post('/domains', { name: domainIn(name), custom_return_path: path.trim() || undefined }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(e.message);
		}
	};
	return html`<${DialogBody} title=${t('domains.add')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('domains.add')}<//>`}>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${Input} label=${t('domains.domain')} hint=${t('domains.nameHint')} value=${name} onInput=${setName} placeholder="news.example.com" autocomplete="off" spellcheck="false" required autofocus />
		<${Input} label=${t('domains.path')} hint=${t('domains.pathHint')} value=${path} onInput=${setPath} placeholder="send" autocomplete="off" spellcheck="false" /><//>`;
}

const tracking = (d) => [d.open_tracking && t('domains.opens'), d.click_tracking && t('domains.clicks')].filter(Boolean).join(', ') || t('domains.off');

/** The last 30 days of UTC, oldest first, like 2026-12-24. */
const lastDays = () => Array.from({ length: 30 }, (_, i) => new Date(Date.now() - (29 - i) * 86_400_000).toISOString().slice(0, 10));

/** The recipients sent to in the last 30 days, by day. @param {{of: any, rows: any[]|undefined}} props rows of all domains */
function SentByDay({ of, rows }) {
	if (!rows) return null;
	const byDay = new Map(rows.filter((r) => r.domain_id === of.id).map((r) => [r.period, r.sent]));
	const values = lastDays().map((day) => byDay.get(day) ?? 0);
	const sum = values.reduce((a, b) => a + b, 0);
	return html`<${Spark} values=${values} label=${t('domains.sentOf', { domain: of.name })} />${number(sum)}`;
}

/** The page. */
export default function Domains() {
	const list = useList('/domains');
	const ids = list.rows.slice(0, 100).map((d) => d.id).join();
	const sent = useGet(ids ? '/emails/metrics' : null, { domain_id: ids, start_date: lastDays()[0], dimensions: 'period,domain', granularity: 'daily', metrics: 'sent' });
	const add = async () => {
		const domain = await dialog((close) => html`<${AddDomain} close=${close} />`);
		if (domain) go(encoded`/domains/${domain.id}`);
	};
	useAsked(() => mayAdmin.value && add());
	const button = mayAdmin.value && html`<${Button} kind="primary" icon="plus" onClick=${add}>${t('domains.add')}<//>`;
	return html`<${Head} title=${t('domains.title')}><${Csv} path="/domains" name="domains" />${button}<//>
	<${Table} list=${list} label=${t('domains.title')} open=${(row) => base + encoded`/domains/${row.id}`} empty=${html`<${Empty} ghost=${[['mail.example.com', html`<${Status} of="verified" />`], ['news.example.com', html`<${Status} of="pending" />`]]} icon="globe" title=${t('domains.none')} act=${button}>${t(mayAdmin.value ? 'domains.noneText' : 'domains.noneAsk')}<//>`} columns=${[
		{ name: t('domains.domain'), class: 'cell-name cell-cut medium', cell: (row) => html`<a href=${base + encoded`/domains/${row.id}`} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub">${t('domains.tracking')}: ${tracking(row)}</span>` },
		{ name: t('domains.state'), class: 'w-status', cell: (row) => html`<${Status} of=${row.status} word=${row.status === 'failed' ? t('domains.failed') : undefined} />` },
		{ name: t('domains.sent30'), class: 'w-part nowrap hide-s', cell: (row) => html`<${SentByDay} of=${row} rows=${sent.data?.data} />` },
		{ name: t('domains.region'), class: 'cell-cut drop-1 w-relay', cell: (row) => row.region },
		{ name: t('domains.tracking'), class: 'cell-cut hide-s', cell: tracking },
		{ name: t('domains.added'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
