// The overview: rates and their limits, waiting mail, relays, running broadcasts, latest
// failures; before the first email, the next steps.
import { html } from './lib/core.js';
import { useGet } from './api.js';
import { leaving } from './counts.js';
import { day, number, percent } from './format.js';
import { language, say, t } from './i18n.js';
import { base, place, setQuery } from './router.js';
import { me, team } from './state.js';
import { Live } from './emails.js';
import { Failures, useFailures } from './overview-failures.js';
import { FirstSteps } from './overview-first.js';
import { OwnInvitations } from './own-invitations.js';
import { encoded } from './paths.js';
import { grouped, lookOf } from './queue-words.js';
import { Light, Relays } from './relays-lights.js';
import { Bones, Empty, Failed, Head, Icon, Notice, Section, Seg, Select, Status, Time } from './ui/base.js';
import { Bars, few, Legend, Meter, Scale } from './ui/chart.js';

/** Lines of the guardrails, in per cent. */
const lines = { bounces: [4, 5], complaints: [0.05, 0.1] };

const periods = { '24h': 24, '7d': 24 * 7, '30d': 24 * 30 };

const hour = 3_600_000;
const day24 = 24 * hour;

/**
 * The query whose rows contain all numbers: the period, an equal time before it, and seven
 * days. It begins at a full hour, so that the cached answer can be used. For 30 days the rows
 * are local days, otherwise hours.
 */
function questionOf(period, domain) {
	const daily = period === '30d';
	const end = daily ? new Date().setHours(24, 0, 0, 0) : Math.ceil(Date.now() / hour) * hour;
	const length = periods[period] * hour;
	const start = new Date(end - Math.max(2 * length, 7 * day24));
	if (daily) start.setHours(start.getHours() > 12 ? 24 : 0, 0, 0, 0); // a day may have 23 or 25 hours
	return { query: { timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, domain_id: domain, start_date: start.toISOString(), dimensions: 'period', granularity: daily ? 'daily' : 'hourly', metrics: 'sent,delivered,bounced,bounced_permanent,complained,failed' }, end, length };
}

const metrics = ['sent', 'delivered', 'bounced', 'bounced_permanent', 'complained', 'failed'];

/** The sum of rows. @param {any[]} rows */
const sum = (rows) => Object.fromEntries(metrics.map((m) => [m, rows.reduce((n, r) => n + r[m], 0)]));

/** The figures of a period, out of the rows of its question. */
function figuresOf(data, { end, length }, period) {
	const within = (from, to) => data.data.filter((r) => Date.parse(r.period) >= from && Date.parse(r.period) < to);
	const slack = data.granularity === 'daily' ? hour : 0; // as above
	const now = within(end - length - slack, end + slack);
	return { now: sum(now), before: sum(within(0, end - length - slack)), week: sum(within(end - 7 * day24 - slack, end + slack)), rows: period === '7d' ? byDay(now) : now, hourly: period === '24h' };
}

/** Hours grouped into local days. @param {any[]} rows */
function byDay(rows) {
	const days = Map.groupBy(rows, (r) => new Date(r.period).toDateString());
	return [...days.values()].map((of) => ({ ...sum(of), period: of[0].period }));
}

function Figure({ label, value, small, note, children }) {
	return html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value ?? html`<span class="muted">–</span>`}${small !== undefined && html` <small>${small}</small>`}</p>${children}<p class="stat-note">${note}</p></div>`;
}

/** A rate of seven days against the lines of the guardrail. */
function Rate({ label, part, n, sent, marks, digits, of }) {
	if (sent < 100) return html`<${Figure} label=${label} note=${t('overview.from100')} />`;
	const value = part * 100;
	const words = { slow: percent(marks[0] / 100, digits - 1), pause: percent(marks[1] / 100, digits - 1) };
	const enforced = me.value.guardrails === 'enforce';
	const near = value >= marks[0] ? html`<span class="bad medium">${t('overview.over')}</span> ` : value >= marks[0] * 0.8 ? html`<span class="warn medium">${t('overview.close')}</span> ` : '';
	return html`<${Figure} label=${label} value=${percent(part, digits)} small=${number(n)} note=${html`${near}${t(enforced ? 'overview.lines' : 'overview.warnLines', words)}`}><${Scale} value=${value} lines=${marks} label=${t(enforced ? `overview.scale.${of}` : 'overview.warnScale', { value: percent(part, digits), ...words })} /><//>`;
}

