// The languages of a draft: a tab each, with what is missing in it. The draft itself is the default;
// its variants have the parts that differ.
import { html, useId, useState } from './lib/core.js';
import { t } from './i18n.js';
import { languageName } from './language-names.js';
import { Button, Icon } from './ui/base.js';
import { dialog, DialogBody, Menu, toast } from './ui/float.js';

/** The parts of a variant. */
const members = ['subject', 'preview_text', 'html', 'text', 'design'];

/** Languages that are offered; others can be typed. */
const offered = ['ar', 'bg', 'cs', 'da', 'de', 'el', 'en', 'es', 'et', 'fi', 'fr', 'hi', 'hr', 'hu', 'id', 'it', 'ja', 'ko', 'lt', 'lv', 'nl', 'no', 'pl', 'pt', 'pt-BR', 'ro', 'ru', 'sk', 'sl', 'sv', 'th', 'tr', 'uk', 'vi', 'zh-Hans', 'zh-Hant'];

/** The canonical form of a language tag, or nothing. @param {string} typed */
function canonical(typed) {
	try {
		return Intl.getCanonicalLocales(typed.trim().replaceAll('_', '-'))[0];
	} catch {
		return undefined;
	}
}

/**
 * A draft as it is in one language: values and changes are those of its variant.
 * @param {any} draft @param {string} of empty: the default
 */
export function inLanguage(draft, of) {
	const within = (other) => inLanguage(draft, other);
	if (!of) return { ...draft, language: '', within };
	const none = Object.fromEntries(members.map((name) => [name, null]));
	const change = (parts) => {
		const now = draft.now();
		const mine = Object.entries(parts).filter(([name]) => members.includes(name));
		const shared = Object.fromEntries(Object.entries(parts).filter(([name]) => !members.includes(name)));
		draft.change({ ...shared, ...(mine.length ? { variants: { ...now.variants, [of]: { ...now.variants?.[of], ...Object.fromEntries(mine) } } } : {}) });
	};
	return { ...draft, language: of, within, change, value: { ...draft.value, ...none, ...draft.value.variants?.[of] } };
}

/** The parts that a variant lacks, of those that the default has. @param {any} value @param {string} of @param {string[]} names */
export const missing = (value, of, names) => names.filter((name) => value[name] && !value.variants?.[of]?.[name]);

/** The languages that a draft has beside its default. @param {any} value */
export const languagesOf = (value) => Object.keys(value.variants ?? {}).sort();

/** Adds a language to a draft. @param {any} draft @param {(language: string) => void} show */
export async function addLanguage(draft, show) {
	const made = await dialog((close) => html`<${Add} taken=${languagesOf(draft.value)} close=${close} />`);
	if (!made) return;
	draft.change({ variants: { ...draft.now().variants, [made]: {} } });
	show(made);
}

/**
 * The tabs. names are the parts that each language should have.
 * @param {{draft: any, at: string, names: string[], onChange: (language: string) => void}} props draft is the whole one
 */
export function Languages({ draft, at, names, onChange }) {
	const { value } = draft;
	const all = languagesOf(value);
	if (!all.length) return null;
	const remove = () => {
		const was = { variants: draft.value.variants };
		const { [at]: _, ...rest } = was.variants;
		draft.change({ variants: rest });
		onChange('');
		toast(t('languages.removed', { language: languageName(at) }), { undo: () => draft.change(was) });
	};
	const lacks = at ? missing(value, at, names) : [];
	const copy = () => {
		const was = { variants: draft.value.variants };
		const copied = [...lacks, ...(lacks.includes('html') ? ['design'] : [])].map((name) => [name, value[name]]);
		draft.change({ variants: { ...value.variants, [at]: { ...value.variants[at], ...Object.fromEntries(copied) } } });
		draft.redraw();
		toast(t('languages.copied', { language: languageName(at) }), { undo: () => {
			draft.change(was);
			draft.redraw();
		} });
	};
	const tab = (of) => {
		const n = of ? missing(value, of, names).length : 0;
		return html`<button type="button" class="tab" role="tab" key=${of} aria-selected=${String(of === at)} tabindex=${of === at ? undefined : -1} title=${of ? languageName(of) : undefined} onClick=${() => onChange(of)}>${of || t('languages.default')}${n > 0 && html` <span class="warn" title=${t('languages.missing', { n })}><${Icon} name="alert" /><span class="vh">${t('languages.missing', { n })}</span></span>`}</button>`;
	};
	const keys = (e) => {
		const order = ['', ...all];
		const to = { ArrowRight: order.indexOf(at) + 1, ArrowLeft: order.indexOf(at) - 1, Home: 0, End: order.length - 1 }[e.key];
		if (to === undefined) return;
		e.preventDefault();
		onChange(order[(to + order.length) % order.length]);
		const row = e.currentTarget;
		requestAnimationFrame(() => row.querySelector('[aria-selected="true"]')?.focus());
	};
	return html`<div class="languages"><div class="tabs tabs--in" role="tablist" aria-label=${t('languages.title')} onKeyDown=${keys}>${['', ...all].map(tab)}</div>
	<${Button} icon="plus" kind="quiet" label=${t('languages.add')} onClick=${() => addLanguage(draft, onChange)} />
	${at && html`<${Menu} kind="quiet" label=${t('languages.acts', { language: languageName(at) })} items=${[
		{ icon: 'copy', name: t('languages.copy'), disabled: !lacks.length, run: copy },
		{ icon: 'trash', name: t('languages.remove', { language: languageName(at) }), danger: true, run: remove },
	]} />`}</div>
	${lacks.length > 0 && html`<div class="vars"><span class="warn row"><${Icon} name="alert" /><span>${t('languages.falls', { language: languageName(at), names: lacks.map((name) => (name === 'html' ? 'HTML' : t(`composer.${name}`))).join(', ') })}</span></span><${Button} class="push" onClick=${copy}>${t('languages.copy')}<//></div>`}`;
}

function Add({ taken, close }) {
	const [typed, type] = useState('');
	const list = useId();
	const tag = typed.trim() ? canonical(typed) : undefined;
	const wrong = typed.trim() && !tag ? t('languages.unknown') : tag && taken.includes(tag) ? t('languages.taken') : '';
	return html`<${DialogBody} title=${t('languages.addTitle')} onSubmit=${() => tag && !wrong && close(tag)} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!tag || Boolean(wrong)}>${t('languages.add')}<//>`}>
		<p>${t('languages.text')}</p>
		<label class="field"><span class="field-label">${t('languages.tag')}</span><input class="input mono" list=${list} value=${typed} autofocus placeholder="de, fr, pt-BR" aria-invalid=${wrong ? 'true' : undefined} onInput=${(e) => type(e.currentTarget.value)} /></label>
		<datalist id=${list}>${offered.filter((of) => !taken.includes(of)).map((of) => html`<option value=${of}>${languageName(of)}</option>`)}</datalist>
		${wrong ? html`<p class="field-error" role="alert"><${Icon} name="alert" />${wrong}</p>` : tag && html`<p class="field-hint">${languageName(tag)}</p>`}<//>`;
}
