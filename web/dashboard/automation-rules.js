// The editor of a condition of an automation: comparisons, joined by and, or.
import { html } from './lib/core.js';
import { t } from './i18n.js';
import { Button, Seg, Select } from './ui/base.js';

const operators = ['eq', 'neq', 'contains', 'starts_with', 'ends_with', 'gt', 'gte', 'lt', 'lte', 'exists', 'is_empty'];
const bare = ['exists', 'is_empty'];
const numeric = ['gt', 'gte', 'lt', 'lte'];
const textual = ['contains', 'starts_with', 'ends_with'];

/** How deep groups can be in each other. */
const deepest = 4;

/** A rule that is not filled in. */
const blank = () => ({ type: 'rule', field: '', operator: 'eq', value: '' });

/** A rule for the editor: a group. @param {any} rule null: none */
export const groupOf = (rule) => (!rule?.type ? { type: 'and', rules: [] } : rule.type === 'rule' ? { type: 'and', rules: [rule] } : rule);

/** The value of a comparison as it was typed: a number, true, false, or a text. @param {any} value @param {string} operator */
function valueOf(value, operator) {
	const text = String(value ?? '').trim();
	if (textual.includes(operator)) return text;
	if (numeric.includes(operator)) return Number(text);
	if (text === 'true' || text === 'false') return text === 'true';
	return text !== '' && String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** A rule as the API has it; undefined: a group without rules. @param {any} rule @returns {any} */
export function ruleOf(rule) {
	if (rule.type === 'rule') return bare.includes(rule.operator) ? { type: 'rule', field: rule.field.trim(), operator: rule.operator } : { type: 'rule', field: rule.field.trim(), operator: rule.operator, value: rule.value === null ? null : valueOf(rule.value, rule.operator) };
	const rules = rule.rules.map(ruleOf).filter(Boolean);
	return rules.length > 1 ? { type: rule.type, rules } : rules[0];
}

/** A field to type with what is known of it. @param {{label: string, value: string, list: string, onInput: (value: string) => void}} props */
export const FieldName = ({ label, value, list, onInput }) => html`<input class="input mono" aria-label=${label} list=${list} required pattern="(contact|event|wait_events)\..+" title=${t('automations.fieldHint')} placeholder="event.plan" autocomplete="off" spellcheck="false" maxlength="200" value=${value} onInput=${(e) => onInput(e.currentTarget.value)} />`;

/** The names that fields can have, for the inputs that name this list. @param {{id: string, fields: string[]}} props */
export const FieldNames = ({ id, fields }) => html`<datalist id=${id}>${fields.map((name) => html`<option key=${name} value=${name} />`)}</datalist>`;

/** @param {{rule: any, onChange: (rule: any) => void, list: string, label: string, depth?: number, onDrop?: () => void}} props rule is a group; list is the id of FieldNames. */
export function Rules({ rule, onChange, list, label, depth = 1, onDrop }) {
	const set = (i, one) => onChange({ ...rule, rules: rule.rules.map((old, j) => (i === j ? one : old)) });
	const drop = (i) => onChange({ ...rule, rules: rule.rules.filter((_, j) => j !== i) });
	const add = (one) => onChange({ ...rule, rules: [...rule.rules, one] });
	return html`<fieldset class=${depth > 1 ? 'rules rules--in' : 'rules'}><legend class=${depth > 1 ? 'vh' : 'field-label'}>${label}</legend>
		${(rule.rules.length > 1 || depth > 1) && html`<div class="row">${t('conditions.match')} <${Seg} label=${t('conditions.match')} value=${rule.type} onChange=${(type) => onChange({ ...rule, type })} options=${[['and', t('conditions.all')], ['or', t('conditions.any')]]} />${onDrop && html`<span class="push"></span><${Button} icon="x" kind="quiet" label=${t('automations.dropGroup')} onClick=${onDrop} />`}</div>`}
		${rule.rules.map((one, i) => (one.type === 'rule' ? html`<${Comparison} key=${i} of=${one} n=${i + 1} list=${list} onChange=${(now) => set(i, now)} onDrop=${() => drop(i)} />`
			: html`<${Rules} key=${i} rule=${one} list=${list} label=${t('automations.group')} depth=${depth + 1} onChange=${(now) => set(i, now)} onDrop=${() => drop(i)} />`))}
		<div class="row row--wrap"><${Button} icon="plus" onClick=${() => add(blank())}>${t('conditions.add')}<//>${depth < deepest && rule.rules.length > 0 && html`<${Button} icon="plus" kind="quiet" onClick=${() => add({ type: 'or', rules: [blank()] })}>${t('automations.addGroup')}<//>`}</div></fieldset>`;
}

/** One comparison. */
function Comparison({ of, n, list, onChange, onDrop }) {
	return html`<div class="condition wide" role="group" aria-label=${t('conditions.nth', { n })}>
		<${FieldName} label=${t('conditions.field')} list=${list} value=${of.field ?? ''} onInput=${(field) => onChange({ ...of, field })} />
		<${Select} bare label=${t('conditions.op')} value=${of.operator} options=${operators.map((name) => [name, t(`automations.operators.${name}`)])} onChange=${(name) => onChange({ ...of, operator: name })} />
		${bare.includes(of.operator) ? html`<span></span>` : html`<input class="input" aria-label=${t('conditions.value')} type=${numeric.includes(of.operator) ? 'number' : 'text'} step="any" required=${of.operator !== 'eq' && of.operator !== 'neq'} value=${of.value === null ? 'null' : String(of.value ?? '')} onInput=${(e) => onChange({ ...of, value: e.currentTarget.value })} />`}
		<${Button} icon="x" kind="quiet" label=${t('conditions.remove')} onClick=${onDrop} /></div>`;
}
