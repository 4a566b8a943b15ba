// The variables of a template: required ones, fallbacks, and values for the preview.
import { html, useMemo } from './lib/core.js';
import { t } from './i18n.js';
import { undeclaredIn } from './liquid.js';
import { editTestData, typeOf } from './test-data.js';
import { Button, Icon, Select } from './ui/base.js';
import { builtIn, used } from './variables.js';

/** What stands for a value that was not given, by type. @type {Record<string, (key: string) => any>} */
const instead = { string: (key) => key, number: () => 1, boolean: () => true, list: () => [], object: () => ({}), html: (key) => `<b>${key}</b>` };

/**
 * Values for the preview: the test data, and something for a variable that has neither value nor
 * fallback. @param {any[]} variables @param {Record<string, any>} [values]
 */
export function standIns(variables, values = {}) {
	const out = {};
	for (const { key, type, fallback_value: fallback } of variables) {
		const value = values[key];
		if (!key) continue;
		if (value !== undefined && value !== '') out[key] = type === 'number' ? Number(value) : type === 'string' || type === 'html' ? String(value) : value;
		else if (fallback === null || fallback === undefined) out[key] = (instead[type] ?? instead.string)(key);
	}
	return out;
}

/** The value of a variable in the test data, by its type. @param {{of: any, value: any, set: (value: any) => void, edit: () => void}} props */
function Value({ of, value, set, edit }) {
	const label = t('template.valueOf', { key: of.key });
	if (of.type === 'boolean') return html`<${Select} bare label=${label} value=${value === undefined ? '' : String(value)} onChange=${(chosen) => set(chosen === '' ? undefined : chosen === 'true')} options=${[['', '–'], ['true', t('template.yes')], ['false', t('template.no')]]} />`;
	if (of.type === 'list' || of.type === 'object') return html`<button type="button" class="link-plain mono" onClick=${edit}><span class="vh">${label} </span>${typeOf(value) === of.type ? JSON.stringify(value) : t('testData.none')}</button>`;
	return html`<input class="input" aria-label=${label} value=${value ?? ''} onInput=${(e) => set(e.currentTarget.value)} />`;
}

/** The fallback of a variable, by its type. @param {{of: any, set: (value: any) => void}} props */
function Fallback({ of, set }) {
	if (of.type === 'boolean') return html`<${Select} bare label=${t('template.fallback')} value=${String(of.fallback_value ?? '')} onChange=${(chosen) => set(chosen === '' ? null : chosen === 'true')} options=${[['', t('template.fallbackNone')], ['true', t('template.yes')], ['false', t('template.no')]]} />`;
	if (of.type === 'list' || of.type === 'object') return html`<span class="muted">${t('template.fallbackNone')}</span>`;
	return html`<input class="input" aria-label=${t('template.fallback')} placeholder=${t('template.fallbackNone')} value=${of.fallback_value ?? ''} onInput=${(e) => set(e.currentTarget.value === '' ? null : e.currentTarget.value)} />`;
}

/** The variables of texts that are not declared, with the types that their use suggests. @param {any} value @param {any[]} all */
function undeclaredOf(value, all) {
	const declared = new Set([...builtIn, ...all.map((v) => v.key)]);
	const texts = [value.subject, value.html, value.text].map((text) => text ?? '');
	const plain = texts.flatMap((text) => used(text)).filter((v) => !v.broken && !declared.has(v.key) && !v.key.startsWith('contact.')).map(({ key }) => ({ key, type: 'string' }));
	const found = new Map([...plain, ...(value.syntax === 'liquid' ? undeclaredIn(texts, declared) : [])].map((v) => [v.key, v]));
	return [...found.values()];
}

/** @param {{draft: any, values: Record<string, any>, setValues: (values: Record<string, any>) => void}} props */
export function Variables({ draft, values, setValues }) {
	const { value } = draft;
	const all = value.variables ?? [];
	const undeclared = useMemo(() => undeclaredOf(value, all), [value.subject, value.html, value.text, value.syntax, all]);
	const types = ['string', 'number', ...(value.syntax === 'liquid' ? ['boolean', 'list', 'object', 'html'] : [])];
	const set = (i, parts) => draft.change({ variables: all.map((v, j) => (i === j ? { ...v, ...parts } : v)) });
	const declare = () => draft.change({ variables: [...all, ...undeclared.map((v) => ({ ...v, fallback_value: null }))] });
	const edit = async () => {
		const made = await editTestData({ ...standIns(all, values), ...values });
		if (made) setValues(made);
	};
	return html`${undeclared.length > 0 && html`<div class="vars"><span class="warn row"><${Icon} name="alert" /><span>${t('template.undeclared', { n: undeclared.length, names: undeclared.map(({ key }) => key).join(', ') })}</span></span><${Button} class="push" onClick=${declare}>${t('template.declare', { key: undeclared.length === 1 ? undeclared[0].key : undeclared.length })}<//></div>`}
	<div class="vars-table"><table class="table stack-s"><caption class="vh">${t('template.variables')}</caption><thead><tr><th scope="col">${t('template.variable')}</th><th scope="col">${t('template.type')}</th><th scope="col">${t('template.fallback')}</th><th scope="col">${t('template.values')}</th><th scope="col"><span class="vh">${t('ui.acts')}</span></th></tr></thead><tbody>
	${all.map((v, i) => html`<tr key=${v.id ?? i}><td data-label=${t('template.variable')}><input class="input mono" aria-label=${t('template.variable')} value=${v.key} onInput=${(e) => set(i, { key: e.currentTarget.value.trim() })} /></td>
		<td data-label=${t('template.type')}><${Select} bare label=${t('template.type')} value=${v.type} onChange=${(type) => set(i, { type, fallback_value: null })} options=${types.map((type) => [type, t(`visual.types.${type}`)])} /></td>
		<td data-label=${t('template.fallback')}><${Fallback} of=${v} set=${(fallback) => set(i, { fallback_value: fallback })} /></td>
		<td class="cell-cut" data-label=${t('template.values')}><${Value} of=${v} value=${values[v.key]} set=${(one) => setValues({ ...values, [v.key]: one })} edit=${edit} /></td>
		<td class="cell-acts"><${Button} icon="x" kind="quiet" label=${t('template.remove', { key: v.key })} onClick=${() => draft.change({ variables: all.filter((_, j) => j !== i) })} /></td></tr>`)}</tbody></table>
	<div class="row"><${Button} icon="plus" kind="quiet" onClick=${() => draft.change({ variables: [...all, { key: '', type: 'string', fallback_value: null }] })}>${t('template.add')}<//>${all.length > 0 && html`<${Button} icon="code" kind="quiet" onClick=${edit}>${t('testData.title')}<//>`}</div></div>`;
}