function Figures({ now, before, week: w, period }) {
	const { sent, delivered } = now;
	const change = before.sent ? (sent - before.sent) / before.sent : null;
	return html`<section class="stats" aria-label=${t('overview.figures')}>
	<${Figure} label=${t('overview.sent')} value=${number(sent)} note=${!sent ? t('overview.nothingYet') : change === null ? t('overview.noneBefore') : t(change < 0 ? 'overview.less' : 'overview.more', { part: percent(Math.abs(change), 0), period: t(`overview.before.${period}`) })} />
	<${Figure} label=${t('overview.delivered')} value=${sent && delivered ? percent(Math.min(1, delivered / sent)) : null} small=${delivered ? number(delivered) : undefined} note=${delivered ? t('overview.unreported', { n: Math.max(0, sent - delivered - now.bounced) }) : t('overview.onceReported')} />
	<${Rate} of="bounces" label=${t('overview.bounces')} part=${w?.sent ? w.bounced_permanent / w.sent : 0} n=${w?.bounced_permanent ?? 0} sent=${w?.sent ?? 0} marks=${lines.bounces} digits=${2} />
	<${Rate} of="complaints" label=${t('overview.complaints')} part=${w?.sent ? w.complained / w.sent : 0} n=${w?.complained ?? 0} sent=${w?.sent ?? 0} marks=${lines.complaints} digits=${3} /></section>`;
}

