// Requests to the API and their answers, without bodies.
import { html } from './lib/core.js';
import { useGet, useList } from './api.js';
import { t } from './i18n.js';
import { number } from './format.js';
import { encoded } from './paths.js';
import { base, place, setQuery } from './router.js';
import { Button, Empty, Head, Select, Status, Time } from './ui/base.js';
import { Csv, Table } from './ui/list.js';

/** An answer's status with its shape. @param {{of: number}} props */
export const Answer = ({ of }) => html`<${Status} of=${of >= 500 ? 'bad' : of >= 400 ? 'pending' : 'ok'} word=${String(of)} />`;

/** Milliseconds as 3 ms or 0.4 ms. @param {number} ms */
export const ms = (ms) => `${number(ms, { maximumFractionDigits: ms < 10 ? 1 : 0 })}\u00a0ms`;

const spans = { hour: 3600, day: 86_400, week: 604_800 };

/** The page. */
export default function Requests() {
	const asked = Object.fromEntries(['method', 'status', 'endpoint', 'key_id', 'email_id', 'span'].map((name) => [name, place.value.query.get(name) ?? '']));
	const keys = useGet('/api-keys', { limit: 100 }).data?.data ?? [];
	// To the minute: a moment that moves with each drawing would ask again and again.
	const since = spans[asked.span] ? new Date((Math.floor(Date.now() / 60_000) - spans[asked.span] / 60) * 60_000).toISOString() : '';
	const query = { method: asked.method, status: asked.status, endpoint: asked.endpoint, key_id: asked.key_id, email_id: asked.email_id, created_after: since };
	const list = useList('/logs', query);
	const put = (name) => (value) => setQuery({ [name]: value });
	const filtered = Object.values(asked).some(Boolean);
	const clear = html`<${Button} onClick=${() => setQuery({ method: null, status: null, endpoint: null, key_id: null, email_id: null, span: null })}>${t('requests.clear')}<//>`;
	const nameOf = (id) => keys.find((k) => k.id === id)?.name;
	return html`<${Head} title=${t('requests.title')}><${Button} icon="refresh" label=${t('requests.reload')} onClick=${list.reload} /><${Csv} path="/logs" query=${query} name="requests" /><//>
	<div class="tools row--wrap">
		<input class="input requests-path" type="search" aria-label=${t('requests.path')} placeholder=${t('requests.path')} value=${asked.endpoint} onChange=${(e) => setQuery({ endpoint: e.currentTarget.value.trim() })} />
		<${Select} bare label=${t('requests.method')} value=${asked.method} onChange=${put('method')} options=${[['', t('requests.anyMethod')], ...['GET', 'POST', 'PATCH', 'PUT', 'DELETE'].map((m) => [m, m])]} />
		<${Select} bare label=${t('requests.status')} value=${asked.status} onChange=${put('status')} options=${[['', t('requests.anyStatus')], ...['2xx', '4xx', '5xx', '401', '403', '404', '422', '429'].map((s) => [s, s])]} />
		<${Select} bare label=${t('requests.key')} value=${asked.key_id} onChange=${put('key_id')} options=${[['', t('requests.anyKey')], ...keys.map((k) => [k.id, k.name])]} />
		<${Select} bare label=${t('requests.when')} value=${asked.span} onChange=${put('span')} options=${[['', t('requests.ever')], ['hour', t('requests.hour')], ['day', t('requests.day')], ['week', t('requests.week')]]} />
		${filtered && clear}</div>
	${asked.email_id && html`<div class="page"><p class="t13r ink2">${t('requests.ofEmail')} <a class="link" href=${base + encoded`/emails/${asked.email_id}`}>${asked.email_id}</a></p></div>`}
	<${Table} list=${list} label=${t('requests.title')} open=${(row) => base + encoded`/requests/${row.id}`} empty=${html`<${Empty} ghost=${filtered ? undefined : [['POST /emails', html`<${Answer} of=${200} />`, '3\u00a0ms'], ['POST /emails', html`<${Answer} of=${422} />`, '1\u00a0ms']]} icon="list" title=${t(filtered ? 'requests.noneSuch' : 'requests.none')} act=${filtered ? clear : html`<${Button} href=${`${base}/keys`}>${t('requests.keys')}<//>`}>${t(filtered ? 'requests.noneSuchText' : 'requests.noneText')}<//>`} columns=${[
		{ name: t('requests.status'), class: 'w-age', cell: (row) => html`<${Answer} of=${row.response_status} />` },
		{ name: t('requests.method'), class: 'w-age hide-s', cell: (row) => html`<span class="mono">${row.method}</span>` },
		{ name: t('requests.endpoint'), class: 'cell-name cell-cut', cell: (row) => html`<a class="mono" href=${base + encoded`/requests/${row.id}`} title=${row.endpoint}>${row.endpoint}</a><span class="cell-sub">${row.method}${row.error ? `, ${row.error}` : ''}</span>` },
		{ name: t('requests.error'), class: 'w-part cell-cut hide-s', cell: (row) => row.error && html`<span class="mono" title=${row.error}>${row.error}</span>` },
		{ name: t('requests.by'), class: 'cell-cut drop-1 w-relay', cell: (row) => row.key_id ? html`<bdi>${nameOf(row.key_id) ?? t('requests.goneKey')}</bdi>` : html`<span class="muted">${t('requests.person')}</span>` },
		{ name: t('requests.took'), class: 'w-age num drop-2', cell: (row) => ms(row.duration_ms) },
		{ name: t('requests.age'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
