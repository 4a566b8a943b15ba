// One import: progress, results, and failed rows.
import { html } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { duration, number } from './format.js';
import { say, t } from './i18n.js';
import { go, href } from './router.js';
import { Bones, Button, Empty, Facts, Failed, Head, Id, Time, Verdict } from './ui/base.js';
import { attempt, confirm } from './ui/float.js';
import { Csv, Table } from './ui/list.js';
import { ImportStatus } from './imports.js';
import { encoded } from './paths.js';

/** The page. @param {{params: {id: string}}} props */
export default function Import({ params }) {
	const path = encoded`/contacts/imports/${params.id}`;
	const mine = (e) => e.name === 'import' && (!e.id || e.id === params.id);
	const got = useGet(path, undefined, { live: mine });
	const list = useList(`${path}/errors`, {}, { live: mine });
	const one = got.data;
	const trail = [[t('imports.title'), href('/imports')]];
	if (got.error && !one) return html`<${Head} title=${t('imports.one')} path=${trail} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!one) return html`<${Head} title="" text=${t('imports.one')} path=${trail} /><${Bones} />`;
	const over = one.status === 'completed' || one.status === 'failed';
	const remove = async () => {
		if (!(await confirm({ title: t(over ? 'imports.removeTitle' : 'imports.cancelTitle'), text: t(over ? 'imports.removeText' : 'imports.cancelText', { n: one.counts.created + one.counts.updated }), act: t(over ? 'imports.remove' : 'imports.cancel') }))) return;
		if (await attempt(() => api.del(path), t(over ? 'imports.removed' : 'imports.canceled'))) go('/imports', { replace: true });
	};
	const c = one.counts;
	return html`<${Head} title=${one.file_name ? html`<bdi>${one.file_name}</bdi>` : say('imports.of', { time: html`<${Time} at=${one.created_at} as="clock" />` })} text=${one.file_name ?? t('imports.one')} path=${trail}><${Button} kind="danger" onClick=${remove}>${t(over ? 'imports.remove' : 'imports.cancel')}<//><//>
	<${Verdict} kind=${one.status === 'failed' ? 'bad' : over ? (c.failed ? 'warn' : 'good') : ''} icon=${over ? undefined : 'info'} line=${sentence(one)} fix=${one.error ?? (c.failed > 0 ? t('imports.fix') : undefined)} />
	<div class="page"><div class="stats">${['created', 'updated', 'skipped', 'failed'].map((count) => html`<div class="stat"><div class="stat-label">${t(`imports.${count}Rows`)}</div><div class=${`stat-value ${count === 'failed' && c.failed ? 'bad' : ''}`}>${number(c[count])}</div><div class="stat-note">${t(`imports.${count}Note`)}</div></div>`)}</div>
		<section class="section"><${Facts} pairs=${[
			[t('imports.status'), html`<${ImportStatus} of=${one.status} />`],
			[t('imports.totalRows'), number(c.total)],
			[t('imports.begun'), html`<${Time} at=${one.created_at} as="clock" />`],
			[t('imports.took'), one.completed_at && duration((new Date(one.completed_at).getTime() - new Date(one.created_at).getTime()) / 1000)],
			[t('contact.id'), html`<${Id} of=${one.id} />`],
			...one.consent.map((column) => [html`<bdi>${column.column}</bdi>`, t(`imports.${readAs[column.sense] ?? 'consentAgreed'}`)]),
		]} /></section></div>
	<div class="tools"><h2 class="grow">${t('imports.errors')}</h2>${c.failed > 0 && html`<${Csv} path=${`${path}/errors`} name="import-errors" />`}</div>
	<${Table} list=${list} label=${t('imports.errors')} empty=${html`<${Empty} icon="check" title=${t(over ? 'imports.noErrors' : 'imports.noErrorsYet')} />`} columns=${[
		{ name: t('imports.line'), class: 'w-num num', cell: (row) => number(row.line) },
		{ name: t('imports.why'), class: 'cell-name break', cell: (row) => html`<bdi>${row.message}</bdi>${row.value && html`<span class="cell-sub"><bdi>${row.value}</bdi></span>`}` },
		{ name: t('imports.value'), class: 'cell-cut w-to hide-s', cell: (row) => row.value && html`<bdi class="muted" title=${row.value}>${row.value}</bdi>` },
	]} />
	${c.failed > 10000 && html`<p class="table-foot">${t('imports.errorsCut')}</p>`}`;
}

/** The text for a column that decides who gets mail, by its sense. @type {Record<string, string>} */
const readAs = { refused: 'consentRefused', reason: 'consentRefused', bounced: 'consentBounced', complaint: 'consentBounced', status: 'consentStatus', hint: 'consentStatus' };

/** The result in a sentence. @param {any} one */
function sentence(one) {
	const c = one.counts;
	if (one.status === 'queued') return t('imports.lineQueued');
	if (one.status === 'in_progress') return t('imports.lineRunning', { n: c.total });
	if (one.status === 'failed') return t('imports.lineFailed', { n: c.total });
	return c.failed ? t('imports.lineSome', { n: c.failed, total: c.total }) : t('imports.lineAll', { n: c.total });
}
