// The report of a broadcast: results, clicks, and recipients.
import { html, useEffect, useMemo, useState } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { BroadcastStatus, cancel, duplicate, pause, unschedule } from './broadcasts.js';
import { clock, exact, mailbox, number, percent, size } from './format.js';
import { say, t } from './i18n.js';
import { encoded } from './paths.js';
import { languageName } from './language-names.js';
import { People } from './report-people.js';
import { base, go, place } from './router.js';
import { me } from './state.js';
import { Bones, Button, Empty, Failed, Head, Section, Sections, Verdict } from './ui/base.js';
import { Bars, Meter } from './ui/chart.js';
import { attempt, Menu } from './ui/float.js';
import { Paper } from './ui/frame.js';
import { Csv, Table } from './ui/list.js';

/** The page. @param {{params: {id: string}}} props */
export default function Report({ params }) {
	const { id } = params;
	const { data, error, reload } = useGet(encoded`/broadcasts/${id}`, undefined, { live: (e) => e.name === 'broadcast' && e.id === id });
	const at = place.value.query.get('tab') ?? '';
	const path = [[t('broadcasts.title'), `${base}/broadcasts`]];
	useEffect(() => {
		if (data?.status === 'draft') go(encoded`/broadcasts/${id}`, { replace: true });
	}, [data?.status]);
	if (error && !data) return html`<${Head} title=${t('report.title')} path=${path} /><${Failed} error=${error} retry=${reload} />`;
	if (!data || data.status === 'draft') return html`<${Head} title=${t('report.title')} path=${path} /><${Bones} />`;
	const here = base + encoded`/broadcasts/${id}/report`;
	const to = (tab) => (tab ? `${here}?tab=${tab}` : here);
	const stoppable = data.status === 'queued' || data.status === 'scheduled';
	return html`<${Head} title=${data.name} path=${path} note=${html`<${BroadcastStatus} of=${data} />`}>
		${data.status === 'queued' && html`<${Button} icon=${data.paused_at ? 'play' : 'pause'} onClick=${() => pause(data, reload)}>${t(data.paused_at ? 'broadcasts.resume' : 'broadcasts.pause')}<//>`}
		${data.status === 'scheduled' && html`<${Undo} of=${data} />`}
		${data.status === 'canceled' && data.counts.canceled > 0 && html`<${Button} icon="send" onClick=${() => toRest(data)}>${t('report.sendRest', { n: data.counts.canceled })}<//>`}
		${stoppable && html`<${Button} kind="danger" onClick=${() => cancel(data, reload)}>${t('report.cancel')}<//>`}
		${data.status === 'sent' && data.counts.delivered > data.counts.opened && html`<${Button} class="hide-s" onClick=${() => toUnopened(data)}>${t('report.duplicateUnopened')}<//>`}
		<${Csv} path=${encoded`/broadcasts/${id}/recipients`} name=${`broadcast-${id}`} />
		<${Menu} label=${t('ui.acts')} items=${[{ icon: 'copy', name: t('report.duplicate'), run: () => duplicate(id) }, data.status === 'sent' && { icon: 'copy', name: t('report.duplicateUnopened'), run: () => toUnopened(data) }]} /><//>
	<${Line} of=${data} />
	<${Sections} label=${t('report.tabs')} at=${to(at)} links=${['', 'links', 'people', 'time'].map((tab) => [t(`report.${tab || 'summary'}`), to(tab)])} />
	${at === 'links' ? html`<${Links} of=${data} />` : at === 'people' ? html`<div class="page"><${People} of=${data} limit=${50} /></div>` : at === 'time' ? html`<${OverTime} of=${data} />` : html`<${Summary} of=${data} />`}`;
}

/** Creates a segment of recipients with a result, and a draft for them. */
const toPeople = (b, outcome, name, done) => attempt(async () => {
	const segment = await api.post(encoded`/broadcasts/${b.id}/segment`, { name: name.slice(0, 200), outcome });
	const made = await api.post(encoded`/broadcasts/${b.id}/duplicate`);
	await api.patch(encoded`/broadcasts/${made.id}`, { segment_id: segment.id });
	go(encoded`/broadcasts/${made.id}`);
}, done);

const toUnopened = (b) => toPeople(b, 'not_opened', t('report.duplicateName', { name: b.name }), t('report.duplicating'));
const toRest = (b) => toPeople(b, 'canceled', t('report.restName', { name: b.name }), t('report.restDone'));

/** How long after Send a broadcast begins, in ms, with some time for the request. */
const undoTime = 8000;

/** Whether a broadcast was sent just now, and begins in a moment. */
const beginsNow = (of) => of.status === 'scheduled' && new Date(of.scheduled_at).getTime() - Date.now() < undoTime;

/** Unschedules a broadcast. */
function Undo({ of }) {
	const [soon] = useState(() => beginsNow(of));
	return html`<${Button} kind=${soon ? 'primary' : ''} onClick=${() => unschedule(of)}>${t(soon ? 'ui.undo' : 'broadcasts.unschedule')}<//>`;
}

