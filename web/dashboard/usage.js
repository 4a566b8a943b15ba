// The team's sends per day, and the limits of its plan.
import { html } from './lib/core.js';
import { useGet } from './api.js';
import { say, t } from './i18n.js';
import { day, number, percent, relative, short } from './format.js';
import { place, setQuery } from './router.js';
import { Bones, Facts, Failed, Head, Section, Seg, Time } from './ui/base.js';
import { Bars, Meter } from './ui/chart.js';
import { Csv } from './ui/list.js';
import { StandingSections } from './reputation.js';

/** A count against its limit. @param {{label: string, value: number, most?: number, note: any}} props */
const Count = ({ label, value, most, note }) => html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${number(value)}${most && html`<small>${t('usage.of', { n: most })}</small>`}</p>${most && html`<${Meter} part=${value / most} kind=${value >= most ? 'bad' : value >= most * 0.8 ? 'warn' : ''} label=${t('usage.part', { part: percent(value / most, 0) })} />`}<p class="stat-note">${note}</p></div>`;

/** The page. */
export default function Usage() {
	const days = place.value.query.get('days') === '90' ? 90 : place.value.query.get('days') === '7' ? 7 : 30;
	const used = useGet('/usage', undefined, { every: 30 });
	const query = { start_date: new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10), dimensions: 'period', granularity: 'daily', metrics: 'sent' };
	const metrics = useGet('/emails/metrics', query);
	const u = used.data;
	const top = html`<${Head} title=${t('usage.title')}><${Csv} path="/emails/metrics" query=${query} name="usage" /><//><${StandingSections} at="/usage" />`;
	if (used.error && !u) return html`${top}<${Failed} error=${used.error} retry=${used.reload} />`;
	if (!u) return html`${top}<${Bones} />`;
	const sum = metrics.data?.totals?.sent ?? 0;
	return html`${top}<div class="page"><div class="stats stats--3"><${Count} label=${t('usage.acceptedToday')} value=${u.today.emails_sent} most=${u.limits?.emails_per_day} note=${t('usage.resets', { when: relative(u.today.resets_at) })} />
		${u.period ? html`<${Count} label=${t('usage.period')} value=${u.period.emails_sent} most=${u.period.included} note=${html`${say('usage.ends', { time: html`<${Time} at=${u.period.ends_at} />` })}${u.period.overage_enabled ? ` · ${t('usage.overage', { price: number(u.period.overage_usd_per_1k, { style: 'currency', currency: 'USD' }) })}` : ''}`} />` : html`<${Count} label=${t('usage.sentIn', { n: days })} value=${sum} note=${t('usage.perDay', { n: Math.round(sum / days) })} />`}
		<div class="stat"><p class="stat-label">${t('usage.plan')}</p><p class="stat-value">${u.plan ?? t('usage.own')}</p><p class="stat-note">${u.cloud ? t('usage.planNote') : t('usage.ownNote')}</p></div></div>
	<${Section} title=${t('usage.byDay')} acts=${html`<${Seg} label=${t('usage.spanLabel')} value=${String(days)} onChange=${(n) => setQuery({ days: n === '30' ? null : n })} options=${['7', '30', '90'].map((n) => [n, t('usage.days', { n: Number(n) })])} />`}>${metrics.error && !metrics.data ? html`<${Failed} error=${metrics.error} retry=${metrics.reload} />` : metrics.data && html`<${Chart} rows=${metrics.data.data ?? []} days=${days} most=${u.limits?.emails_per_day} />`}<//>
	${u.limits && html`<${Section} title=${t('usage.limits')}><${Facts} pairs=${[
		[t('usage.emailsDay'), u.limits.emails_per_day && number(u.limits.emails_per_day)], [t('usage.emailsMonth'), u.limits.emails_per_month && number(u.limits.emails_per_month)],
		[t('usage.domains'), u.limits.domains ? number(u.limits.domains) : t('usage.noLimit')], [t('usage.contacts'), u.limits.contacts ? number(u.limits.contacts) : t('usage.noLimit')],
	]} /><//>`}</div>`;
}

function Chart({ rows, days, most }) {
	const of = new Map(rows.map((r) => [r.period.slice(0, 10), r.sent]));
	const bars = Array.from({ length: days }, (_, i) => {
		const date = new Date(Date.now() - (days - 1 - i) * 86_400_000).toISOString().slice(0, 10);
		const value = of.get(date) ?? 0;
		return { name: day(`${date}T12:00:00Z`), axis: i % Math.ceil(days / 7) === 0 ? day(`${date}T12:00:00Z`) : undefined, value, bad: most ? value >= most : false };
	});
	return html`<${Bars} label=${t('usage.sent')} bars=${bars} show=${(n) => short(n)} limits=${most ? [{ value: most, word: t('usage.line') }] : []} />`;
}
