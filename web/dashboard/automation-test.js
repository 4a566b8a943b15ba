// A test of an automation: the path of a contact with a made-up clock, and the mail as it would look. Nothing is stored or sent.
import { html, useState } from './lib/core.js';
import { api, useList } from './api.js';
import { stepsOf } from './automation-draft.js';
import { pathOf } from './automation-head.js';
import { RunStatus } from './automation-runs.js';
import { eventName, icons, stepWords, typeName, useParts } from './automation-words.js';
import { Said, useForm } from './gate.js';
import { stamp } from './format.js';
import { t } from './i18n.js';
import { Button, Empty, Facts, Icon, Input, Section, Seg, Verdict } from './ui/base.js';

/** A time as an input has it, in the reader's zone. @param {Date} at */
const local = (at) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** JSON that was typed; undefined: nothing. Throws. @param {string} text */
const parsed = (text) => (text.trim() ? JSON.parse(text) : undefined);

/** The message of what was typed and is no JSON object; empty: it is fine. @param {string} text */
function wrongJSON(text) {
	try {
		const value = parsed(text);
		return value !== undefined && (value === null || typeof value !== 'object' || Array.isArray(value)) ? t('automations.json.object') : '';
	} catch (e) {
		return t('automations.json.syntax', { message: /** @type {Error} */ (e).message });
	}
}

