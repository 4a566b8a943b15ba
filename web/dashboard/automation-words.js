// Steps and rules of automations in words, with the names of the things that they use.
import { useList } from './api.js';
import { spanOf } from './automation-flow.js';
import { language, t } from './i18n.js';

/** The icon of each type of step. @type {Record<string, string>} */
export const icons = { trigger: 'play', send_email: 'mail', delay: 'pause', wait_until: 'st-scheduled', wait_for_event: 'history', condition: 'list', split: 'flow', goal: 'bookmark', contact_update: 'edit', contact_delete: 'trash', add_to_segment: 'plus', remove_from_segment: 'minus', set_topic: 'audience', webhook: 'webhook' };

/** The triggers that are events of the server itself, in the order of the choice. */
export const triggers = ['mailer:contact.created', 'mailer:contact.opt_in', 'mailer:segment.joined', 'mailer:email.opened', 'mailer:email.clicked', 'mailer:date', 'mailer:schedule'];

/** Those that steps and goals can wait for. */
export const waitable = ['mailer:contact.opt_in', 'mailer:segment.joined', 'mailer:email.opened', 'mailer:email.clicked'];

/** The members of the payload of the server's own events. @type {Record<string, string[]>} */
const payloads = { 'mailer:contact.created': ['contact_id'], 'mailer:contact.opt_in': ['topic_id'], 'mailer:segment.joined': ['segment_id'], 'mailer:email.opened': ['email_id', 'broadcast_id', 'template_id'], 'mailer:email.clicked': ['email_id', 'broadcast_id', 'template_id', 'url'], 'mailer:date': ['date', 'property'], 'mailer:schedule': ['segment_id', 'at'] };

/** The key of the text of a trigger or an event. @param {string} name */
const eventKey = (name) => name.replace('mailer:', '').replace('.', '_');

/** An event as text. @param {string|undefined} name */
export const eventName = (name) => (name?.startsWith('mailer:') && [...triggers, ...waitable].includes(name) ? t(`automations.events.${eventKey(name)}`) : name || '…');

/** The days of the week, as the API has them. */
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** The name of a day of the week. @param {string} day @param {'long'|'short'} [as] */
export const dayName = (day, as = 'long') => new Intl.DateTimeFormat(language.value, { weekday: as, timeZone: 'UTC' }).format(new Date(Date.UTC(2024, 0, 1 + weekdays.indexOf(day.toLowerCase()))));

/** The things that steps name: lists, and the name of each by id. */
export function useParts() {
	const all = { limit: 100 };
	const templates = useList('/templates', {}, all).rows;
	const segments = useList('/segments', {}, all).rows;
	const topics = useList('/topics', {}, all).rows;
	const webhooks = useList('/webhooks', {}, all).rows;
	const broadcasts = useList('/broadcasts', {}, all).rows;
	const events = useList('/events', {}, all).rows;
	const properties = useList('/contact-properties', {}, all).rows;
	const names = new Map();
	for (const row of [...templates, ...segments, ...topics, ...webhooks, ...broadcasts]) {
		names.set(row.id, row.name || row.subject || row.endpoint);
		if (row.alias) names.set(row.alias, row.name);
	}
	return { templates, segments, topics, webhooks, broadcasts, events, properties, named: (/** @type {string|undefined} */ id) => (id && names.get(id)) || '…' };
}

/** The fields that rules and variables can name. @param {any} parts @param {any[]} steps of the flow @param {string} [awaited] the event that event.… is of, where it is not the trigger's */
export function fieldsOf(parts, steps, awaited) {
	const members = (event) => payloads[event] ?? Object.keys(parts.events.find((one) => one.name === event)?.schema ?? {});
	const trigger = steps.find((step) => step.type === 'trigger')?.config.event_name;
	const waits = awaited ? [] : steps.filter((step) => step.type === 'wait_for_event');
	return [
		...['email', 'first_name', 'last_name', 'unsubscribed', ...parts.properties.map((p) => p.key)].map((name) => `contact.${name}`),
		...members(awaited ?? trigger).map((name) => `event.${name}`),
		...waits.flatMap((step) => members(step.config.event_name).map((name) => `wait_events.${step.key}.${name}`)),
	];
}

