// The conditions of a segment: built line by line, with how many they fit while typing.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { number } from './format.js';
import { say, t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { Button, Icon, Seg, Select } from './ui/base.js';
import { nameOf, Subscribed } from './ui/audience.js';

/** The operators of a field, by its type. @type {Record<string, string[]>} */
const ops = {
	text: ['equals', 'not_equals', 'contains', 'starts_with', 'ends_with', 'is_set', 'is_not_set'],
	number: ['equals', 'not_equals', 'greater_than', 'less_than', 'is_set', 'is_not_set'],
	flag: ['is_true', 'is_false'],
	time: ['before', 'after'],
	mail: ['is_true', 'is_false', 'within_days', 'not_within_days', 'in_broadcast', 'not_in_broadcast'],
	topic: ['subscribed', 'not_subscribed'],
};

/** Asks that need no value. */
const bare = ['is_set', 'is_not_set', 'is_true', 'is_false'];

const fields = { email: 'text', first_name: 'text', last_name: 'text', unsubscribed: 'flag', created_at: 'time', received: 'mail', opened: 'mail', clicked: 'mail', replied: 'mail', topic: 'topic' };

/** The value type of an operator that is no text. @type {Record<string, string>} */
const values = { within_days: 'days', not_within_days: 'days', in_broadcast: 'broadcast', not_in_broadcast: 'broadcast', subscribed: 'topic', not_subscribed: 'topic' };

const isProperty = (/** @type {string} */ field) => field.startsWith('property:');
const fieldName = (/** @type {string} */ field) => (isProperty(field) ? field.slice(9) : t(`conditions.${field}`));

/** The names of broadcasts and topics that filters name, by id. @param {any[]} filters @returns {(id: string) => string} */
export function useNames(filters) {
	const of = (what) => filters.some((filter) => filter?.conditions?.some((c) => values[c.op] === what));
	const broadcasts = useGet(of('broadcast') ? '/broadcasts' : null, { limit: 100 }).data?.data ?? [];
	const topics = useGet(of('topic') ? '/topics' : null, { limit: 100 }).data?.data ?? [];
	const names = new Map([...broadcasts, ...topics].map((row) => [row.id, row.name || row.subject]));
	return (id) => names.get(id) ?? id;
}

/** A filter as a line of text. @param {any} filter @param {(id: string) => string} named by useNames */
export function inWords(filter, named) {
	if (!filter) return t('conditions.byHand');
	if (!filter.conditions?.length) return t('conditions.everybody');
	return filter.conditions.map((c) => words(c, named)).join(filter.match === 'any' ? ` ${t('conditions.or')} ` : ` ${t('conditions.and')} `);
}

function words(c, named) {
	if (fields[c.field] !== 'mail') return [fieldName(c.field), t(`conditions.ops.${c.op}`), bare.includes(c.op) ? '' : shown(c, named)].join(' ').trim();
	return `${fieldName(c.field)}: ${values[c.op] === 'days' ? t(`conditions.days.${c.op}`, { n: Number(c.value) }) : bare.includes(c.op) ? t(`conditions.mail.${c.op}`) : `${t(`conditions.ops.${c.op}`)} ${named(c.value)}`}`;
}

const shown = (c, named) => (c.field === 'created_at' ? String(c.value).slice(0, 10) : values[c.op] ? named(c.value) : c.value);

/** Whether each condition is complete. @param {any} filter */
export const complete = (filter) => filter.conditions.every((c) => bare.includes(c.op) || String(c.value ?? '').trim() !== '');

/** Lines of conditions. @param {{filter: any, onChange: (filter: any) => void}} props */
export function Builder({ filter, onChange }) {
	const declared = useGet('/contact-properties', { limit: 100 }).data?.data ?? [];
	const typeOf = (/** @type {string} */ field) => (isProperty(field) ? (declared.find((p) => `property:${p.key}` === field)?.type === 'number' ? 'number' : 'text') : fields[field] ?? 'text');
	const change = (i, part) => onChange({ ...filter, conditions: filter.conditions.map((c, j) => (j === i ? { ...c, ...part } : c)) });
	const setField = (i, field) => {
		const fit = ops[typeOf(field)];
		const before = filter.conditions[i];
		change(i, { field, op: fit.includes(before.op) ? before.op : fit[0], value: typeOf(field) === typeOf(before.field) ? before.value : '' });
	};
	const setOp = (i, op) => change(i, { op, value: values[op] === values[filter.conditions[i].op] ? filter.conditions[i].value : values[op] === 'days' ? '30' : '' });
	const opName = (c, op) => t(fields[c.field] === 'mail' && bare.includes(op) ? `conditions.mail.${op}` : `conditions.ops.${op}`);
	const names = [...new Set([...Object.keys(fields), ...declared.map((p) => `property:${p.key}`), ...filter.conditions.map((c) => c.field)])].map((field) => [field, fieldName(field)]);
	return html`<div class="stack stack--2 builder">
		${filter.conditions.length > 1 && html`<div class="row">${t('conditions.match')} <${Seg} label=${t('conditions.match')} value=${filter.match} onChange=${(match) => onChange({ ...filter, match })} options=${[['all', t('conditions.all')], ['any', t('conditions.any')]]} /></div>`}
		${filter.conditions.map((c, i) => html`<div class="condition wide" role="group" aria-label=${t('conditions.nth', { n: i + 1 })} key=${i}>
			<${Select} bare label=${t('conditions.field')} value=${c.field} options=${names} onChange=${(field) => setField(i, field)} />
			<${Select} bare label=${t('conditions.op')} value=${c.op} options=${ops[typeOf(c.field)].map((op) => [op, opName(c, op)])} onChange=${(op) => setOp(i, op)} />
			<${Value} of=${c} type=${typeOf(c.field)} onChange=${(value) => change(i, { value })} />
			<${Button} icon="x" kind="quiet" label=${t('conditions.remove')} onClick=${() => onChange({ ...filter, conditions: filter.conditions.filter((_, j) => j !== i) })} /></div>`)}
		${filter.conditions.some((c) => fields[c.field] === 'mail') && html`<p class="muted t12">${t('conditions.mailHint')}</p>`}
		<${Button} icon="plus" onClick=${() => onChange({ ...filter, conditions: [...filter.conditions, { field: 'email', op: 'contains', value: '' }] })}>${t('conditions.add')}<//></div>`;
}

/** The value of a condition. @param {{of: any, type: string, onChange: (value: string) => void}} props */
function Value({ of: c, type, onChange }) {
	const label = t('conditions.value');
	if (bare.includes(c.op)) return html`<span></span>`;
	if (values[c.op] === 'broadcast' || values[c.op] === 'topic') return html`<${Choice} of=${c} path=${values[c.op] === 'topic' ? '/topics' : '/broadcasts'} label=${label} onChange=${onChange} />`;
	if (values[c.op] === 'days') return html`<input class="input" aria-label=${t('conditions.daysLabel')} type="number" min="1" max="3650" value=${c.value} onInput=${(e) => onChange(e.currentTarget.value)} />`;
	if (type === 'time') return html`<input class="input" aria-label=${label} type="date" value=${String(c.value ?? '').slice(0, 10)} onInput=${(e) => onChange(e.currentTarget.value && `${e.currentTarget.value}T00:00:00Z`)} />`;
	return html`<input class="input" aria-label=${label} type="text" inputmode=${type === 'number' ? 'decimal' : undefined} value=${c.value ?? ''} onInput=${(e) => onChange(e.currentTarget.value)} />`;
}

/** A broadcast or a topic to choose; one that is not in the list is shown by its id. @param {{of: any, path: string, label: string, onChange: (value: string) => void}} props */
function Choice({ of: c, path, label, onChange }) {
	const rows = (useGet(path, { limit: 100 }).data?.data ?? []).filter((row) => row.status !== 'draft' || row.id === c.value);
	const options = [['', t(path === '/topics' ? 'conditions.chooseTopic' : 'conditions.chooseBroadcast')], ...rows.map((row) => [row.id, row.name || row.subject])];
	if (c.value && !rows.some((row) => row.id === c.value)) options.push([c.value, c.value]);
	return html`<${Select} bare label=${label} value=${c.value} options=${options} onChange=${onChange} />`;
}

/** How many a filter fits, and ten of them, while it is typed. @param {{filter: any}} props */
export function Fit({ filter }) {
	const [answer, setAnswer] = useState(/** @type {any} */ (null));
	const asked = useRef(0);
	const ready = complete(filter);
	const key = JSON.stringify(filter);
	useEffect(() => {
		if (!ready) return;
		// The last answer wins: one that was asked for before it is not shown.
		const mine = ++asked.current;
		const end = new AbortController();
		const timer = setTimeout(async () => {
			try {
				const found = await api.read('/segments/preview', { filter }, { signal: end.signal });
				if (mine === asked.current) setAnswer(found);
			} catch (error) {
				if (!(error instanceof ApiError) && !end.signal.aborted) throw error;
				if (mine === asked.current && error instanceof ApiError) setAnswer({ error });
			}
		}, 250);
		return () => {
			clearTimeout(timer);
			end.abort();
		};
	}, [key, ready]);
	return html`<div class="fit" aria-live="polite">${answer?.error ? html`<p class="field-error"><${Icon} name="alert" />${answer.error.message}</p>` : !ready ? html`<p class="muted">${t('conditions.unfinished')}</p>` : !answer ? null : html`
		<p class="t16">${say('conditions.contacts', { n: answer.count, count: html`<b class="strong">${answer.exact ? number(answer.count) : t('conditions.atLeast', { n: answer.count })}</b>` })}</p>
		${answer.sample.length > 0 && html`<p class="muted t12">${t('conditions.sample', { n: answer.sample.length })}</p><ul class="items items--tight">${answer.sample.map((c) => html`<li key=${c.id}><a class="cut" href=${href(encoded`/contacts/${c.id}`)}><bdi>${c.email}</bdi></a><span class="muted cut grow"><bdi>${nameOf(c)}</bdi></span><${Subscribed} of=${c} /></li>`)}</ul>`}`}</div>`;
}