function Line({ of }) {
	const c = of.counts;
	const done = c.recipients - c.remaining;
	const n = of.status === 'sent' ? c.sent : c.recipients;
	const words = beginsNow(of) ? t('report.sending') : of.paused_at ? t('report.linePaused', { n: c.recipients, done }) : of.status === 'scheduled' ? t('report.line.scheduled', { time: clock(of.scheduled_at) }) : of.status === 'canceled' ? t('report.line.canceled', { n: c.recipients, done: c.recipients - c.canceled }) : t(`report.line.${of.status}`, { n, done });
	const line = of.status === 'sent' && c.delivered && c.opened ? t('report.openedLine', { line: words, rate: percent(c.opened / c.delivered, 0) }) : words;
	const unheard = Math.max(0, c.sent - c.delivered - c.bounced);
	const from = html`<span class="mono">${mailbox(of.from).address}</span>`;
	const at = of.sent_at && html`<time datetime=${of.sent_at} title=${exact(of.sent_at)}>${clock(of.sent_at)}</time>`;
	const fix = of.status === 'scheduled' ? t('report.fixScheduled', { n: c.recipients }) : of.status === 'canceled' ? t('report.fixCanceled', { n: c.canceled })
		: of.paused_at ? t('report.fixPaused', { n: c.remaining }) : of.status === 'queued' ? of.finishes_at ? t('report.fixQueued', { n: c.remaining, time: clock(of.finishes_at) }) : t('report.fixWait', { n: c.remaining })
		: say('report.fixSent', { time: at ?? '–', from, n: unheard });
	return html`<${Verdict} kind=${of.status === 'canceled' ? 'warn' : of.status === 'sent' ? 'good' : 'neutral'} line=${line} fix=${fix} icon=${of.paused_at ? 'st-resting' : { scheduled: 'st-scheduled', queued: 'st-sent', canceled: 'st-canceled' }[of.status]} />
	${of.status === 'queued' && html`<div class="section-line"><${Meter} thick part=${c.recipients ? done / c.recipients : 0} label=${t('broadcasts.progress', { done, n: c.recipients })} /></div>`}`;
}

/** Rates at which guardrails warn, or slow and pause sending. */
const lines = { bounced: [0.04, 0.05], complained: [0.0005, 0.001] };

function Funnel({ counts }) {
	const row = (name, of, part = of ? counts[name] / of : 0) => {
		const limit = lines[name];
		const enforced = me.value.guardrails === 'enforce';
		const top = limit ? limit[1] * 1.2 : 1;
		const digits = part === 1 || !part ? 0 : part < 0.001 ? 3 : 2;
		const width = `${100 * Math.min(1, part / top)}%`;
		return html`<span class="ink2">${t(`report.${name}`)}</span><svg role="img" aria-label=${`${t(`report.${name}`)}: ${number(counts[name])}, ${percent(part, digits)}`}><rect class="meter-ground" y="4" width="100%" height="8" rx="2" /><rect class="meter-fill" y="4" width=${width} height="8" rx="2" />${limit?.slice(0, enforced ? 2 : 1).map((l) => html`<line class="scale-line" x1=${`${100 * l / top}%`} x2=${`${100 * l / top}%`} y1="0" y2="16" />`)}</svg><span class="num medium">${number(counts[name])}</span><span class="num muted">${of ? percent(part, digits) : '–'}</span>
		${limit && html`<span class="funnel-note">${t(enforced ? 'report.scale' : 'report.warnScale', { top: percent(top, limit[1] < 0.01 ? 2 : 0), slow: percent(limit[0], limit[1] < 0.01 ? 2 : 0), stop: percent(limit[1], limit[1] < 0.01 ? 1 : 0) })}</span>`}${name === 'opened' && html`<span class="funnel-note">${t('report.ofDelivered')}</span>`}`;
	};
	return html`<div class="funnel">${row('sent', counts.recipients)}${row('delivered', counts.sent)}${row('opened', counts.delivered)}${row('clicked', counts.delivered)}${row('bounced', counts.sent)}${row('complained', counts.delivered)}${row('unsubscribed', counts.delivered)}${counts.suppressed > 0 && row('suppressed', counts.recipients)}${counts.failed > 0 && row('failed', counts.recipients)}${counts.canceled > 0 && row('canceled', counts.recipients)}</div>`;
}

function Summary({ of }) {
	return html`<div class="page"><div class="cols"><div><${Section} title=${t('report.became')}><${Funnel} counts=${of.counts} />${!of.counts.opened && !of.counts.clicked && html`<p class="t12 muted">${t('report.notSeen')}</p>`}<//>
	<${ByLanguage} of=${of} /><${People} of=${of} limit=${6} short /></div>
	<${Section} title=${t('report.where')}><${Shares} of=${of} />${of.attachments?.length > 0 && html`<p class="t13r ink2 break">${t('email.tabs.attachments')}: <bdi>${of.attachments.map((file) => `${file.filename} (${size(file.size)})`).join(', ')}</bdi></p>`}<div class="gap"><${Paper} of=${encoded`/broadcasts/${of.id}/preview`} body=${{ clicks: true }} stamp=${`${of.id} ${of.counts.clicked}`} /></div><//></div></div>`;
}