/** Names of the bars: hours or days. */
const hourOf = (at) => new Intl.DateTimeFormat(language.value, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(new Date(at));

/** The results of the emails of a bar: delivered, pending, not delivered. @returns {[number, string][]} */
function partsOf(row) {
	const lost = Math.min(row.sent, row.bounced + row.failed);
	const delivered = Math.min(row.sent - lost, row.delivered);
	return [[delivered, 'good'], [row.sent - lost - delivered, ''], [lost, 'over']];
}

function Charts({ rows, hourly, period }) {
	const every = Math.ceil(rows.length / 8);
	const named = rows.map((r, i) => ({ name: hourly ? hourOf(r.period) : day(r.period), axis: i % every === 0 ? (hourly ? hourOf(r.period) : day(r.period)) : undefined, row: r }));
	const most = rows.findIndex((r) => r.sent > 0 && r.sent === Math.max(...rows.map((one) => one.sent)));
	const sent = named.map((b, i) => ({ name: b.name, axis: b.axis, value: b.row.sent, parts: partsOf(b.row), word: i === most ? number(b.row.sent) : undefined, note: b.row.bounced + b.row.failed ? t('overview.lost', { n: b.row.bounced + b.row.failed }) : undefined }));
	const rate = named.map((b) => {
		const value = b.row.sent ? (100 * b.row.bounced_permanent) / b.row.sent : 0;
		const bad = value >= lines.bounces[0] && b.row.sent >= 20;
		return { name: b.name, axis: b.axis, value, bad, word: bad ? percent(value / 100, 1) : undefined, note: t('overview.ofSent', { n: b.row.bounced_permanent, sent: b.row.sent }) };
	});
	// The scale is the data's: the limit is drawn if the data comes near it.
	const near = Math.max(...rate.map((b) => b.value)) >= lines.bounces[0] / 2;
	const line = { value: lines.bounces[0], word: t(me.value.guardrails === 'enforce' ? 'overview.slowAt' : 'overview.warnAt') };
	return html`<${Section} title=${t(hourly ? 'overview.byHour' : 'overview.byDay')} acts=${html`<span class="t12 muted">${t('overview.zone', { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}</span>`}>
	<${Bars} label=${t(hourly ? 'overview.byHour' : 'overview.byDay')} bars=${sent} show=${(v) => number(v)} height=${168} table=${false} least=${4} key=${`s${period}`} />
	${sent.filter((b) => b.value > 0).length >= few && html`<${Legend} of=${[['good', t('overview.parts.delivered')], ['', t('overview.parts.open')], ['over', t('overview.parts.lost')]]} />`}
	${rows.some((r) => r.bounced_permanent) && html`<p class="t12 muted chart-title">${near ? t('overview.bounceRate') : t('time.joined', { one: t('overview.bounceRate'), two: line.word })}</p><${Bars} label=${t('overview.bounceRate')} bars=${rate} show=${(v) => percent(v / 100, near ? 0 : 2)} height=${104} table=${false} least=${near ? 4 : 0.1} limits=${near ? [line] : []} key=${`b${period}`} />`}
	<details class="fold"><summary><${Icon} name="right" />${t('ui.asTable')}</summary><table class="table"><thead><tr><th>${t('ui.when')}</th><th class="num">${t('overview.sent')}</th><th class="num">${t('overview.lostHead')}</th><th class="num">${t('overview.hard')}</th></tr></thead><tbody>${named.map((b) => html`<tr><td>${b.name}</td><td class="num">${number(b.row.sent)}</td><td class="num">${number(b.row.bounced + b.row.failed)}</td><td class="num">${number(b.row.bounced_permanent)}</td></tr>`)}</tbody></table></details><//>`;
}

function Waiting({ queue }) {
	const groups = grouped(queue.by).slice(0, 6);
	return html`<${Section} title=${t('overview.waiting')} acts=${html`<a class="link t13r" href=${base + '/queue'}>${t('queue.title')}</a>`}>
	<p class="stat-value">${number(queue.waiting)} <small>${queue.oldest && queue.waiting ? say('overview.oldest', { time: html`<${Time} at=${queue.oldest} />` }) : queue.waiting ? '' : t('overview.noneWaits')}</small></p>
	${groups.length > 0 && html`<table class="table table--plain"><thead class="vh"><tr><th>${t('queue.reason')}</th><th>${t('queue.emails')}</th></tr></thead><tbody>${groups.map((g) => html`<tr key=${g.key}><td><a href=${base + encoded`/queue?tab=emails&relay=${g.relay}&state=${g.state}`} title=${g.detail}><${Status} of=${lookOf(g.state)} word=${g.state === 'relay' ? `${g.word}: ${g.relay}` : g.word} /></a></td><td class="num">${number(g.count)}</td></tr>`)}</tbody></table>`}<//>`;
}

/** Broadcasts being sent, with their live progress. */
function Flight() {
	const rows = leaving.value ?? [];
	if (!rows.length) return null;
	return html`<${Section} title=${t('overview.flight', { n: rows.length })} acts=${html`<a class="link t13r" href=${base + '/broadcasts'}>${t('broadcasts.title')}</a>`}><div class="stack">${rows.map((b) => {
		const done = b.told?.done ?? b.sent_count;
		const total = b.told?.total;
		return html`<div class="stack stack--2 wide" key=${b.id}><div class="row row--wrap wide"><a class="medium" href=${base + encoded`/broadcasts/${b.id}/report`}><bdi>${b.name || t('overview.unnamed')}</bdi></a><span class="muted t13r push">${total ? t('overview.doneOf', { n: done, total }) : t('overview.done', { n: done })}${b.finishes_at ? html` · ${say('overview.finishes', { time: html`<${Time} at=${b.finishes_at} as="both" />` })}` : ''}</span></div>${total ? html`<${Meter} thick part=${done / total} label=${t('overview.doneOf', { n: done, total })} />` : ''}</div>`;
	})}</div><//>`;
}

/** Findings that need an operator's attention. */
const Needs = ({ needs }) => needs.length > 0 && html`<div class="stack stack--2 overview-needs">${needs.slice(0, 4).map((n) => html`<${Notice} kind="bad" icon="alert">${n.what}. <code>${n.fix}</code><//>`)}</div>`;

/** An operator of no team sees the server alone. */
function Server() {
	const got = useGet('/status', {}, { team: null, every: 15, live: (e) => e.name === 'queue' || e.name === 'relay' });
	if (got.error && !got.data) return html`<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`<${Bones} />`;
	return html`<div class="page"><${Needs} needs=${got.data.needs} /><div class="cols"><${Waiting} queue=${got.data.queue} /><${Section} title=${t('relays.title')}><ul class="items">${got.data.relays.map((r) => html`<${Light} key=${r.region} of=${r} />`)}</ul><//></div></div>`;
}

/** The page. */
export default function Overview() {
	if (!team.value) return html`<${Head} title=${t('overview.title')} note=${html`<${Live} />`} />${me.value.operator ? html`<${Server} />` : html`<div class="page"><${OwnInvitations} /></div><${Empty} icon="teams" title=${t('overview.noTeam')}>${t('overview.noTeamText')}<//>`}`;
	return html`<${OfTeam} />`;
}

function OfTeam() {
	const asked = place.value.query.get('period') ?? '';
	const period = asked in periods ? asked : '24h';
	const domain = place.value.query.get('domain') ?? undefined;
	const moves = (e) => e.name === 'email' || e.name === 'queue';
	const question = questionOf(period, domain);
	const got = useGet('/emails/metrics', question.query, { every: 15 });
	const of = got.data && figuresOf(got.data, question, period);
	const domains = useGet('/domains', { limit: 100 });
	const queue = useGet('/queue', { limit: 1 }, { live: moves, every: 15 });
	const failures = useFailures(); // asked for with the others, not after them
	const { capturing } = me.value;
	const none = of && !of.now.sent && !of.week.sent;
	const newest = useGet(none ? '/emails' : null, { limit: 5 }, { live: moves });
	const head = html`<${Head} title=${t('overview.title')} note=${html`<${Live} />`}><${Seg} label=${t('overview.period')} value=${period} onChange=${(p) => setQuery({ period: p === '24h' ? null : p })} options=${Object.keys(periods).map((p) => [p, t(`overview.periods.${p}`)])} /><span class="hide-s"><${Select} bare label=${t('overview.domain')} value=${domain ?? ''} onChange=${(d) => setQuery({ domain: d || null })} options=${[['', t('overview.allDomains')], ...(domains.data?.data ?? []).map((d) => [d.id, d.name])]} /></span><//>`;
	if (got.error && !got.data) return html`${head}<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!of || (none && !newest.data)) return html`${head}<${Bones} />`;
	const first = none && newest.data.data.every((e) => ['queued', 'scheduled', 'suppressed', 'failed', 'canceled', 'delivery_delayed'].includes(e.last_event)) && !newest.data.has_more;
	return html`${head}<div class=${`page ${first ? 'page--text' : ''}`}>${capturing && html`<${Notice}>${t('overview.capturing')}<//>`}<${FirstSteps} domains=${domains.data?.data} emails=${first ? newest.data.data : null} capturing=${capturing} />
	<${Figures} now=${of.now} before=${of.before} week=${of.week} period=${period} />
	${!first && html`<${Charts} rows=${of.rows} hourly=${of.hourly} period=${period} />`}
	${(!first || queue.data?.waiting > 0) && html`<div class=${me.value.operator ? 'cols' : ''}>${queue.data && html`<${Waiting} queue=${queue.data} />`}${me.value.operator && html`<${Section} title=${t('relays.title')} acts=${html`<a class="link t13r" href=${base + '/operator/relays'}>${t('relays.all')}</a>`}><${Relays} /><//>`}</div>`}
	<${Flight} />
	${!first && html`<${Failures} got=${failures} />`}</div>`;
}
