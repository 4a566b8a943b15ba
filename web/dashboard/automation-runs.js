// The runs of an automation, and one of them: each step with its time, output and reason.
import { html, useEffect, useState } from './lib/core.js';
import { api, ApiError, useGet, useList } from './api.js';
import { stepsOf } from './automation-draft.js';
import { pathOf } from './automation-head.js';
import { icons, stepWords, typeName, useParts } from './automation-words.js';
import { gap } from './format.js';
import { t } from './i18n.js';
import { encoded, isId } from './paths.js';
import { base, href, place, setQuery } from './router.js';
import { Bones, Button, Empty, Facts, Failed, Icon, Id, Section, Select, Status, Time, Verdict } from './ui/base.js';
import { Csv, Table } from './ui/list.js';

const statuses = ['running', 'completed', 'failed', 'cancelled'];

/** The look of each status of a run or a step. @type {Record<string, string>} */
const looks = { running: 'sending', completed: 'completed', failed: 'failed', cancelled: 'canceled', waiting: 'scheduled', skipped: 'neutral', pending: 'neutral', held: 'held' };

/** The status of a run. @param {{of: string}} props */
export const RunStatus = ({ of }) => html`<${Status} of=${looks[of] ?? 'neutral'} word=${t(`automations.run.${of}`)} />`;

/** @param {{of: any}} props of is the automation */
export function AutomationRuns({ of }) {
	const run = place.value.query.get('run');
	return isId(run) ? html`<${Run} key=${run} id=${of.id} run=${run} automation=${of} />` : html`<${List} automation=${of} />`;
}