/** The results by language, of a broadcast that was written in several. */
function ByLanguage({ of }) {
	if (!of.languages?.length) return null;
	const rate = (n, all) => (all ? percent(n / all, 0) : '–');
	return html`<${Section} title=${t('languages.title')}><table class="table"><caption class="vh">${t('languages.title')}</caption><thead><tr><th scope="col">${t('languages.one')}</th>${['recipients', 'delivered', 'opened', 'clicked'].map((name) => html`<th scope="col" class="num">${t(name === 'recipients' ? 'broadcasts.people' : `report.${name}`)}</th>`)}</tr></thead><tbody>
	${of.languages.map((row) => html`<tr><td>${row.language ? languageName(row.language) : t('languages.default')}</td><td class="num">${number(row.recipients)}</td><td class="num">${number(row.delivered)}</td><td class="num">${rate(row.opened, row.delivered)}</td><td class="num">${rate(row.clicked, row.delivered)}</td></tr>`)}</tbody></table><//>`;
}

function useLinks(of) {
	const list = useList(encoded`/broadcasts/${of.id}/clicked-links`, {}, { limit: 50, live: (e) => e.name === 'broadcast' && e.id === of.id });
	const all = list.rows.reduce((sum, row) => sum + row.clicks, 0);
	return { list, all };
}

/** Each link with its share of the clicks, next to the mail that shows them. */
function Shares({ of }) {
	const { list, all } = useLinks(of);
	if (!list.rows.length) return html`<p class="muted t13r">${list.loading ? '' : t('report.noLinksText')}</p>`;
	return html`<p class="muted t12">${t('report.whereNote')}</p><div class="funnel shares">${list.rows.slice(0, 10).map((row) => html`<span class="share-name cut" title=${row.url}><bdi>${row.url.replace(/^https?:\/\//, '')}</bdi></span><svg role="img" aria-label=${`${row.url}: ${percent(row.clicks / all)}`}><rect class="meter-ground" y="4" width="100%" height="8" rx="2" /><rect class="meter-fill" y="4" width=${`${100 * row.clicks / all}%`} height="8" rx="2" /></svg><span class="num medium">${number(row.clicks)}</span><span class="num muted">${percent(row.clicks / all, 0)}</span>`)}</div>`;
}

function Links({ of }) {
	const { list, all } = useLinks(of);
	return html`<${Table} list=${list} label=${t('report.links')} empty=${html`<${Empty} icon="link" title=${t('report.noLinks')}>${t('report.noLinksText')}<//>`} columns=${[
		{ name: t('report.link'), class: 'cell-name cell-cut', cell: (row) => html`<bdi class="mono" title=${row.url}>${row.url}</bdi><span class="cell-sub">${number(row.unique_clicks)}, ${percent(row.clicks / all, 0)}</span>` },
		{ name: t('report.uniqueClicks'), class: 'w-rate num hide-s', cell: (row) => number(row.unique_clicks) },
		{ name: t('report.clicks'), class: 'w-rate num', cell: (row) => number(row.clicks) },
		{ name: t('report.share'), class: 'w-rate num hide-s', cell: (row) => percent(row.clicks / all) },
	]} />`;
}

function OverTime({ of }) {
	const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
	const from = useMemo(() => new Date(of.scheduled_at && of.status !== 'scheduled' ? of.scheduled_at : of.created_at), [of.id]);
	const until = useMemo(() => new Date(Math.min(Date.now(), (of.sent_at ? new Date(of.sent_at) : new Date()).getTime() + 3 * 86_400_000)), [of.sent_at]);
	const hours = (until.getTime() - from.getTime()) / 3600_000;
	const { data, error, reload } = useGet('/emails/metrics', { broadcast_id: of.id, dimensions: 'period', granularity: hours > 96 ? 'daily' : 'hourly', timezone: zone, start_date: new Date(from.getTime() - from.getTime() % 3600_000).toISOString(), end_date: until.toISOString() });
	if (error) return html`<${Failed} error=${error} retry=${reload} />`;
	if (!data) return html`<${Bones} />`;
	if (!data.data.some((row) => row.sent || row.delivered || row.opened || row.clicked)) return html`<${Empty} icon="overview" title=${t('report.noTime')} />`;
	const every = Math.ceil(data.data.length / 8);
	const chart = (name) => html`<${Section} title=${t(`report.${name}`)}><${Bars} label=${t(`report.${name}`)} show=${(v) => number(v)} bars=${data.data.map((row, i) => ({ name: clock(row.period), axis: i % every ? undefined : clock(row.period), value: row[name] }))} /><//>`;
	return html`<div class="page">${['sent', 'delivered', 'opened', 'clicked'].filter((name) => name === 'sent' || data.data.some((row) => row[name])).map(chart)}</div>`;
}
