// The team's reputation: score, rates against their limits, and what clears a pause.
import { html } from './lib/core.js';
import { useGet } from './api.js';
import { t } from './i18n.js';
import { number, percent } from './format.js';
import { base } from './router.js';
import { me } from './state.js';
import { Bones, Button, Failed, Head, Section, Sections, Verdict } from './ui/base.js';
import { Scale } from './ui/chart.js';

/** The links that reputation and usage share. @param {{at: string}} props */
export const StandingSections = ({ at }) => html`<${Sections} label=${t('reputation.sections')} at=${base + at} links=${[[t('reputation.title'), `${base}/reputation`], [t('usage.title'), `${base}/usage`]]} />`;

/** The lines of a team, as parts of 1: warning, then pause. */
const bounceLines = [0.04, 0.05];
const complaintLines = [0.0005, 0.001];

/** Whether this server holds mail back over the lines. */
const enforced = () => me.value.guardrails === 'enforce';

/** The headline. @param {any} d */
function verdict(d) {
	if (!d.emails_sent) return { kind: 'neutral', line: t('reputation.nothing'), fix: t('reputation.nothingFix') };
	if (d.guardrail_status === 'paused') return { kind: 'bad', line: t('reputation.paused'), fix: t(enforced() ? 'reputation.pausedFix' : 'reputation.warnOnly') };
	if (d.guardrail_status === 'warning') return { kind: 'warn', line: t('reputation.warning'), fix: t(enforced() ? 'reputation.warningFix' : 'reputation.warnOnly') };
	if (d.insufficient_outcome_data) return { kind: 'neutral', line: t('reputation.early'), fix: t('reputation.few') };
	return { kind: 'good', line: t('reputation.good'), fix: null };
}

const Score = ({ label, value, note }) => html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value === null ? '–' : number(value, { maximumFractionDigits: 1 })}${value !== null && html`<small>${t('reputation.of10')}</small>`}</p><p class="stat-note">${note}</p></div>`;

function Rate({ label, value, lines, digits, more, act, few }) {
	const words = few ? t('reputation.tooFew') : value === null ? t('reputation.unknown') : value >= lines[1] ? t('reputation.over', { line: percent(lines[1], digits) }) : value >= lines[0] ? t('reputation.between', { line: percent(lines[0], digits), next: percent(lines[1], digits) }) : t('reputation.under', { line: percent(lines[0], digits) });
	return html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value === null ? '–' : percent(value, digits)}</p><${Scale} value=${few ? 0 : value ?? 0} lines=${lines} label=${`${label}: ${value === null ? t('reputation.unknown') : percent(value, digits)}. ${words}`} /><p class="stat-note">${words}</p><p class="stat-note">${more} ${act}</p></div>`;
}

/** The page. */
export default function Reputation() {
	const got = useGet('/deliverability', undefined, { every: 60 });
	const d = got.data;
	const top = html`<${Head} title=${t('reputation.title')} note=${d && html`<span class="muted t12">${t('reputation.window', { n: d.window_days })}</span>`} /><${StandingSections} at="/reputation" />`;
	if (got.error && !d) return html`${top}<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!d) return html`${top}<${Bones} />`;
	const says = verdict(d);
	return html`${top}<${Verdict} kind=${says.kind} line=${says.line} fix=${says.fix} acts=${d.guardrail_status !== 'ok' && html`<${Button} href=${`${base}/emails?q=${encodeURIComponent(`status:${(d.complaint_rate ?? 0) >= complaintLines[0] ? 'complained' : 'bounced'}`)}`}>${t('reputation.see')}<//>`} />
	<div class="page"><div class="stats stats--3"><${Score} label=${t('reputation.score')} value=${d.score} note=${d.band ? t(`reputation.band.${d.band}`) : t('reputation.noScore')} /><${Score} label=${t('reputation.content')} value=${d.content_score} note=${t('reputation.contentNote', { n: d.scored_recipients })} /><${Score} label=${t('reputation.outcome')} value=${d.outcome_score} note=${t(d.insufficient_outcome_data ? 'reputation.outcomeFew' : 'reputation.outcomeNote', { n: d.emails_sent })} /></div>
	<${Section} title=${t('reputation.rates')}><div class="stats stats--2"><${Rate} few=${d.insufficient_outcome_data} label=${t('reputation.bounces')} value=${d.hard_bounce_rate} lines=${bounceLines} digits=${1} more=${t(enforced() ? 'reputation.bouncesMore' : 'reputation.bouncesWarn')} /><${Rate} few=${d.insufficient_outcome_data} label=${t('reputation.complaints')} value=${d.complaint_rate} lines=${complaintLines} digits=${2} more=${t(enforced() ? 'reputation.complaintsMore' : 'reputation.bouncesWarn')} /></div><//>
	<${Section} title=${t('reputation.clears')}><ul class="items">${['age', 'content', 'lists'].map((k) => html`<li><span class="grow">${t(`reputation.clear_${k}`)}</span></li>`)}</ul><//></div>`;
}
