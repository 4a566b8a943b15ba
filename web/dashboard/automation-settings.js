// The settings of an automation: its name, when it starts again for a contact, and consent.
import { html, useState } from './lib/core.js';
import { api, useList } from './api.js';
import { pathOf } from './automation-head.js';
import { whyNot } from './automation-acts.js';
import { about, Said, useForm } from './gate.js';
import { t } from './i18n.js';
import { Button, Check, Input, Notice, Section, Select } from './ui/base.js';
import { toast } from './ui/float.js';

const modes = ['once', 'once_per_event_key', 'after_days', 'always'];

/** What is typed. @param {any} of */
const typed = (of) => ({ name: of.name, mode: of.re_entry?.mode ?? 'once', field: of.re_entry?.field ?? '', days: String(of.re_entry?.days ?? 30), topic_id: of.topic_id ?? '', exit_on_opt_out: Boolean(of.exit_on_opt_out) });

/** The members of a PATCH. @param {any} before @param {any} now */
function changes(before, now) {
	/** @type {any} */
	const out = {};
	if (now.name.trim() !== before.name) out.name = now.name.trim();
	if (['mode', 'field', 'days'].some((name) => now[name] !== before[name])) out.re_entry = { mode: now.mode, ...(now.mode === 'once_per_event_key' ? { field: now.field.trim() } : {}), ...(now.mode === 'after_days' ? { days: Number(now.days) } : {}) };
	if (now.topic_id !== before.topic_id) out.topic_id = now.topic_id || null;
	if (now.exit_on_opt_out !== before.exit_on_opt_out) out.exit_on_opt_out = now.exit_on_opt_out;
	return out;
}

/** @param {{of: any, reload: () => Promise<void>}} props of is the automation */
export function AutomationSettings({ of, reload }) {
	const [before] = useState(() => typed(of));
	const [now, setNow] = useState(before);
	const topics = useList('/topics', {}, { limit: 100 }).rows;
	const change = (some) => setNow((old) => ({ ...old, ...some }));
	const form = useForm(async () => {
		await api.patch(pathOf(of.id), changes(before, now));
		await reload();
		toast(t('automations.saved'));
	});
	const locked = of.status === 'enabled' && Boolean(whyNot());
	const dirty = Object.keys(changes(before, now)).length > 0;
	const known = ['name', 're_entry.field', 're_entry.days', 'topic_id'];
	return html`<form class="page form-settings" onSubmit=${(e) => {
		e.preventDefault();
		if (dirty) form.submit();
	}}>${locked && html`<${Notice} icon="lock">${t('automations.adminsChange')}<//>`}
	<${Section} title=${t('forms.general')}><div class="fields"><${Input} label=${t('automations.name')} required maxlength="200" disabled=${locked} value=${now.name} onInput=${(name) => change({ name })} error=${about(form.error, 'name')} /></div><//>
	<${Section} title=${t('automations.reEntry')}><p class="muted t13r prose">${t('automations.reEntryText')}</p><div class="fields" role="radiogroup" aria-label=${t('automations.reEntry')}>
		${modes.map((mode) => html`<div key=${mode}><${Check} kind="radio" name="mode" label=${t(`automations.modes.${mode}`)} checked=${now.mode === mode} disabled=${locked} onChange=${() => change({ mode })} /></div>`)}
		${now.mode === 'once_per_event_key' && html`<${Input} label=${t('automations.eventField')} mono required maxlength="100" placeholder="order_id" disabled=${locked} value=${now.field} onInput=${(field) => change({ field })} hint=${t('automations.eventFieldHint')} error=${about(form.error, 're_entry.field')} />`}
		${now.mode === 'after_days' && html`<${Input} label=${t('automations.days')} type="number" min="1" max="365" required disabled=${locked} value=${now.days} onInput=${(days) => change({ days })} error=${about(form.error, 're_entry.days')} />`}</div><//>
	<${Section} title=${t('automations.consent')}><div class="fields"><${Select} label=${t('composer.topic')} value=${now.topic_id} disabled=${locked} options=${[['', t('composer.noTopic')], ...topics.map((row) => [row.id, row.name]), ...(now.topic_id && !topics.some((row) => row.id === now.topic_id) ? [[now.topic_id, '…']] : [])]} onChange=${(topic_id) => change({ topic_id })} hint=${t('automations.topicText')} error=${about(form.error, 'topic_id')} />
		<div><${Check} label=${t('automations.exit')} checked=${now.exit_on_opt_out} disabled=${locked} onChange=${(exit_on_opt_out) => change({ exit_on_opt_out })} /><p class="muted t12 prose">${t('automations.exitText')}</p></div></div><//>
	<${Said} form=${form} fields=${known} />
	${dirty && html`<div class="bulk" role="region" aria-label=${t('segments.unsaved')}><span class="muted hide-s">${t('segments.unsaved')}</span><${Button} kind="quiet" onClick=${() => setNow(before)}>${t('segments.discard')}<//><${Button} type="submit" kind="primary" busy=${form.busy}>${t('ui.save')}<//></div>`}</form>`;
}
