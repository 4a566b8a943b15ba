// What DMARC and TLS reports say about a domain: sentences, advice, sums by day and source, and the reports.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { count, dayOf, reason, sentence, SourceName, tlsFailure, tlsSentence } from './domain-report-words.js';
import { Upload } from './domain-report-files.js';
import { zoneOf } from './domain-records.js';
import { number } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { mayAdmin } from './state.js';
import { Bones, Button, Copy, Empty, Facts, Failed, Icon, Notice, Section, Seg, Select, Status } from './ui/base.js';
import { Bars, few, Legend } from './ui/chart.js';
import { attempt, toast } from './ui/float.js';
import { Foot } from './ui/list.js';

/** How many sources are shown at first, and after how long the page asks again for their reverse names, in ms. */
const first = 20;
const lookUp = 4000;

/** The part of a domain's page. @param {{of: any}} props */
export function Reports({ of: d }) {
	const [days, setDays] = useState('30');
	const path = encoded`/domains/${d.id}/reports`;
	const got = useGet(path, { days });
	const list = useList('/reports', { domain: d.id }, { limit: 10 });
	const shown = useRef(/** @type {any} */ (null));
	const naming = useRef(/** @type {Promise<any>} */ (Promise.resolve()));
	shown.current = got.data ?? shown.current;
	const r = shown.current;
	const nameless = r?.sources.some((s) => s.failed && !s.reverse_name);
	useEffect(() => {
		if (!nameless) return;
		const timer = setTimeout(got.reload, lookUp); // the server looks up names after the first answer
		return () => clearTimeout(timer);
	}, [nameless, days]);
	if (got.error && !r) return html`<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!r) return html`<${Bones} />`;
	/** Names a source: each change begins with the lists that the one before left. */
	const name = (source, to) => (naming.current = naming.current.catch(() => {}).then(() => attempt(async () => {
		try {
			const { own_sources: own, other_sources: other } = await api.get(path);
			const others = (list) => list.filter((one) => one !== source);
			await api.patch(path, { own_sources: to === 'own' ? [...others(own), source] : others(own), other_sources: to === 'not_own' ? [...others(other), source] : others(other) });
			const before = own.includes(source) ? 'own' : other.includes(source) ? 'not_own' : '';
			toast(t('domain.reports.saved', { source, word: t(`domain.reports.named.${to || 'not'}`) }), { undo: () => name(source, before) });
		} finally {
			await got.reload();
		}
	})));
	const upload = mayAdmin.value && html`<${Upload} of=${d} done=${() => Promise.all([got.reload(), list.reload()])} />`;
	if (!r.reports.length) return html`<${Empty} icon="gauge" title=${t('domain.reports.none')} act=${html`<${Button} href="/manual/reports">${t('ui.manual')}<//>`}>${t('domain.reports.noneText', { name: d.name })}<//><${Ways} of=${d} to=${r.addresses} none />${upload}`;
	return html`<${Section} title=${t('domain.reports.say')} acts=${html`<${Seg} label=${t('domain.reports.period')} value=${days} onChange=${setDays} options=${['30', '90'].map((n) => [n, count('days', Number(n))])} />`}>
		<p class="prose">${r.sentences.map((s, i) => html`<span class=${i ? 'ink2' : 'medium'}>${sentence(s)} </span>`)}</p>
		${r.messages > 0 && html`<p class="muted t12 under">${t('domain.reports.from', { reporters: count('reporters', r.reporters) })}${r.uploaded > 0 && html` · ${t('domain.reports.uploadedSum', { messages: count('messages', r.uploaded) })}`}</p>`}<//>
	${r.messages > 0 && html`<${Advice} of=${r} domain=${d} name=${name} /><${ByDay} of=${r} /><${Sources} of=${r} name=${name} />`}
	${r.tls.sessions > 0 && html`<${Section} title=${t('domain.reports.tls.title')}><p class="prose">${tlsSentence(r.tls)}</p>${r.tls.failures.length > 0 && html`<ul class="items items--top">${r.tls.failures.slice(0, first).map((f) => html`<li><${Icon} name="alert" class="warn" /><span class="grow">${tlsFailure(f)}</span></li>`)}</ul>`}<//>`}
	<${Latest} list=${list} />${upload}<${Ways} of=${d} to=${r.addresses} />`;
}

/** The next step for the DMARC policy. Where it depends on whose sources fail, that is asked first. @param {any} props */
function Advice({ of: r, domain: d, name }) {
	const { code, params } = r.advice.sentence;
	const asks = ['name_sources', 'done_failing', 'stay'].includes(code);
	const box = useRef(/** @type {any} */ (null));
	const answer = async (source, to) => {
		await name(source, to);
		if (document.activeElement === document.body) (box.current.querySelector('button') ?? box.current).focus(); // the answered question is gone
	};
	const to = { go_quarantine: 'quarantine', go_reject: 'reject' }[code];
	const record = d.records.find((one) => one.record === 'DMARC');
	const own = record && record.live === 'found' && !record.inherited_from && r.addresses.dmarc; // the value is what is published
	return html`<${Section} title=${t('domain.reports.next')}><div class="stack stack--2" ref=${box} tabindex="-1">
		${asks && html`<p class="medium">${t('domain.reports.ask')}</p><ul class="items wide">${params.sources.map((s) => html`<li key=${s.source}><span class="grow break"><${SourceName} of=${s} /></span>${s.source !== 'other' && mayAdmin.value && html`<span class="row">${['own', 'not_own'].map((to) => html`<${Button} label=${`${t(`domain.reports.named.${to}`)}: ${s.source}`} onClick=${() => answer(s.source, to)}>${t(`domain.reports.named.${to}`)}<//>`)}</span>`}</li>`)}</ul>`}
		<p class="prose">${sentence(r.advice.sentence)}</p>${code !== 'publish_none' && html`<p class="muted t12">${t('domain.reports.basis')}</p>`}
		${to && html`<${Publish} name=${record.name} value=${own && record.value.replace(/(;\s*p\s*=\s*)\w+/i, `$1${to}`)} />`}
		${code === 'publish_none' && html`<${Publish} name=${record.name} value=${record.value} />`}</div><//>`;
}

/** A TXT record to publish. @param {{name: string, value: any}} props */
const Publish = ({ name, value }) => html`<${Facts} class="wide" pairs=${[[t('domain.host'), html`<${Copy} text=${name} shown />`], value && [t('domain.reports.txt'), html`<${Copy} text=${value} shown />`]].filter(Boolean)} />`;

/** The chart by day. @param {any} props */
function ByDay({ of: r }) {
	const known = new Map(r.days.map((row) => [row.day, row]));
	const bars = [];
	for (let at = Date.parse(r.since); at <= Date.parse(r.until); at += 86_400_000) {
		const day = new Date(at).toISOString().slice(0, 10);
		const row = known.get(day) ?? { messages: 0, passed: 0, failed: 0 };
		bars.push({ name: dayOf(day), value: row.messages, parts: [[row.passed, 'good'], [row.failed, 'over']], note: row.failed ? t('domain.reports.failedN', { n: row.failed }) : undefined, axis: undefined });
	}
	const every = Math.ceil(bars.length / 6);
	bars.forEach((bar, i) => {
		if (i % every === Math.floor(every / 2)) bar.axis = dayOf(new Date(Date.parse(r.since) + i * 86_400_000).toISOString(), { month: 'short' });
	});
	return html`<${Section} title=${t('domain.reports.byDay')}><${Bars} label=${t('domain.reports.messages')} bars=${bars} show=${(n) => number(n)} />
	${r.days.filter((row) => row.messages).length >= few && html`<${Legend} of=${[['good', t('domain.reports.passed')], ['over', t('domain.reports.failed')]]} />`}<//>`;
}

/** The sums by source. @param {any} props */
function Sources({ of: r, name }) {
	const [all, showAll] = useState(false);
	const rows = all ? r.sources : r.sources.slice(0, first);
	const left = r.sources.length - rows.length;
	const sum = (what) => (r.sources.length === r.all_sources ? number(r.sources.reduce((n, s) => n + s[what], 0)) : '');
	const nets = (list) => list.filter((one) => one.includes('/')).join(', ');
	const words = ['messages', 'failed', 'spf', 'dkim'].map((what) => t(`domain.reports.${what}`));
	return html`<${Section} title=${t('domain.reports.bySource')}><table class="table table--fixed" aria-label=${t('domain.reports.bySource')}><thead><tr><th scope="col">${t('domain.reports.source')}</th>${words.map((word, i) => html`<th scope="col" class=${`num ${i === 1 ? 'w-age' : 'w-num hide-s'}`}>${word}</th>`)}<th scope="col" class="w-rate">${t('domain.reports.whose')}</th></tr></thead>
	<tbody>${rows.map((s) => html`<tr key=${s.source}><td><span class="break">${s.source === 'other' ? t('domain.reports.small') : html`<bdi class="mono">${s.source}</bdi>`}</span>${s.reverse_name && html`<bdi class="cell-why" title=${s.reverse_name}>${s.reverse_name}</bdi>`}<span class="cell-sub break">${count('messages', s.messages)} · SPF ${number(s.spf)} · DKIM ${number(s.dkim)}</span></td>
		<td class="num hide-s">${number(s.messages)}</td><td class=${`num ${s.failed ? 'medium' : 'muted'}`}>${number(s.failed)}</td><td class="num hide-s">${number(s.spf)}</td><td class="num hide-s">${number(s.dkim)}</td>
		<td>${s.source !== 'other' && (mayAdmin.value ? html`<${Select} bare label=${t('domain.reports.whoseOf', { source: s.source })} value=${s.named ?? ''} onChange=${(to) => name(s.source, to)} options=${['', 'own', 'not_own'].filter((to) => to || !s.named || r.own_sources.includes(s.source) || r.other_sources.includes(s.source)).map((to) => [to, t(`domain.reports.named.${to || 'not'}`)])} />` : t(`domain.reports.named.${s.named || 'not'}`))}</td></tr>`)}</tbody>
	<tfoot><tr><td>${count('sources', r.all_sources)}<span class="cell-sub break">${count('messages', r.messages)}</span></td><td class="num hide-s">${number(r.messages)}</td><td class="num">${number(r.failed)}</td><td class="num hide-s">${sum('spf')}</td><td class="num hide-s">${sum('dkim')}</td><td></td></tr></tfoot></table>
	${left > 0 && html`<div class="table-foot"><${Button} onClick=${() => showAll(true)}>${t('ui.more')}<//></div>`}
	${[['own', nets(r.own_sources)], ['not_own', nets(r.other_sources)]].map(([who, list]) => list && html`<p class="muted t12 under break">${t(`domain.reports.nets.${who}`, { list })}</p>`)}<//>`;
}

/** The reports, also those that are kept apart. @param {{list: any}} props */
const Latest = ({ list }) => html`<${Section} title=${t('domain.reports.all')}><table class="table table--top table--fixed" aria-label=${t('domain.reports.all')}><thead><tr><th scope="col">${t('domain.reports.reporter')}</th>${['about', 'messages', 'failed'].map((word) => html`<th scope="col" class=${`hide-s w-num ${word === 'about' ? '' : 'num'}`}>${t(`domain.reports.${word}`)}</th>`)}<th scope="col">${t('domain.reports.counted')}</th></tr></thead><tbody>${list.rows.map((row) => {
	const day = dayOf(row.begin, { month: 'short' });
	const [state, word] = !row.counted ? ['warn', 'apart'] : row.origin === 'upload' ? ['neutral', 'uploaded'] : ['ok', 'counts'];
	return html`<tr key=${row.id}><td><bdi class="break">${row.reporter}</bdi> <span class="muted">${row.kind.toUpperCase()}</span><span class="cell-sub break">${day} · ${count(row.kind === 'tls' ? 'sessions' : 'messages', row.messages)}${row.failed > 0 && ` · ${t('domain.reports.failedN', { n: row.failed })}`}</span></td>
	<td class="hide-s">${day}</td><td class="num hide-s">${row.kind === 'tls' ? count('sessions', row.messages) : number(row.messages)}</td><td class="num hide-s">${number(row.failed)}</td>
	<td><${Status} of=${state} word=${t(`domain.reports.${word}`)} />${!row.counted && html`<p class="muted t12 break">${reason(row.not_counted ?? '')}</p>`}</td></tr>`;
})}</tbody></table><${Foot} list=${list} /><//>`;

/** The records that make receivers send reports. Nothing if all are found, unless none has come. @param {{of: any, to: any, none?: boolean}} props */
function Ways({ of: d, to, none = false }) {
	if (!to.dmarc) return html`<div class="domain-note"><${Notice}>${t('domain.reports.noHost')}<//></div>`;
	const find = (name) => d.records.find((one) => one.record === name);
	const asks = (one) => one.live === 'found' && !one.detail && !one.inherited_from;
	const [dmarc, tls] = [find('DMARC'), find('TLSRPT')];
	const host = to.dmarc.split('@')[1];
	const zone = zoneOf(d.name);
	const step = (title, name, value) => html`<li><p class="prose">${title}</p><${Publish} name=${name} value=${value} /></li>`;
	const steps = [
		dmarc.inherited_from ? step(t('domain.reports.steps.inherited', { name: dmarc.inherited_from }), `_dmarc.${dmarc.inherited_from}`, `mailto:${to.dmarc}`)
			: asks(dmarc) ? none && html`<li>${t('domain.reports.steps.asked')}</li>` : step(t(dmarc.live === 'found' ? 'domain.reports.steps.replace' : 'domain.reports.steps.add'), dmarc.name, dmarc.value),
		tls && !asks(tls) && step(t('domain.reports.steps.tls'), tls.name, tls.value),
	].filter(Boolean);
	if (!steps.length) return null;
	if (host !== zone && !host.endsWith(`.${zone}`)) steps.push(step(t('domain.reports.steps.operator', { host }), `*._report._dmarc.${host}`, 'v=DMARC1'));
	return html`<${Section} title=${t('domain.reports.get')}><ol class="reports-steps">${steps}</ol><p class="muted t12 under">${t('domain.reports.steps.wait')}</p><//>`;
}