/** @param {{of: any}} props of is the automation */
export function AutomationTest({ of }) {
	const parts = useParts();
	const [v, setV] = useState(() => ({ kind: 'known', contact: '', email: 'ann@example.com', first_name: 'Ann', last_name: '', properties: '', at: local(new Date()), payload: '', events: /** @type {any[]} */ ([]) }));
	const [result, setResult] = useState(/** @type {any} */ (null));
	const set = (some) => setV((before) => ({ ...before, ...some }));
	const contacts = useList(v.kind === 'known' ? '/contacts' : null, { search: v.contact }, { limit: 20 }).rows;
	const chosen = contacts.find((one) => one.email === v.contact.trim());
	const wrong = [v.properties, v.payload, ...v.events.map((one) => one.payload)].some((text) => wrongJSON(text));
	const form = useForm(async () => {
		const event = (one) => ({ event: one.event.trim(), at: new Date(one.at).toISOString(), payload: parsed(one.payload) });
		setResult(await api.read(`${pathOf(of.id)}/simulate`, {
			...(v.kind === 'known' ? { contact_id: chosen?.id ?? v.contact.trim() } : { contact: { email: v.email.trim(), first_name: v.first_name || undefined, last_name: v.last_name || undefined, properties: parsed(v.properties) } }),
			at: new Date(v.at).toISOString(), payload: parsed(v.payload), events: v.events.length ? v.events.map(event) : undefined,
		}));
	});
	const setEvent = (i, some) => set({ events: v.events.map((one, j) => (i === j ? { ...one, ...some } : one)) });
	const names = [...new Set([...parts.events.map((one) => one.name), ...of.steps.filter((step) => step.config?.event_name && step.type !== 'trigger').map((step) => step.config.event_name)])];
	return html`<div class="page test-page"><form class="fields test-form" onSubmit=${(e) => {
		e.preventDefault();
		if (!wrong) form.submit();
	}}><p class="muted t13r">${t('automations.testText')}</p>
		<${Seg} label=${t('contact.title')} value=${v.kind} onChange=${(kind) => set({ kind })} options=${[['known', t('automations.knownContact')], ['made', t('automations.madeContact')]]} />
		${v.kind === 'known' ? html`<${Input} label=${t('contact.title')} required list="test-contacts" autocomplete="off" placeholder="ann@example.com" value=${v.contact} onInput=${(contact) => set({ contact })} hint=${t('automations.contactHint')} /><datalist id="test-contacts">${contacts.map((one) => html`<option key=${one.id} value=${one.email} />`)}</datalist>`
			: html`<${Input} label=${t('contacts.email')} type="email" required value=${v.email} onInput=${(email) => set({ email })} /><div class="cols cols--form"><${Input} label=${t('contacts.firstName')} value=${v.first_name} onInput=${(first_name) => set({ first_name })} /><${Input} label=${t('contacts.lastName')} value=${v.last_name} onInput=${(last_name) => set({ last_name })} /></div>
			<${Input} label=${t('properties.title')} lines="2" mono placeholder=${'{"plan": "pro"}'} value=${v.properties} onInput=${(properties) => set({ properties })} error=${wrongJSON(v.properties)} />`}
		<${Input} label=${t('automations.clock')} type="datetime-local" required value=${v.at} onInput=${(at) => set({ at })} hint=${t('automations.clockHint')} />
		<${Input} label=${t('automations.payload')} lines="3" mono placeholder=${'{"plan": "pro"}'} value=${v.payload} onInput=${(payload) => set({ payload })} error=${wrongJSON(v.payload)} hint=${t('automations.payloadHint')} />
		${v.events.map((one, i) => html`<fieldset class="test-event wide" key=${i}><legend class="field-label">${t('automations.eventN', { n: i + 1 })}</legend>
			<${Input} label=${t('automations.event')} mono required list="test-events" value=${one.event} onInput=${(event) => setEvent(i, { event })} /><${Input} label=${t('automations.at')} type="datetime-local" required value=${one.at} onInput=${(at) => setEvent(i, { at })} />
			<${Input} label=${t('automations.payload')} lines="2" mono value=${one.payload} onInput=${(payload) => setEvent(i, { payload })} error=${wrongJSON(one.payload)} /><${Button} icon="x" kind="quiet" onClick=${() => set({ events: v.events.filter((_, j) => j !== i) })}>${t('ui.remove')}<//></fieldset>`)}
		<datalist id="test-events">${names.map((name) => html`<option key=${name} value=${name}>${eventName(name)}</option>`)}</datalist>
		<${Button} icon="plus" onClick=${() => set({ events: [...v.events, { event: names[0] ?? '', at: v.at, payload: '' }] })}>${t('automations.addEvent')}<//>
		<${Said} form=${form} /><${Button} type="submit" kind="primary" icon="play" busy=${form.busy} disabled=${wrong}>${t('automations.testAct')}<//></form>
	<div class="test-result" aria-live="polite">${result ? html`<${Result} of=${result} steps=${stepsOf(of)} parts=${parts} />` : html`<${Empty} icon="play" title=${t('automations.testNone')}>${t('automations.testNoneText')}<//>`}</div></div>`;
}

/** The path of a simulation. */
function Result({ of, steps, parts }) {
	const configs = new Map(steps.map((step) => [step.key, step]));
	const numbers = new Map(steps.map((step, i) => [step.key, i + 1]));
	return html`<${Verdict} kind=${{ failed: 'bad', completed: 'good' }[of.status] ?? 'neutral'} line=${of.reason || t(`automations.runLine.${of.status}`)} />
	<${Section} title=${t('automations.path')}><ol class="timeline run-steps">${of.steps.map((step, i) => html`<li key=${`${step.key} ${i}`} class=${{ failed: 'is-bad', completed: 'is-good', waiting: 'is-next' }[step.status] ?? ''}><${Icon} name=${icons[step.type] ?? 'info'} /><div>
		<b class="medium">${numbers.has(step.key) && `${numbers.get(step.key)}. `}${typeName(step.type)}</b> <${RunStatus} of=${step.status} />
		${configs.has(step.key) && html`<p><bdi>${stepWords(configs.get(step.key), parts)}</bdi></p>`}
		<p class="t12">${step.started_at && html`<time datetime=${step.started_at}>${stamp(step.started_at)}</time>`}${step.completed_at && step.completed_at !== step.started_at && html` → <time datetime=${step.completed_at}>${stamp(step.completed_at)}</time>`}</p>
		${step.error?.message && html`<p class="bad">${step.error.message}</p>`}${step.email && html`<${Mail} of=${step.email} />`}</div></li>`)}</ol><//>`;
}

/** A mail as it would look, in the sandboxed frame. */
function Mail({ of }) {
	return html`<details class="fold test-mail"><summary><${Icon} name="right" /><bdi>${of.subject || t('contact.noSubject')}</bdi></summary><${Facts} class="kv--side" pairs=${[[t('composer.from'), html`<bdi>${of.from}</bdi>`], [t('template.testTo'), html`<bdi>${Array.isArray(of.to) ? of.to.join(', ') : of.to}</bdi>`]]} />
		${of.url ? html`<div class="sheet wide"><div class="sheet-body"><div class="paper"><iframe sandbox="" height=${Math.min(560, Math.max(120, of.height ?? 400))} src=${of.url} title=${t('frame.title')}></iframe></div></div></div>` : html`<pre class="code test-text" tabindex="0">${of.text || t('email.noText')}</pre>`}</details>`;
}
