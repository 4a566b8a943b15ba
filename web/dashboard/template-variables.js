// The variables of a template: required ones, fallbacks, and values for the preview.
import { html, useMemo } from './lib/core.js';
import { t } from './i18n.js';
import { Button, Icon, Select } from './ui/base.js';
import { builtIn, used } from './variables.js';

/**
 * Values for the preview: those typed, and the name of a variable that has neither value nor
 * fallback. @param {any[]} variables @param {Record<string, string>} [typed]
 */
export function standIns(variables, typed = {}) {
	const out = {};
	for (const { key, type, fallback_value: fallback } of variables) {
		const value = typed[key] || (fallback === null || fallback === undefined ? (type === 'number' ? '1' : key) : '');
		if (key && value) out[key] = type === 'number' ? Number(value) : value;
	}
	return out;
}

/** @param {{draft: any, values: Record<string, string>, setValues: (values: Record<string, string>) => void}} props */
export function Variables({ draft, values, setValues }) {
	const { value } = draft;
	const all = value.variables ?? [];
	const undeclared = useMemo(() => {
		const declared = new Set([...builtIn, ...all.map((v) => v.key)]);
		return [...new Set([value.subject, value.html, value.text].flatMap((text) => used(text ?? '')).filter((v) => !v.broken && !declared.has(v.key) && !v.key.startsWith('contact.')).map((v) => v.key))];
	}, [value.subject, value.html, value.text, all]);
	const set = (i, parts) => draft.change({ variables: all.map((v, j) => (i === j ? { ...v, ...parts } : v)) });
	const declare = () => draft.change({ variables: [...all, ...undeclared.map((key) => ({ key, type: 'string', fallback_value: null }))] });
	return html`${undeclared.length > 0 && html`<div class="vars"><span class="warn row"><${Icon} name="alert" /><span>${t('template.undeclared', { n: undeclared.length, names: undeclared.join(', ') })}</span></span><${Button} class="push" onClick=${declare}>${t('template.declare', { key: undeclared.length === 1 ? undeclared[0] : undeclared.length })}<//></div>`}
	<div class="vars-table"><table class="table stack-s"><caption class="vh">${t('template.variables')}</caption><thead><tr><th scope="col">${t('template.variable')}</th><th scope="col">${t('template.type')}</th><th scope="col">${t('template.fallback')}</th><th scope="col">${t('template.values')}</th><th scope="col"><span class="vh">${t('ui.acts')}</span></th></tr></thead><tbody>
	${all.map((v, i) => html`<tr key=${v.id ?? i}><td data-label=${t('template.variable')}><input class="input mono" aria-label=${t('template.variable')} value=${v.key} onInput=${(e) => set(i, { key: e.currentTarget.value.trim() })} /></td>
		<td data-label=${t('template.type')}><${Select} bare label=${t('template.type')} value=${v.type} onChange=${(type) => set(i, { type })} options=${[['string', t('template.string')], ['number', t('template.number')]]} /></td>
		<td data-label=${t('template.fallback')}><input class="input" aria-label=${t('template.fallback')} placeholder=${t('template.fallbackNone')} value=${v.fallback_value ?? ''} onInput=${(e) => set(i, { fallback_value: e.currentTarget.value === '' ? null : e.currentTarget.value })} /></td>
		<td data-label=${t('template.values')}><input class="input" aria-label=${t('template.valueOf', { key: v.key })} value=${values[v.key] ?? ''} onInput=${(e) => setValues({ ...values, [v.key]: e.currentTarget.value })} /></td>
		<td class="cell-acts"><${Button} icon="x" kind="quiet" label=${t('template.remove', { key: v.key })} onClick=${() => draft.change({ variables: all.filter((_, j) => j !== i) })} /></td></tr>`)}</tbody></table>
	<div class="row"><${Button} icon="plus" kind="quiet" onClick=${() => draft.change({ variables: [...all, { key: '', type: 'string', fallback_value: null }] })}>${t('template.add')}<//></div></div>`;
}