function List({ automation }) {
	const { id } = automation;
	const asked = place.value.query.get('status') ?? '';
	const status = statuses.includes(asked) ? asked : '';
	const path = `${pathOf(id)}/runs`;
	const list = useList(path, { status }, { limit: 25 });
	const contacts = useContacts(list.rows);
	const numbers = new Map(stepsOf(automation).map((step, i) => [step.key, t('automations.stepLabel', { n: i + 1, type: typeName(step.type) })]));
	const open = (row) => `${base}${encoded`/automations/${id}/runs`}?run=${encodeURIComponent(row.id)}`;
	return html`<div class="tools tools--under"><${Select} bare label=${t('automations.status')} value=${status} options=${[['', t('automations.anyStatus')], ...statuses.map((one) => [one, t(`automations.run.${one}`)])]} onChange=${(to) => setQuery({ status: to })} /><span class="push"></span><${Csv} path=${path} query=${{ status }} name="runs" /></div>
	<${Table} list=${list} label=${t('automations.tabs.runs')} open=${open} empty=${html`<${Empty} icon="flow" title=${t(status ? 'automations.noRunFound' : 'automations.noRuns')}>${!status && t('automations.noRunsText')}<//>`} columns=${[
		{ name: t('automations.oneRun'), class: 'cell-name cell-cut', cell: (row) => html`<a href=${open(row)} title=${row.id}>${contacts[row.contact_id] ? html`<bdi>${contacts[row.contact_id]}</bdi>` : html`<span class="mono">${row.id.slice(0, 8)}…${row.id.slice(-6)}</span>`}</a><span class="cell-sub"><${RunStatus} of=${row.status} /></span>` },
		{ name: t('automations.status'), class: 'w-status hide-s', cell: (row) => html`<${RunStatus} of=${row.status} />` },
		{ name: t('automations.step'), class: 'w-part cell-cut drop-1', cell: (row) => html`<span title=${row.reason ?? ''}>${row.reason ?? numbers.get(row.step) ?? '–'}</span>` },
		{ name: t('automations.startedAt'), class: 'w-when num muted', cell: (row) => html`<${Time} at=${row.started_at ?? row.created_at} />` },
		{ name: t('automations.endedAt'), class: 'w-when num muted hide-s', cell: (row) => html`<${Time} at=${row.completed_at} />` },
	]} />`;
}

/** The addresses of the contacts of runs, by id. @param {any[]} rows */
function useContacts(rows) {
	const [found, setFound] = useState(/** @type {Record<string, string>} */ ({}));
	const ids = [...new Set(rows.map((row) => row.contact_id).filter(Boolean))];
	const key = ids.join();
	useEffect(() => {
		const end = new AbortController();
		const left = ids.filter((id) => !found[id]);
		const next = async () => {
			for (let id = left.shift(); id; id = left.shift()) {
				const of = id;
				try {
					const { email } = await api.get(encoded`/contacts/${of}`, undefined, { signal: end.signal });
					setFound((before) => ({ ...before, [of]: email }));
				} catch (e) {
					if (end.signal.aborted) return;
					if (!(e instanceof ApiError)) throw e; // deleted: the run shows its id
				}
			}
		};
		for (let i = 0; i < 3; i++) next();
		return () => end.abort();
	}, [key]);
	return found;
}

function Run({ id, run, automation }) {
	const { data: of, error, reload } = useGet(`${pathOf(id)}${encoded`/runs/${run}`}`, undefined, { every: 15 });
	const parts = useParts();
	const contact = useGet(of?.contact_id ? encoded`/contacts/${of.contact_id}` : null).data;
	const back = html`<${Button} icon="left" kind="quiet" href=${base + encoded`/automations/${id}/runs`}>${t('automations.allRuns')}<//>`;
	if (error && !of) return html`<div class="tools">${back}</div><${Failed} error=${error} retry=${reload} />`;
	if (!of) return html`<div class="tools">${back}</div><${Bones} />`;
	const configs = new Map(automation.steps.map((step) => [step.key, step]));
	const numbers = new Map(stepsOf(automation).map((step, i) => [step.key, i + 1]));
	const reached = of.steps.filter((step) => step.status !== 'pending');
	const left = of.steps.filter((step) => step.status === 'pending');
	return html`<div class="tools tools--under">${back}</div>
	<${Verdict} kind=${{ failed: 'bad', completed: 'good' }[of.status] ?? 'neutral'} icon=${{ running: 'st-sent', cancelled: 'st-canceled' }[of.status]} line=${of.reason || t(`automations.runLine.${of.status}`)} fix=${of.held && t('automations.runHeld')} />
	<div class="with-aside"><div class="run-path"><${Section} title=${t('automations.path')}>
		<ol class="timeline run-steps">${reached.map((step, i) => html`<li key=${`${step.key} ${i}`} class=${{ failed: 'is-bad', completed: 'is-good', waiting: 'is-next' }[step.status] ?? ''}><${Icon} name=${icons[step.type] ?? 'info'} /><div>
			<b class="medium">${numbers.has(step.key) && `${numbers.get(step.key)}. `}${typeName(step.type)}</b> <${RunStatus} of=${step.status} />
			<p class="t12"><${Time} at=${step.started_at ?? step.created_at} as="clock" />${step.completed_at && html` <span class="muted">+${gap(step.started_at ?? step.created_at, step.completed_at)}</span>`}</p>
			${step.error?.message && html`<p class="bad">${step.error.message}</p>`}
			${step.output?.email_id && html`<p><a class="link" href=${href(encoded`/emails/${step.output.email_id}`)}>${t('automations.showMail')}</a></p>`}
			<details class="fold"><summary><${Icon} name="right" />${t('automations.details')}</summary><${Facts} pairs=${[
				[t('automations.input'), of.version === automation.version && configs.has(step.key) && (stepWords(configs.get(step.key), parts) || undefined)],
				[t('automations.output'), step.output && html`<pre class="mono t12 break">${JSON.stringify(step.output, null, 2)}</pre>`],
				[t('automations.error'), step.error && html`<pre class="mono t12 break">${JSON.stringify(step.error, null, 2)}</pre>`],
				[t('automations.key'), html`<span class="mono">${step.key}</span>`],
			].map(([name, value]) => [name, value || undefined])} /></details></div></li>`)}</ol>
		${left.length > 0 && html`<p class="muted t13r">${t('automations.notReached', { n: left.length })}</p>`}<//></div>
	<aside class="aside" aria-label=${t('contact.about')}><${Section} title=${t('contact.about')}><${Facts} class="kv--side" pairs=${[
		[t('automations.status'), html`<${RunStatus} of=${of.status} />`],
		[t('contact.title'), of.contact_id && html`<a class="link cut" href=${href(encoded`/contacts/${of.contact_id}`)}><bdi>${contact?.email ?? of.contact_id}</bdi></a>`],
		[t('automations.startedAt'), html`<${Time} at=${of.started_at ?? of.created_at} as="clock" />`],
		[t('automations.endedAt'), of.completed_at && html`<${Time} at=${of.completed_at} as="clock" />`],
		[t('automations.versionName'), of.version && String(of.version)],
		[t('contact.id'), html`<${Id} of=${of.id} />`],
	]} /><//></aside></div>`;
}