/** A duration as text. @param {string|undefined} text */
export function spanWords(text) {
	const { n, unit } = spanOf(text);
	return n === '' ? '…' : t(`automations.spans.${unit}`, { n: Number(n) });
}

const operator = (name) => t(`automations.operators.${name}`);

/** A rule as text. @param {any} rule @returns {string} */
export function ruleWords(rule) {
	if (!rule) return '';
	if (rule.type !== 'rule') return rule.rules.map((one) => (one.type === 'rule' ? ruleWords(one) : `(${ruleWords(one)})`)).join(` ${t(rule.type === 'or' ? 'conditions.or' : 'conditions.and')} `);
	return [rule.field, operator(rule.operator), rule.value === undefined ? '' : String(rule.value)].join(' ').trim();
}

const two = (n) => String(n).padStart(2, '0');

/** A trigger as text. @param {any} c @param {any} parts */
export function triggerWords(c, parts) {
	const about = {
		'mailer:contact.opt_in': c.topic_id && parts.named(c.topic_id), 'mailer:segment.joined': parts.named(c.segment_id),
		'mailer:email.opened': (c.broadcast_id || c.template_id) && parts.named(c.broadcast_id || c.template_id), 'mailer:email.clicked': (c.broadcast_id || c.template_id) && parts.named(c.broadcast_id || c.template_id),
		'mailer:date': c.property && t('automations.dateOf', { property: c.property, days: dayWords(c.days ?? 0), hour: `${two(c.hour ?? 0)}:00` }), 'mailer:schedule': `${c.schedule ?? '…'}, ${parts.named(c.segment_id)}`,
	}[c.event_name];
	const name = eventName(c.event_name);
	return [about ? t('automations.joined', { one: name, two: about }) : name, ruleWords(c.filter_rule)].filter(Boolean).join(` · `);
}

/** The distance to a date in words. @param {number} days */
export const dayWords = (days) => (days === 0 ? t('automations.onDay') : t(days > 0 ? 'automations.daysAfter' : 'automations.daysBefore', { n: Math.abs(days) }));

/** What a step does, as text; empty: its type says all. @param {any} step @param {any} parts */
export function stepWords(step, parts) {
	const c = step.config ?? {};
	switch (step.type) {
	case 'trigger': return triggerWords(c, parts);
	case 'send_email': return [parts.named(c.template?.id), c.transactional ? t('automations.transactionalShort') : ''].filter(Boolean).join(' · ');
	case 'delay': return spanWords(c.duration);
	case 'wait_until': return [`${two(c.hour ?? 0)}:${two(c.minute ?? 0)}`, (c.weekdays ?? []).map((day) => dayName(day, 'short')).join(', ')].filter(Boolean).join(' · ');
	case 'wait_for_event': return c.timeout ? t('automations.waitAtMost', { event: eventName(c.event_name), span: spanWords(c.timeout) }) : eventName(c.event_name);
	case 'condition': return ruleWords(c);
	case 'split': return t('automations.shares', { one: c.percent, two: 100 - c.percent });
	case 'goal': return c.segment_id ? t('automations.inSegment', { segment: parts.named(c.segment_id) }) : [eventName(c.event_name), ruleWords(c.filter_rule)].filter(Boolean).join(' · ');
	case 'contact_update': return [...['first_name', 'last_name', 'unsubscribed'].filter((name) => c[name] !== undefined).map((name) => t(`conditions.${name}`)), ...Object.keys(c.properties ?? {})].join(', ');
	case 'add_to_segment': case 'remove_from_segment': return parts.named(c.segment_id);
	case 'set_topic': return t('automations.joined', { one: parts.named(c.topic_id), two: t(`automations.${c.subscription === 'opt_out' ? 'optOut' : 'optIn'}`) });
	case 'webhook': return t('automations.joined', { one: c.type, two: parts.named(c.webhook_id) });
	default: return '';
	}
}

/** The type of a step as text. @param {string} type */
export const typeName = (type) => t(`automations.types.${type}`);

/** The heading of a step for readers: its number, type and what it does. @param {number} n @param {any} step @param {any} parts */
export const stepTitle = (n, step, parts) => t('automations.stepOf', { n, type: typeName(step.type), words: stepWords(step, parts) }).replace(/[:,：]\s*$/, '');
