// The automations of a contact: where it is in each, and why it did not get a step.
import { html, useState } from './lib/core.js';
import { useGet, useList } from './api.js';
import { stepsOf } from './automation-draft.js';
import { stepTitle, useParts } from './automation-words.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { Icon, Notice, Section, Select } from './ui/base.js';

/** @param {{of: any, path: string}} props of is the contact */
export function ContactAutomations({ of, path }) {
	const { rows } = useList(`${path}/automations`, {}, { limit: 20 });
	const all = useList('/automations', {}, { limit: 100 }).rows;
	const [open, setOpen] = useState(false);
	if (!rows.length && !all.length) return null;
	return html`<${Section} title=${t('automations.title')}>
		${rows.length ? html`<ul class="items items--tight">${rows.map((row) => html`<li key=${row.run_id}><a href=${`${base}${encoded`/automations/${row.automation_id}/runs`}?run=${encodeURIComponent(row.run_id)}`}>${row.sentence}</a></li>`)}</ul>` : html`<p class="muted t13r">${t('automations.contactNone')}</p>`}
		${all.length > 0 && html`<details class="fold" onToggle=${(e) => setOpen(e.currentTarget.open)}><summary><${Icon} name="right" />${t('automations.why')}</summary>${open && html`<${Why} of=${of} all=${all} />`}</details>`}<//>`;
}

/** Why a contact did not get a step, in one sentence. */
function Why({ of, all }) {
	const [id, setId] = useState('');
	const [key, setKey] = useState('');
	const parts = useParts();
	const flow = useGet(id ? encoded`/automations/${id}` : null).data;
	const steps = flow ? stepsOf(flow) : [];
	const { data, error } = useGet(id && key ? encoded`/automations/${id}/explain` : null, { contact_id: of.id, step: key });
	return html`<div class="stack stack--2 contact-why"><${Select} label=${t('automations.one')} value=${id} options=${[['', t('automations.choose')], ...all.map((row) => [row.id, row.name])]} onChange=${(to) => {
		setId(to);
		setKey('');
	}} />${steps.length > 0 && html`<${Select} label=${t('automations.step')} value=${key} options=${[['', t('automations.choose')], ...steps.map((step, i) => [step.key, stepTitle(i + 1, step, parts)])]} onChange=${setKey} />`}
	<div aria-live="polite">${error ? html`<${Notice} kind="bad">${error.message}<//>` : data && html`<${Notice}>${data.sentence}<//>`}</div></div>`;
}
