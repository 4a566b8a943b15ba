// The forms of the steps of an automation, in dialogs.
import { html, useEffect } from './lib/core.js';
import { useGet } from './api.js';
import { spanOf, spanText, units } from './automation-flow.js';
import { FieldName, FieldNames, groupOf, ruleOf, Rules } from './automation-rules.js';
import { dayName, eventName, fieldsOf, triggers, typeName, waitable, weekdays } from './automation-words.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { zones } from './feed-form.js';
import { Check, Icon, Input, Notice, Select } from './ui/base.js';
import { form, Ticks } from './ui/audience.js';

/** The id of the list of fields of the dialog that is open. */
const list = 'automation-fields';

/** The choice of an event that the reader types. */
const other = 'custom';

/** A choice of things: [id, name], one that is not in the list too. @param {any[]} rows @param {string} id @param {string} [none] the text of no choice */
function choice(rows, id, none) {
	const out = rows.map((row) => [row.id, row.name || row.subject || row.endpoint]);
	if (id && !out.some(([one]) => one === id)) out.push([id, id]);
	return none === undefined && id ? out : [['', none ?? t('automations.choose')], ...out];
}

/** An event to choose or to type. @param {{label: string, v: any, set: (some: any) => void, parts: any, own: string[]}} props */
function EventChoice({ label, v, set, parts, own }) {
	const custom = parts.events.map((one) => one.name);
	const known = custom.includes(v.event) || own.includes(v.event);
	return html`<${Select} label=${label} value=${v.event === '' || known ? v.event : other} options=${[['', t('automations.choose')], ...own.map((name) => [name, eventName(name)]), ...custom.map((name) => [name, name]), [other, t('automations.otherEvent')]]} onChange=${(event) => set({ event: event === other ? ' ' : event })} required autofocus />
		${v.event !== '' && !known && html`<${Input} label=${t('automations.eventName')} mono required maxlength="100" placeholder="order.paid" value=${v.event.trim()} onInput=${(event) => set({ event: event || ' ' })} hint=${t('automations.eventHint')} />`}`;
}

/** A number and a unit. @param {{label: string, span: any, onChange: (span: any) => void, required?: boolean, hint?: string, autofocus?: boolean}} props */
const Span = ({ label, span, onChange, required = false, hint, autofocus }) => html`<div class="cols cols--form span-field"><${Input} label=${label} type="number" min="1" max="525600" required=${required} autofocus=${autofocus} value=${span.n} onInput=${(n) => onChange({ ...span, n })} hint=${hint} /><${Select} label=${t('automations.unit')} value=${span.unit} options=${Object.keys(units).map((unit) => [unit, t(`automations.units.${unit}`)])} onChange=${(unit) => onChange({ ...span, unit })} /></div>`;

/** A value, or the field that has it. @param {{label: string, value: any, onChange: (value: any) => void, type?: string, required?: boolean}} props value is {of: 'value'|'field', text} */
const ValueOrField = ({ label, value, onChange, type, required }) => html`<div class="value-field" role="group" aria-label=${label}><span class="field-label mono">${label}</span>
	<${Select} bare label=${t('automations.sourceOf', { name: label })} value=${value.of} options=${[['none', t('automations.unset')], ['value', t('automations.value')], ['field', t('automations.field')]].slice(required ? 1 : 0)} onChange=${(of) => onChange({ of, text: '' })} />
	${value.of === 'field' ? html`<${FieldName} label=${t('automations.fieldOf', { name: label })} list=${list} value=${value.text} onInput=${(text) => onChange({ ...value, text })} />`
		: value.of === 'value' && (type === 'boolean' ? html`<${Select} bare label=${t('automations.valueOf', { name: label })} value=${value.text || 'false'} options=${[['true', t('ui.yes')], ['false', t('ui.no')]]} onChange=${(text) => onChange({ ...value, text })} />`
			: html`<input class="input" aria-label=${t('automations.valueOf', { name: label })} type=${type === 'number' ? 'number' : 'text'} step="any" value=${value.text} onInput=${(e) => onChange({ ...value, text: e.currentTarget.value })} />`)}</div>`;

/** A value of the API as ValueOrField has it. @param {any} value */
const sourceOf = (value) => (value === undefined ? { of: 'none', text: '' } : value !== null && typeof value === 'object' && typeof value.var === 'string' ? { of: 'field', text: value.var } : { of: 'value', text: value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value), was: value });

