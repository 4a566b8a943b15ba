// What a sign-up form asks for besides the address: rows of a property, its label, and whether it is required.
import { html } from './lib/core.js';
import { useList } from './api.js';
import { t } from './i18n.js';
import { Button, Check, Input, Select } from './ui/base.js';

/** The most fields of a form. */
const most = 10;

/** @param {{value: any[], onChange: (fields: any[]) => void}} props */
export function FormFields({ value, onChange }) {
	const declared = useList('/contact-properties', {}, { limit: 100 }).rows.map((p) => [p.key, p.key]);
	const known = [['first_name', t('contacts.firstName')], ['last_name', t('contacts.lastName')], ...declared];
	const nameOf = (key) => known.find(([one]) => one === key)?.[1] ?? key;
	const free = known.filter(([key]) => !value.some((f) => f.property === key));
	const change = (i, some) => onChange(value.map((f, at) => (at === i ? { ...f, ...some } : f)));
	const move = (i) => onChange(value.map((f, at) => (at === i - 1 ? value[i] : at === i ? value[i - 1] : f)));
	return html`${value.length > 0 && html`<ul class="form-fields">${value.map((f, i) => html`<li key=${f.property}>
		<${Select} label=${t('forms.property')} value=${f.property} options=${[...known.filter(([key]) => key === f.property || free.some(([one]) => one === key)), ...(known.some(([key]) => key === f.property) ? [] : [[f.property, f.property]])]} onChange=${(property) => change(i, { property, label: f.label === nameOf(f.property) ? nameOf(property) : f.label })} />
		<${Input} label=${t('forms.label')} value=${f.label ?? ''} maxlength="100" onInput=${(label) => change(i, { label })} />
		<${Check} label=${t('forms.required')} checked=${!!f.required} onChange=${(required) => change(i, { required })} />
		<span class="row"><${Button} kind="quiet" icon="up" label=${t('forms.moveUp', { name: f.label || f.property })} disabled=${i === 0} onClick=${() => move(i)} /><${Button} kind="quiet" icon="x" label=${t('forms.dropField', { name: f.label || f.property })} onClick=${() => onChange(value.filter((_, at) => at !== i))} /></span></li>`)}</ul>`}
	<${Button} icon="plus" disabled=${!free.length || value.length >= most} onClick=${() => onChange([...value, { property: free[0][0], label: free[0][1], required: false }])}>${t('forms.addField')}<//>`;
}
