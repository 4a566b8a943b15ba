// The report of an automation: how many started, where they are, and what became of its mail.
import { html } from './lib/core.js';
import { useGet } from './api.js';
import { stepsOf } from './automation-draft.js';
import { pathOf } from './automation-head.js';
import { icons, stepWords, typeName, useParts } from './automation-words.js';
import { number, percent } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { Bones, Empty, Failed, Icon, Notice, Section } from './ui/base.js';

/** @param {{of: any}} props of is the automation */
export function AutomationReport({ of }) {
	const report = useGet(`${pathOf(of.id)}/report`, undefined, { every: 30 });
	if (report.error && !report.data) return html`<${Failed} error=${report.error} retry=${report.reload} />`;
	if (!report.data) return html`<${Bones} />`;
	return html`<${Report} of=${report.data} automation=${of} />`;
}

const stats = ['started', 'running', 'completed', 'goal', 'failed', 'cancelled'];
/** A share: small ones with a decimal. @param {number} part */
const share = (part) => percent(part, part > 0 && part < 0.01 ? 1 : 0);

const columns = ['waiting', 'completed', 'failed', 'skipped', 'cancelled'];

function Report({ of, automation }) {
	const parts = useParts();
	const rows = new Map(of.steps.map((row) => [row.key, row]));
	const steps = stepsOf(automation).map((step, i) => ({ ...rows.get(step.key), key: step.key, type: step.type, n: i + 1, step }));
	const mails = steps.filter((row) => row.type === 'send_email');
	const runs = (status) => `${base}${encoded`/automations/${of.automation_id}/runs`}?status=${status}`;
	const missed = Object.entries(of.not_started ?? {}).filter(([, n]) => n > 0);
	if (!of.started && !missed.length) return html`<${Empty} icon="flow" title=${t('automations.noRuns')}>${t(automation.status === 'enabled' ? 'automations.noRunsText' : 'automations.noRunsDisabled')}<//>`;
	return html`<div class="page"><div class="stats stats--6">${stats.map((name) => html`<div class="stat" key=${name}><div class="stat-label">${t(`automations.stats.${name}`)}</div><div class=${`stat-value ${name === 'failed' && of.failed ? 'bad' : ''}`}>${['running', 'completed', 'failed', 'cancelled'].includes(name) ? html`<a href=${runs(name)}>${number(of[name])}</a>` : number(of[name])}${name !== 'started' && of.started > 0 && html` <small>${share(of[name] / of.started)}</small>`}</div></div>`)}</div>
	${missed.length > 0 && html`<div class="gap"><${Notice} kind="warn">${missed.map(([name, n]) => t(`automations.notStarted.${name}`, { n })).join(' ')}<//></div>`}
	<${Section} title=${t('automations.funnel')}><${Funnel} of=${of} mails=${mails} /><//>
	${mails.length > 0 && html`<${Section} title=${t('automations.mails')}><table class="table stack-s"><caption class="vh">${t('automations.mails')}</caption><thead><tr><th scope="col">${t('automations.step')}</th>${['sent', 'opened', 'clicked'].map((name) => html`<th scope="col" class="num w-rate">${t(`report.${name}`)}</th>`)}</tr></thead><tbody>
		${mails.map((row) => html`<tr key=${row.key}><td data-label=${t('automations.step')}><${Step} of=${row} parts=${parts} /></td><td class="num" data-label=${t('report.sent')}>${number(row.sent ?? 0)}</td>${['opened', 'clicked'].map((name) => html`<td class="num" data-label=${t(`report.${name}`)}>${number(row[name] ?? 0)} <span class="muted">${row.sent ? percent((row[name] ?? 0) / row.sent, 0) : '–'}</span></td>`)}</tr>`)}</tbody></table><p class="muted t12 gap">${t('automations.guess')}</p><//>`}
	<${Section} title=${t('automations.perStep')}><table class="table stack-s"><caption class="vh">${t('automations.perStep')}</caption><thead><tr><th scope="col">${t('automations.step')}</th>${columns.map((name) => html`<th scope="col" class="num w-count">${t(`automations.counts.${name}`)}</th>`)}</tr></thead><tbody>
		${steps.map((row) => html`<tr key=${row.key}><td data-label=${t('automations.step')}><${Step} of=${row} parts=${parts} /></td>${columns.map((name) => html`<td class=${`num ${name === 'failed' && row.failed ? 'bad' : ''}`} data-label=${t(`automations.counts.${name}`)}>${number(row[name] ?? 0)}</td>`)}</tr>`)}</tbody></table><//></div>`;
}

/** A step in a table. */
const Step = ({ of, parts }) => html`<span class="step-cell"><${Icon} name=${icons[of.type]} /><span>${of.n}. ${typeName(of.type)}${stepWords(of.step, parts) && html` <bdi class="muted">${stepWords(of.step, parts)}</bdi>`}</span></span>`;

/** Runs, mails, and how many met the goal, as bars. */
function Funnel({ of, mails }) {
	const sum = (name) => mails.reduce((all, row) => all + (row[name] ?? 0), 0);
	const rows = [['started', of.started, of.started], ...(mails.length ? [['sent', sum('sent'), 0], ['opened', sum('opened'), sum('sent')], ['clicked', sum('clicked'), sum('sent')]] : []), ['goal', of.goal, of.started]];
	const most = Math.max(1, ...rows.map(([, n]) => Number(n)));
	return html`<div class="funnel">${rows.map(([name, n, all]) => {
		const label = t(name === 'started' || name === 'goal' ? `automations.stats.${name}` : `report.${name}`);
		return html`<span class="ink2">${label}</span><svg role="img" aria-label=${`${label}: ${number(n)}`}><rect class="meter-ground" y="4" width="100%" height="8" rx="2" /><rect class="meter-fill" y="4" width=${`${100 * n / most}%`} height="8" rx="2" /></svg><span class="num medium">${number(n)}</span><span class="num muted">${name !== 'started' && all ? percent(n / all, 0) : ''}</span>`;
	})}</div>`;
}