/** A value as the API has it. @param {any} source @param {string} [type] */
function sourced({ of, text, was }, type) {
	if (of === 'none') return undefined;
	if (of === 'field') return { var: text.trim() };
	if (was !== undefined && was !== null && typeof was === 'object' && JSON.stringify(was) === text) return was;
	if (type === 'number' && text !== '') return Number(text);
	if (type === 'boolean') return text === 'true';
	if ((type === 'list' || type === 'object') && text) {
		try {
			return JSON.parse(text);
		} catch { /* the server says what it is */ }
	}
	return text;
}

/** Members without those that are empty. @param {any} all */
const filled = (all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== '' && value !== false));

/** Only the names and values that are set. @param {any} all */
const present = (all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));

/** The sources of the values of an object. @param {any} [values] */
const sources = (values = {}) => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, sourceOf(value)]));

const mailEvents = ['mailer:email.opened', 'mailer:email.clicked'];

/** What each form begins with, what it asks for, and the configuration that it makes. @type {Record<string, {start: (c: any) => any, fields: (v: any, set: (some: any) => void, x: any) => any, config: (v: any, x: {parts: any}) => any}>} */
const forms = {
	trigger: {
		start: (c) => ({ event: c.event_name ?? '', rule: groupOf(c.filter_rule), topic_id: c.topic_id ?? '', segment_id: c.segment_id ?? '', broadcast_id: c.broadcast_id ?? '', template_id: c.template_id ?? '', property: c.property ?? '', when: (c.days ?? 0) < 0 ? 'before' : 'after', days: String(Math.abs(c.days ?? 0)), hour: String(c.hour ?? 9), yearly: Boolean(c.yearly), ...cronParts(c.schedule), zone: c.time_zone ?? '' }),
		fields: (v, set, { parts, steps }) => html`<${EventChoice} label=${t('automations.startsWhen')} v=${v} set=${set} parts=${parts} own=${triggers} /><${TriggerFields} v=${v} set=${set} parts=${parts} />
			<${FieldNames} id=${list} fields=${fieldsOf(parts, steps, v.event.trim())} /><${Rules} label=${t('automations.onlyIf')} rule=${v.rule} list=${list} onChange=${(rule) => set({ rule })} />`,
		config: (v) => {
			const name = v.event.trim();
			const own = {
				'mailer:contact.opt_in': { topic_id: v.topic_id }, 'mailer:segment.joined': { segment_id: v.segment_id },
				'mailer:date': { property: v.property.trim(), days: (v.when === 'before' ? -1 : 1) * Number(v.days) || undefined, hour: Number(v.hour) || undefined, yearly: v.yearly },
				'mailer:schedule': { segment_id: v.segment_id, schedule: cronText(v), time_zone: v.zone },
			}[name] ?? (mailEvents.includes(name) ? { broadcast_id: v.broadcast_id, template_id: v.template_id } : {});
			return { event_name: name, ...filled(own), ...present({ filter_rule: ruleOf(v.rule) }) };
		},
	},
	send_email: {
		start: (c) => ({ template: c.template?.id ?? '', values: sources(c.template?.variables), subject: c.subject ?? '', from: c.from ?? '', reply_to: c.reply_to ?? '', topic_id: c.topic_id ?? '', transactional: Boolean(c.transactional), types: {} }),
		fields: (v, set, { parts, steps }) => html`<${Select} label=${t('template.title')} required autofocus value=${idOf(parts, v.template)} options=${choice(parts.templates.filter((row) => row.status === 'published' || row.id === idOf(parts, v.template)), idOf(parts, v.template))} onChange=${(template) => set({ template, values: {} })} hint=${t('automations.templateHint')} />
			<${FieldNames} id=${list} fields=${fieldsOf(parts, steps)} />${v.template && html`<${TemplateValues} key=${v.template} of=${v.template} v=${v} set=${set} />`}
			<${Select} label=${t('composer.topic')} value=${v.topic_id} disabled=${v.transactional} options=${choice(parts.topics, v.topic_id, t('automations.topicOfAutomation'))} onChange=${(topic_id) => set({ topic_id })} hint=${t('automations.topicHint')} />
			<${Check} label=${t('automations.transactional')} checked=${v.transactional} onChange=${(transactional) => set({ transactional, ...(transactional ? { topic_id: '' } : {}) })} />
			${v.transactional && html`<${Notice} kind="warn">${t('automations.transactionalText')}<//>`}
			<details class="fold"><summary><${Icon} name="right" />${t('automations.overrides')}</summary><div class="fields fields--under">
				<${Input} label=${t('composer.subject')} maxlength="998" value=${v.subject} onInput=${(subject) => set({ subject })} /><${Input} label=${t('composer.from')} value=${v.from} onInput=${(from) => set({ from })} /><${Input} label=${t('forms.reply_to')} value=${v.reply_to} onInput=${(reply_to) => set({ reply_to })} /></div></details>`,
		config: (v) => ({ template: { id: v.template, ...withMembers('variables', present(Object.fromEntries(Object.entries(v.values).map(([key, one]) => [key, sourced(one, v.types[key])])))) }, ...filled({ subject: v.subject.trim(), from: v.from.trim(), reply_to: v.reply_to.trim(), topic_id: v.topic_id, transactional: v.transactional }) }),
	},
	delay: {
		start: (c) => ({ span: spanOf(c.duration ?? '1 day') }),
		fields: (v, set) => html`<${Span} label=${t('automations.duration')} required autofocus span=${v.span} onChange=${(span) => set({ span })} hint=${t('automations.atMostYear')} />`,
		config: (v) => ({ duration: spanText(v.span) }),
	},
	wait_until: {
		start: (c) => ({ time: `${two(c.hour ?? 9)}:${two(c.minute ?? 0)}`, days: (c.weekdays ?? []).map((day) => day.toLowerCase()), zone: c.time_zone ?? '' }),
		fields: (v, set) => html`<${Input} label=${t('feeds.time')} type="time" required autofocus value=${v.time} onInput=${(time) => set({ time })} hint=${t('automations.localTime')} />
			<${Ticks} title=${t('automations.weekdays')} options=${weekdays.map((day) => [day, dayName(day)])} value=${v.days} onChange=${(days) => set({ days: weekdays.filter((day) => days.includes(day)) })} /><${Zone} v=${v} set=${set} />`,
		config: (v) => ({ hour: Number(v.time.slice(0, 2)), ...filled({ minute: Number(v.time.slice(3, 5)) || '', time_zone: v.zone }), ...(v.days.length && v.days.length < 7 ? { weekdays: v.days } : {}) }),
	},
	wait_for_event: {
		start: (c) => ({ event: c.event_name ?? '', limited: c.timeout !== undefined || !c.event_name, span: spanOf(c.timeout ?? '3 days'), rule: groupOf(c.filter_rule) }),
		fields: (v, set, { parts, steps }) => html`<${EventChoice} label=${t('automations.event')} v=${v} set=${set} parts=${parts} own=${waitable} /><${Guess} event=${v.event} />
			<${Check} label=${t('automations.limited')} checked=${v.limited} onChange=${(limited) => set({ limited })} />${v.limited && html`<${Span} label=${t('automations.atMost')} required span=${v.span} onChange=${(span) => set({ span })} />`}
			<${FieldNames} id=${list} fields=${fieldsOf(parts, steps, v.event.trim())} /><${Rules} label=${t('automations.onlyIf')} rule=${v.rule} list=${list} onChange=${(rule) => set({ rule })} />`,
		config: (v) => ({ event_name: v.event.trim(), ...(v.limited ? { timeout: spanText(v.span) } : {}), ...present({ filter_rule: ruleOf(v.rule) }) }),
	},
	condition: {
		start: (c) => ({ rule: groupOf(c.type ? c : { type: 'rule', field: '', operator: 'eq', value: '' }) }),
		fields: (v, set, { parts, steps }) => html`<${FieldNames} id=${list} fields=${fieldsOf(parts, steps)} /><${Rules} label=${t('conditions.title')} rule=${v.rule} list=${list} onChange=${(rule) => set({ rule: rule.rules.length ? rule : v.rule })} /><p class="muted t12">${t('automations.fieldHint')}</p>`,
		config: (v) => ruleOf(v.rule),
	},
	split: {
		start: (c) => ({ percent: String(c.percent ?? 50) }),
		fields: (v, set) => html`<${Input} label=${t('automations.percent')} type="number" min="1" max="99" required autofocus value=${v.percent} onInput=${(percent) => set({ percent })} hint=${t('automations.percentHint')} />`,
		config: (v) => ({ percent: Number(v.percent) }),
	},
	goal: {
		start: (c) => ({ kind: c.segment_id ? 'segment' : 'event', event: c.event_name ?? '', segment_id: c.segment_id ?? '', rule: groupOf(c.filter_rule) }),
		fields: (v, set, { parts, steps }) => html`<p class="muted t13r">${t('automations.goalText')}</p>
			<${Select} label=${t('automations.goalWhen')} autofocus value=${v.kind} options=${['event', 'segment'].map((kind) => [kind, t(`automations.goal_${kind}`)])} onChange=${(kind) => set({ kind })} />
			${v.kind === 'segment' ? html`<${Select} label=${t('contacts.segment')} required value=${v.segment_id} options=${choice(parts.segments, v.segment_id)} onChange=${(segment_id) => set({ segment_id })} />`
				: html`<${EventChoice} label=${t('automations.event')} v=${v} set=${set} parts=${parts} own=${waitable} /><${Guess} event=${v.event} /><${FieldNames} id=${list} fields=${fieldsOf(parts, steps, v.event.trim())} /><${Rules} label=${t('automations.onlyIf')} rule=${v.rule} list=${list} onChange=${(rule) => set({ rule })} />`}`,
		config: (v) => (v.kind === 'segment' ? { segment_id: v.segment_id } : { event_name: v.event.trim(), ...present({ filter_rule: ruleOf(v.rule) }) }),
	},
	contact_update: {
		start: (c) => ({ first_name: sourceOf(c.first_name), last_name: sourceOf(c.last_name), unsubscribed: sourceOf(c.unsubscribed), values: sources(c.properties) }),
		fields: (v, set, { parts, steps }) => html`<p class="muted t13r">${t('automations.updateText')}</p><${FieldNames} id=${list} fields=${fieldsOf(parts, steps)} />
			<${ValueOrField} label=${t('contacts.firstName')} value=${v.first_name} onChange=${(first_name) => set({ first_name })} /><${ValueOrField} label=${t('contacts.lastName')} value=${v.last_name} onChange=${(last_name) => set({ last_name })} /><${ValueOrField} label=${t('contacts.unsubscribed')} type="boolean" value=${v.unsubscribed} onChange=${(unsubscribed) => set({ unsubscribed })} />
			${[...new Set([...parts.properties.map((p) => p.key), ...Object.keys(v.values)])].map((key) => html`<${ValueOrField} key=${key} label=${key} type=${typeOfProperty(parts, key)} value=${v.values[key] ?? sourceOf(undefined)} onChange=${(value) => set({ values: { ...v.values, [key]: value } })} />`)}`,
		config: (v, { parts }) => {
			const cleared = (source, type) => (source.of === 'value' && source.text === '' && type !== 'boolean' ? null : sourced(source, type));
			return { ...present({ first_name: cleared(v.first_name), last_name: cleared(v.last_name), unsubscribed: sourced(v.unsubscribed, 'boolean') }), ...withMembers('properties', present(Object.fromEntries(Object.entries(v.values).map(([key, one]) => [key, cleared(one, typeOfProperty(parts, key))])))) };
		},
	},
	add_to_segment: {
		start: (c) => ({ segment_id: c.segment_id ?? '' }),
		fields: (v, set, { parts }) => html`<${Select} label=${t('contacts.segment')} required autofocus value=${v.segment_id} options=${choice(parts.segments.filter((row) => !row.filter || row.id === v.segment_id), v.segment_id)} onChange=${(segment_id) => set({ segment_id })} />`,
		config: (v) => ({ segment_id: v.segment_id }),
	},
	set_topic: {
		start: (c) => ({ topic_id: c.topic_id ?? '', subscription: c.subscription ?? 'opt_in' }),
		fields: (v, set, { parts }) => html`<${Select} label=${t('composer.topic')} required autofocus value=${v.topic_id} options=${choice(parts.topics, v.topic_id)} onChange=${(topic_id) => set({ topic_id })} />
			<${Select} label=${t('automations.choiceOfContact')} value=${v.subscription} options=${[['opt_in', t('automations.optIn')], ['opt_out', t('automations.optOut')]]} onChange=${(subscription) => set({ subscription })} hint=${t('automations.optInHint')} />`,
		config: (v) => ({ topic_id: v.topic_id, subscription: v.subscription }),
	},
	webhook: {
		start: (c) => ({ webhook_id: c.webhook_id ?? '', type: c.type ?? '' }),
		fields: (v, set, { parts }) => html`<${Select} label=${t('automations.webhook')} required autofocus value=${v.webhook_id} options=${choice(parts.webhooks, v.webhook_id)} onChange=${(webhook_id) => set({ webhook_id })} hint=${t('automations.webhookHint')} />
			<${Input} label=${t('automations.eventName')} mono required maxlength="100" placeholder="trial.ending" value=${v.type} onInput=${(type) => set({ type })} />`,
		config: (v) => ({ webhook_id: v.webhook_id, type: v.type.trim() }),
	},
};
forms.remove_from_segment = forms.add_to_segment;

const two = (n) => String(n).padStart(2, '0');
const withMembers = (name, values) => (Object.keys(values).length ? { [name]: values } : {});
const idOf = (parts, id) => parts.templates.find((row) => row.id === id || row.alias === id)?.id ?? id;
const typeOfProperty = (parts, key) => parts.properties.find((p) => p.key === key)?.type ?? 'string';

/** That opens and clicks are not sure. @param {{event: string}} props */
const Guess = ({ event }) => mailEvents.includes(event) && html`<p class="muted t12">${t('automations.guess')}</p>`;

/** A time zone, or that of the team. */
const Zone = ({ v, set }) => html`<${Select} label=${t('feeds.zone')} value=${v.zone} options=${[['', t('automations.zoneOfTeam')], ...zones(v.zone || 'UTC')]} onChange=${(zone) => set({ zone })} />`;

/** A schedule of five fields that runs daily, weekly or monthly at a time; any other as it is. @param {string|undefined} text */
function cronParts(text) {
	const m = /^(\d{1,2}) (\d{1,2}) (\*|\d{1,2}) \* (\*|\w+)$/.exec(text ?? '0 9 * * mon');
	const day = m && weekdays.find((one) => one.startsWith(m[4].toLowerCase()));
	if (!m || (m[3] !== '*' && m[4] !== '*') || (m[4] !== '*' && !day)) return { every: 'cron', cron: text ?? '', at: '09:00', day: 'monday', date: '1' };
	return { every: m[3] !== '*' ? 'monthly' : day ? 'weekly' : 'daily', cron: text ?? '', at: `${two(m[2])}:${two(m[1])}`, day: day ?? 'monday', date: m[3] === '*' ? '1' : m[3] };
}

/** @param {any} v */
function cronText(v) {
	if (v.every === 'cron') return v.cron.trim();
	const [hour, minute] = v.at.split(':').map(Number);
	return `${minute} ${hour} ${v.every === 'monthly' ? Number(v.date) : '*'} * ${v.every === 'weekly' ? v.day.slice(0, 3) : '*'}`;
}

/** What a trigger of the server itself needs. @param {any} props */
function TriggerFields({ v, set, parts }) {
	const segment = html`<${Select} label=${t('contacts.segment')} required value=${v.segment_id} options=${choice(parts.segments, v.segment_id)} onChange=${(segment_id) => set({ segment_id })} />`;
	switch (v.event) {
	case 'mailer:contact.opt_in': return html`<${Select} label=${t('composer.topic')} value=${v.topic_id} options=${choice(parts.topics, v.topic_id, t('contacts.anyTopic'))} onChange=${(topic_id) => set({ topic_id })} />`;
	case 'mailer:segment.joined': return segment;
	case 'mailer:email.opened': case 'mailer:email.clicked': return html`<${Guess} event=${v.event} />
		<${Select} label=${t('automations.broadcast')} value=${v.broadcast_id} options=${choice(parts.broadcasts, v.broadcast_id, t('automations.anyMail'))} onChange=${(broadcast_id) => set({ broadcast_id })} />
		<${Select} label=${t('template.title')} value=${v.template_id} options=${choice(parts.templates, v.template_id, t('automations.anyMail'))} onChange=${(template_id) => set({ template_id })} />`;
	case 'mailer:date': return html`<${Select} label=${t('forms.property')} required value=${v.property} options=${[['', t('automations.choose')], ...parts.properties.filter((p) => p.type === 'string' || p.key === v.property).map((p) => [p.key, p.key]), ...(v.property && !parts.properties.some((p) => p.key === v.property) ? [[v.property, v.property]] : [])]} onChange=${(property) => set({ property })} hint=${t('automations.dateHint')} />
		<div class="cols cols--form"><${Input} label=${t('automations.days')} type="number" min="0" max="365" required value=${v.days} onInput=${(days) => set({ days })} /><${Select} label=${t('automations.beforeOrAfter')} value=${v.when} options=${['before', 'after'].map((when) => [when, t(`automations.${when}`)])} onChange=${(when) => set({ when })} /></div>
		<${Input} label=${t('automations.hour')} type="number" min="0" max="23" required value=${v.hour} onInput=${(hour) => set({ hour })} hint=${t('automations.localTime')} /><${Check} label=${t('automations.yearly')} checked=${v.yearly} onChange=${(yearly) => set({ yearly })} />`;
	case 'mailer:schedule': return html`${segment}<div class="cols cols--form"><${Select} label=${t('feeds.schedule')} value=${v.every} options=${[...['daily', 'weekly', 'monthly'].map((every) => [every, t(`feeds.${every}`)]), ['cron', t('automations.cron')]]} onChange=${(every) => set({ every, cron: every === 'cron' ? cronText(v) : v.cron })} />
		${v.every === 'weekly' && html`<${Select} label=${t('feeds.day')} value=${v.day} options=${weekdays.map((day) => [day, dayName(day)])} onChange=${(day) => set({ day })} />`}${v.every === 'monthly' && html`<${Input} label=${t('feeds.day')} type="number" min="1" max="31" required value=${v.date} onInput=${(date) => set({ date })} />`}
		${v.every === 'cron' ? html`<${Input} label=${t('automations.cronFields')} mono required value=${v.cron} onInput=${(cron) => set({ cron })} hint=${t('automations.cronHint')} />` : html`<${Input} label=${t('feeds.time')} type="time" required value=${v.at} onInput=${(at) => set({ at })} />`}</div><${Zone} v=${v} set=${set} />`;
	default: return null;
	}
}

/** The values of the variables of a template. @param {{of: string, v: any, set: (some: any) => void}} props */
function TemplateValues({ of, v, set }) {
	const { data } = useGet(encoded`/templates/${of}`);
	const variables = (data?.variables ?? []).filter((one) => one.key);
	useEffect(() => {
		if (data) set({ types: Object.fromEntries(variables.map((one) => [one.key, one.type])) });
	}, [data]);
	const keys = [...new Set([...variables.map((one) => one.key), ...Object.keys(v.values).filter((key) => v.values[key].of !== 'none')])];
	if (!keys.length) return null;
	const required = (key) => variables.some((one) => one.key === key && (one.fallback_value === null || one.fallback_value === undefined));
	return html`<fieldset class="field"><legend class="field-label">${t('template.variables')}</legend>${keys.map((key) => html`<${ValueOrField} key=${key} label=${key} type=${v.types[key]} required=${required(key)} value=${v.values[key] ?? { of: required(key) ? 'value' : 'none', text: '' }} onChange=${(value) => set({ values: { ...v.values, [key]: value } })} />`)}</fieldset>`;
}

/**
 * Asks for the configuration of a step. Resolves to what send makes of it, or undefined if the dialog was closed.
 * @param {{type: string, config: any}} step @param {any} parts useParts' @param {any[]} steps of the flow @param {boolean} [isNew] @param {(config: any) => Promise<any>} [send]
 */
export async function editStep(step, parts, steps, isNew = false, send = async (config) => config) {
	const of = forms[step.type];
	if (!of) return isNew ? {} : undefined;
	return form({
		title: typeName(step.type), act: t(isNew ? (step.type === 'trigger' ? 'automations.create' : 'automations.addStep') : 'automations.apply'), start: of.start(step.config ?? {}),
		fields: (v, set) => of.fields(v, set, { parts, steps }),
		send: async (v) => send(of.config(v, { parts })),
	});
}
