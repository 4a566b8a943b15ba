// Whether this machine is well: the doctor's checks with what mends each, and what needs a person now.
import { html } from './lib/core.js';
import { api, useGet } from './api.js';
import { duration, size } from './format.js';
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
	const bad = checks.filter((c) => !c.ok);
	const good = checks.filter((c) => c.ok);
	// What the status says of its own, where no check says the same.
	const needs = (status?.needs ?? []).filter((need) => !bad.some((c) => c.found.includes(need.what) || need.what.includes(c.found)));
	const n = bad.length + needs.length;
	return html`<div class="health-verdict"><${Verdict} kind=${n ? 'bad' : 'good'} icon=${n ? 'alert' : undefined} line=${n ? t('health.needs', { n }) : t('health.fine')} fix=${n ? t('health.passed', { n: good.length }) : t('health.fineFix', { n: good.length })} /></div>
	<div class="page">${n > 0 && html`<${Section} title=${t('health.bad')}><ul class="items items--top">${needs.map((need) => html`<${Trouble} name=${need.what} fix=${need.fix} />`)}${bad.map((c) => html`<${Trouble} key=${c.name} name=${c.name} found=${c.found} fix=${c.fix} />`)}</ul><//>`}
	${status && html`<${Section} title=${t('health.figures')}><${Figures} status=${status} /><//>`}
	<${Section} title=${t('health.passed', { n: good.length })}><table class="table table--fixed stack-s"><colgroup><col class="w-to" /><col /></colgroup><thead class="vh"><tr><th scope="col">${t('health.check')}</th><th scope="col">${t('health.found')}</th></tr></thead><tbody>${good.map((c) => html`<tr key=${c.name}><td data-label=${t('health.check')}><${Status} of="ok" word=${c.name} /></td><td data-label=${t('health.found')} class="break muted">${c.found}</td></tr>`)}</tbody></table><//></div>`;
}

/** What is not well, and what mends it. @param {{name: string, found?: string, fix: string}} props */
const Trouble = ({ name, found, fix }) => html`<li><${Icon} name="st-bounced" class="bad" /><div class="grow stack stack--2"><h3 class="break">${name}</h3>${found && html`<p class="ink2 break">${found}</p>`}${fix && html`<div class="fix"><span class="break">${fix}</span><${CopyButton} text=${fix} /></div>`}</div></li>`;

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
