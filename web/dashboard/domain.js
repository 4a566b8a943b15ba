// One domain: expected and found records, problems, and tracking.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { say, t } from './i18n.js';
import { base, go, place, setQuery } from './router.js';
import { mayAdmin } from './state.js';
import { Bones, Button, Failed, Head, Tabs, Time, Verdict } from './ui/base.js';
import { attempt, confirm, dialog, Menu, toast } from './ui/float.js';
import { PublishRecords, RememberedToken } from './domain-publish.js';
import { Records, Readiness } from './domain-records.js';
import { Receiving } from './domain-receiving.js';
import { Reports } from './domain-reports.js';
import { Tracking } from './domain-tracking.js';
import { encoded } from './paths.js';

/** How long a check is watched, and how often it is looked at, in ms. */
const watched = 60_000;
const pace = 2500;

/** The head of a domain's page: kind, sentence, action. @param {any} d */
export function verdict(d) {
	const records = d.records.filter((r) => r.record !== 'Tracking' && r.record !== 'Receiving');
	const wrong = records.find((r) => r.required && (r.live === 'mismatch' || r.live === 'missing'));
	const soft = records.filter((r) => !r.required && (r.live === 'mismatch' || r.live === 'missing'));
	if (d.paused?.length) return { kind: 'bad', line: t('domain.refused', { name: d.name }), fix: d.paused.map((p) => p.reason).join(' ') };
	const next = records.find((r) => r.dkim_key === 'next');
	if (d.status === 'verified') {
		if (wrong) return { kind: 'warn', line: t('domain.lost', { record: wrong.record }), fix: wrong.detail ?? t('domain.lostFix', { name: wrong.name }) };
		if (next) return { kind: 'neutral', line: t('domain.nextKey'), fix: next.live === 'mismatch' && next.detail ? next.detail : t('domain.nextKeyFix', { name: next.name }) };
		return { kind: 'good', line: t('domain.ready', { name: d.name }), fix: soft.length ? t('domain.readySoft', { n: soft.length, records: soft.map((r) => r.record).join(', ') }) : null };
	}
	const silent = records.find((r) => r.required && r.live === 'unknown' && r.detail && d.status !== 'not_started');
	if (!wrong && silent) return { kind: 'neutral', line: t('domain.noAnswer'), fix: silent.detail };
	if (wrong) return { kind: wrong.live === 'mismatch' ? 'bad' : 'warn', line: t(wrong.live === 'mismatch' ? 'domain.wrong' : 'domain.missing', { record: wrong.record }), fix: wrong.detail ?? t('domain.missingFix', { name: wrong.name }) };
	if (d.status === 'pending') return { kind: 'neutral', line: t('domain.pending'), fix: t('domain.pendingFix') };
	return { kind: 'neutral', line: t('domain.notStarted'), fix: t('domain.notStartedFix') };
}

async function remove(d) {
	await attempt(async () => {
		const { data, has_more: more } = await api.get('/api-keys', { limit: 100 });
		const bound = data.filter((k) => k.domain_id === d.id);
		const text = bound.length ? t('domain.deleteKeys', { n: bound.length, names: bound.map((k) => k.name).join(', ') }) : t(more ? 'domain.deleteText' : 'domain.deleteAlone');
		if (!(await confirm({ title: t('domain.deleteTitle', { name: d.name }), text, act: t('domain.deleteAct') }))) return;
		await api.del(encoded`/domains/${d.id}`);
		toast(t('domain.deleted', { name: d.name }));
		go('/domains');
	});
}

/** The page. @param {{params: {id: string}}} props */
export default function Domain({ params }) {
	const got = useGet(encoded`/domains/${params.id}`);
	const [watching, watch] = useState(false);
	const [asked, setAsked] = useState('');
	const d = got.data;
	const reload = useRef(got.reload);
	reload.current = got.reload;
	useEffect(() => {
		if (!watching) return;
		const every = setInterval(() => document.hidden || reload.current(), pace);
		const end = setTimeout(() => watch(false), watched);
		return () => {
			clearInterval(every);
			clearTimeout(end);
		};
	}, [watching]);
	useEffect(() => {
		// A domain that waits for its records is polled while the page is open.
		if (!d || d.status === 'verified') return;
		const every = setInterval(() => document.hidden || reload.current(), 15_000);
		return () => clearInterval(every);
	}, [d?.status]);
	if (got.error && !d) return html`<${Head} path=${[[t('domains.title'), `${base}/domains`]]} title=${t('domain.one')} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!d) return html`<${Head} path=${[[t('domains.title'), `${base}/domains`]]} title="…" text=${t('domains.title')} /><${Bones} />`;
	const check = () => attempt(async () => {
		await api.post(encoded`/domains/${d.id}/verify`);
		setAsked(new Date().toISOString());
		watch(true);
		await got.reload();
	});
	const rotate = () => attempt(async () => {
		got.set(await api.post(encoded`/domains/${d.id}/dkim/rotate`));
		setQuery({ tab: null });
		watch(true);
	}, t('domain.rotated'));
	const publish = async () => {
		if (!(await dialog((close) => html`<${PublishRecords} close=${close} of=${d} />`))) return;
		setAsked(new Date().toISOString());
		watch(true);
		await got.reload();
	};
	const at = place.value.query.get('tab') ?? 'records';
	const says = verdict(d);
	return html`<${Head} path=${[[t('domains.title'), `${base}/domains`]]} title=${d.name} note=${watching && html`<span class="live">${t('domain.watching')}</span>`}>
		${mayAdmin.value && html`<${Button} icon="globe" onClick=${publish}>${t('domain.publish.act')}<//><${Button} icon="refresh" onClick=${check}>${t('domain.check')}<//><${Menu} label=${t('ui.acts')} items=${[!d.records.some((r) => r.dkim_key === 'next') && { icon: 'refresh', name: t('domain.rotate'), run: rotate }, { icon: 'trash', name: t('domain.delete'), danger: true, run: () => remove(d) }]} />`}<//>
	<${Verdict} kind=${says.kind} line=${says.line} fix=${html`${says.fix} ${asked && html`<span class="muted">${say('domain.asked', { time: html`<${Time} at=${asked} as="ago" />` })}</span>`}`} />
	<${Tabs} label=${t('domain.one')} at=${at} onChange=${(tab) => setQuery({ tab: tab === 'records' ? null : tab })} tabs=${[['records', t('domain.records')], ['tracking', t('domains.tracking')], ['receiving', t('domain.receiving.title')], ['reports', t('domain.reports.title')]]} />
	<div class="page">${at === 'tracking' ? html`<${Tracking} of=${d} changed=${got.set} />` : at === 'receiving' ? html`<${Receiving} of=${d} changed=${got.set} />` : at === 'reports' ? html`<${Reports} of=${d} />` : html`<${Records} of=${d} said=${says.fix} /><${RememberedToken} of=${d} changed=${got.set} /><${Readiness} of=${d} />`}</div>`;
}
