// The conditions of a segment: built line by line, with how many they fit while typing.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { number } from './format.js';
import { say, t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { Button, Icon, Seg, Select } from './ui/base.js';
import { nameOf, Subscribed } from './ui/audience.js';

/** What can be asked of a field, by its type. @type {Record<string, string[]>} */
const ops = {
	text: ['equals', 'not_equals', 'contains', 'starts_with', 'ends_with', 'is_set', 'is_not_set'],
	number: ['equals', 'not_equals', 'greater_than', 'less_than', 'is_set', 'is_not_set'],
	flag: ['is_true', 'is_false'],
	time: ['before', 'after'],
};

/** Asks that need no value. */
const bare = ['is_set', 'is_not_set', 'is_true', 'is_false'];

const fields = { email: 'text', first_name: 'text', last_name: 'text', unsubscribed: 'flag', created_at: 'time' };

const isProperty = (/** @type {string} */ field) => field.startsWith('property:');
const fieldName = (/** @type {string} */ field) => (isProperty(field) ? field.slice(9) : t(`conditions.${field}`));

/** A filter in a line of words. @param {any} filter */
export function inWords(filter) {
	if (!filter) return t('conditions.byHand');
	if (!filter.conditions?.length) return t('conditions.everybody');
	return filter.conditions.map((c) => [fieldName(c.field), t(`conditions.ops.${c.op}`), bare.includes(c.op) ? '' : shown(c)].join(' ').trim()).join(filter.match === 'any' ? ` ${t('conditions.or')} ` : ` ${t('conditions.and')} `);
}

const shown = (c) => (c.field === 'created_at' ? String(c.value).slice(0, 10) : c.value);

/** Whether each condition says all that it needs. @param {any} filter */
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
	const names = [...new Set([...Object.keys(fields), ...declared.map((p) => `property:${p.key}`), ...filter.conditions.map((c) => c.field)])].map((field) => [field, fieldName(field)]);
	return html`<div class="stack stack--2 builder">
		${filter.conditions.length > 1 && html`<div class="row">${t('conditions.match')} <${Seg} label=${t('conditions.match')} value=${filter.match} onChange=${(match) => onChange({ ...filter, match })} options=${[['all', t('conditions.all')], ['any', t('conditions.any')]]} /></div>`}
		${filter.conditions.map((c, i) => html`<div class="condition wide" role="group" aria-label=${t('conditions.nth', { n: i + 1 })} key=${i}>
			<${Select} bare label=${t('conditions.field')} value=${c.field} options=${names} onChange=${(field) => setField(i, field)} />
			<${Select} bare label=${t('conditions.op')} value=${c.op} options=${ops[typeOf(c.field)].map((op) => [op, t(`conditions.ops.${op}`)])} onChange=${(op) => change(i, { op })} />
			${bare.includes(c.op) ? html`<span></span>` : html`<input class="input" aria-label=${t('conditions.value')} type=${typeOf(c.field) === 'time' ? 'date' : 'text'} inputmode=${typeOf(c.field) === 'number' ? 'decimal' : undefined} value=${typeOf(c.field) === 'time' ? String(c.value ?? '').slice(0, 10) : c.value ?? ''} onInput=${(e) => change(i, { value: typeOf(c.field) === 'time' && e.currentTarget.value ? `${e.currentTarget.value}T00:00:00Z` : e.currentTarget.value })} />`}
			<${Button} icon="x" kind="quiet" label=${t('conditions.remove')} onClick=${() => onChange({ ...filter, conditions: filter.conditions.filter((_, j) => j !== i) })} /></div>`)}
		<${Button} icon="plus" onClick=${() => onChange({ ...filter, conditions: [...filter.conditions, { field: 'email', op: 'contains', value: '' }] })}>${t('conditions.add')}<//></div>`;
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
