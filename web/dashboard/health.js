// Health: the doctor's checks with remedies, and findings that need attention.
import { html } from './lib/core.js';
import { api, useGet } from './api.js';
import { clock, duration, size } from './format.js';
import { say, t } from './i18n.js';
import { base } from './router.js';
import { Bones, Button, CopyButton, Facts, Failed, Head, Icon, Section, Sections, Status, Time, Verdict } from './ui/base.js';
import { attempt } from './ui/float.js';

/** The sections of the machine. @param {{at: string}} props */
export const HealthSections = ({ at }) => html`<${Sections} label=${t('health.sections')} at=${`${base}/operator/${at}`} links=${['health', 'backups', 'settings', 'disk'].map((name) => [t(`health.${name === 'health' ? 'title' : name}`), `${base}/operator/${name}`])} />`;

/** The page. */
export default function Health() {
	const checks = useGet('/health/checks', undefined, { team: null });
	const status = useGet('/status', undefined, { team: null, every: 15, live: (e) => e.name === 'queue' || e.name === 'relay' });
	const run = () => attempt(async () => checks.set(await api.post('/health/checks', undefined, { team: null })));
	return html`<${Head} title=${t('health.title')} note=${checks.data && html`<span class="muted t12">${say('health.ran', { when: html`<${Time} at=${checks.data.checked_at} as="clock" />` })}</span>`}><${Button} kind="primary" icon="refresh" onClick=${run}>${t('health.run')}<//><//><${HealthSections} at="health" />
	${checks.error && !checks.data ? html`<${Failed} error=${checks.error} retry=${checks.reload} />` : checks.data ? html`<${Found} checks=${checks.data.checks} status=${status.data} />` : html`<${Bones} rows=${6} />`}`;
}

function Found({ checks, status }) {
	const good = checks.filter((c) => c.ok);
	// The findings of `mailer status` and `mailer doctor`.
	const found = status?.needs ?? checks.filter((c) => c.finding).map((c) => c.finding);
	const n = found.length;
	return html`<div class="health-verdict"><${Verdict} kind=${n ? (found.some((f) => f.severity === 'error') ? 'bad' : 'warn') : 'good'} icon=${n ? 'alert' : undefined} line=${n ? t('health.needs', { n }) : t('health.fine')} fix=${n ? t('health.passed', { n: good.length }) : t('health.fineFix', { n: good.length })} /></div>
	<div class="page">${n > 0 && html`<${Section} title=${t('health.bad')}><ul class="items items--top">${found.map((f) => html`<${Finding} key=${f.id + f.subject} of=${f} />`)}</ul><//>`}
	${status && html`<${Section} title=${t('health.figures')}><${Figures} status=${status} /><//>`}
	<${Section} title=${t('health.passed', { n: good.length })}><table class="table table--fixed stack-s"><colgroup><col class="w-to" /><col /></colgroup><thead class="vh"><tr><th scope="col">${t('health.check')}</th><th scope="col">${t('health.found')}</th></tr></thead><tbody>${good.map((c) => html`<tr key=${c.name}><td data-label=${t('health.check')}><${Status} of="ok" word=${c.name} /></td><td data-label=${t('health.found')} class="break muted">${c.found}</td></tr>`)}</tbody></table><//></div>`;
}

/** Its parameters, with times and states as people read them. @param {Record<string, string>} params @returns {Record<string, string>} */
const shown = (params) => ({ ...Object.fromEntries(Object.entries(params).map(([name, value]) => [name, /^\d{4}-\d\d-\d\dT/.test(value) ? clock(value) : value])), ...(params.state && { state: t(`status.${params.status}`) }) });

/** A finding, its remedy, and its subject. @param {{of: any}} props */
function Finding({ of: f }) {
	const params = shown(f.params);
	return html`<li><${Icon} name="alert" class=${f.severity === 'error' ? 'bad' : 'warn'} /><div class="grow stack stack--2"><h3 class="break"><span class="vh">${t(`findings.${f.severity}`)}: </span>${t(`findings.${f.id}.what`, params)}</h3><p class="ink2 break">${t(`findings.${f.id}.fix`, params)}${params.note && html` ${t(`findings.${params.note}`)}`}</p>${f.command && html`<div class="fix"><span class="mono break">${f.command}</span><${CopyButton} text=${f.command} /></div>`}</div>${f.page && html`<${Button} href=${base + f.page}>${t('findings.open')}<//>`}</li>`;
}

function Figures({ status }) {
	const { queue, database, backup } = status;
	return html`<${Facts} pairs=${[
		[t('health.waiting'), html`<a class="link" href=${`${base}/queue`}>${t('health.emails', { n: queue.waiting })}</a>`],
		[t('health.oldest'), queue.oldest && duration((Date.now() - new Date(queue.oldest).getTime()) / 1000)],
		[t('health.database'), html`<a class="link" href=${`${base}/operator/disk`}>${size(database.bytes)}</a>`],
		[t('health.wal'), size(database.wal_bytes)],
		[t('health.free'), size(database.disk_free)],
		[t('health.backup'), html`<a class="link" href=${`${base}/operator/backups`}>${backup.last ? html`<${Time} at=${backup.last} as="clock" />` : t('health.none')}</a>`],
		[t('health.version'), html`<span class="mono">${status.version}</span>`],
	]} />`;
}
