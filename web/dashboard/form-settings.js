// The settings of a sign-up form. They are saved by a press: records of consent name the version.
import { html, useEffect, useState } from './lib/core.js';
import { api, useList } from './api.js';
import { FormFields } from './form-fields.js';
import { about, Said, useForm } from './gate.js';
import { language, say, t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { mayAdmin } from './state.js';
import { Button, Check, Input, Notice, Section, Select } from './ui/base.js';
import { toast } from './ui/float.js';

/** The languages of hosted pages. */
const tongues = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ja', 'zh'];

const texts = ['name', 'from', 'reply_to', 'language', 'confirmation_template', 'welcome_template', 'redirect_url'];
/** Texts that null clears. */
const optional = texts.slice(2);

/** What the page changes, as it is typed. @param {any} of @returns {any} */
const typed = (of) => ({
	...Object.fromEntries(texts.map((name) => [name, of[name] ?? ''])), confirm: of.confirm, topics: of.topics, segments: of.segments, fields: of.fields,
	origins: of.allowed_origins.join('\n'), reject_disposable: of.reject_disposable, daily: String(of.max_confirmations_per_day),
});

/** The members of a PATCH. @param {any} before @param {any} now */
function changes(before, now) {
	/** @type {any} */
	const out = {};
	for (const name of Object.keys(now)) {
		if (JSON.stringify(before[name]) === JSON.stringify(now[name])) continue;
		const value = typeof now[name] === 'string' ? now[name].trim() : now[name];
		if (name === 'origins') out.allowed_origins = value.split(/\s+/).filter(Boolean);
		else if (name === 'daily') out.max_confirmations_per_day = value === '' ? null : Number(value);
		else out[name] = value === '' && optional.includes(name) ? null : value;
	}
	return out;
}

/** @param {{of: any, set: (form: any) => any}} props */
export function FormSettings({ of, set }) {
	const [before] = useState(() => typed(of));
	const [now, setNow] = useState(before);
	const change = (some) => setNow((old) => ({ ...old, ...some }));
	const form = useForm(async () => {
		await set(await api.patch(encoded`/forms/${of.id}`, changes(before, now)));
		toast(t('forms.saved'));
	});
	useEffect(() => {
		if (form.error) document.querySelector('.form-settings [role="alert"]')?.scrollIntoView({ block: 'center' });
	}, [form.error]);
	const dirty = Object.keys(changes(before, now)).length > 0;
	const known = [...texts, 'confirm', 'max_confirmations_per_day'];
	const line = (name, more = {}) => html`<${Input} label=${t(`forms.${name}`)} value=${now[name]} onInput=${(value) => change({ [name]: value })} error=${about(form.error, name)} ...${more} />`;
	return html`<form class="page form-settings" onSubmit=${(e) => {
		e.preventDefault();
		if (dirty) form.submit();
	}}>
	<${Section} title=${t('forms.general')} acts=${html`<span class="muted t12">${t('forms.version', { n: of.version })}</span>`}><div class="fields">
		${line('name', { required: true, maxlength: 100 })}${line('from', { required: true, hint: t('forms.fromHint') })}${line('reply_to')}
		<${Select} label=${t('forms.language')} value=${now.language} options=${languageOptions()} onChange=${(value) => change({ language: value })} /></div><//>
	<${Asked} now=${now} change=${change} />
	<${Confirmation} now=${now} change=${change} error=${form.error} />
	<${Section} title=${t('forms.website')}><div class="fields">
		<${Input} label=${t('forms.origins')} lines="3" mono placeholder="https://www.example.com" value=${now.origins} onInput=${(origins) => change({ origins })} hint=${t('forms.originsHint')} />
		${line('redirect_url', { type: 'url', mono: true, placeholder: 'https://www.example.com/thanks', hint: t('forms.redirectHint') })}</div><//>
	<${Section} title=${t('forms.limits')}><div class="fields">
		<${Input} label=${t('forms.daily')} type="number" min="1" value=${now.daily} disabled=${!mayAdmin.value} onInput=${(daily) => change({ daily })} hint=${t(mayAdmin.value ? 'forms.dailyHint' : 'forms.adminsOnly')} error=${about(form.error, 'max_confirmations_per_day')} />
		<${Check} label=${t('forms.disposable')} checked=${now.reject_disposable} onChange=${(reject_disposable) => change({ reject_disposable })} /></div><//>
	<${Said} form=${form} fields=${known} />
	${dirty && html`<div class="bulk" role="region" aria-label=${t('segments.unsaved')}><span class="muted hide-s">${t('segments.unsaved')}</span><${Button} kind="quiet" onClick=${() => setNow(before)}>${t('segments.discard')}<//><${Button} type="submit" kind="primary" busy=${form.busy}>${t('ui.save')}<//></div>`}</form>`;
}

function languageOptions() {
	const names = new Intl.DisplayNames([language.value], { type: 'language' });
	return [['', t('forms.languageOfVisitor')], ...tongues.map((one) => [one, names.of(one) ?? one])];
}

/** What the form asks for: fields, topics, segments. */
function Asked({ now, change }) {
	const topics = useList('/topics', {}, { limit: 100 }).rows;
	const segments = useList('/segments', {}, { limit: 100 }).rows.filter((s) => !s.filter || now.segments.includes(s.id));
	const offered = (id) => now.topics.find((one) => one.id === id);
	const offer = (id, on) => change({ topics: on ? [...now.topics, { id, preselected: false }] : now.topics.filter((one) => one.id !== id) });
	const preselect = (id, on) => change({ topics: now.topics.map((one) => (one.id === id ? { ...one, preselected: on } : one)) });
	const join = (id, on) => change({ segments: on ? [...now.segments, id] : now.segments.filter((one) => one !== id) });
	return html`<${Section} title=${t('forms.fields')}><p class="muted t13r prose">${t('forms.fieldsText')}</p><${FormFields} value=${now.fields} onChange=${(fields) => change({ fields })} /><//>
	<${Section} title=${t('topics.title')}>${topics.length ? html`<p class="muted t13r prose">${t('forms.topicsText')}</p><ul class="items items--tight form-choice">${topics.map((topic) => html`<li key=${topic.id}><span class="grow"><${Check} label=${topic.name} checked=${!!offered(topic.id)} onChange=${(on) => offer(topic.id, on)} /></span>${offered(topic.id) && html`<${Check} label=${t('forms.preselected')} checked=${!!offered(topic.id).preselected} onChange=${(on) => preselect(topic.id, on)} />`}</li>`)}</ul>`
		: html`<p class="muted t13r">${say('forms.noTopics', { topics: html`<a class="link" href=${href('/topics')}>${t('topics.title')}</a>` })}</p>`}<//>
	${segments.length > 0 && html`<${Section} title=${t('segments.title')}><p class="muted t13r prose">${t('forms.segmentsText')}</p><ul class="items items--tight form-choice">${segments.map((segment) => html`<li key=${segment.id}><${Check} label=${segment.name} checked=${now.segments.includes(segment.id)} onChange=${(on) => join(segment.id, on)} /></li>`)}</ul><//>`}`;
}

/** How people confirm, and the mails about it. */
function Confirmation({ now, change, error }) {
	const templates = useList('/templates', {}, { limit: 100 }).rows.filter((row) => row.status === 'published');
	const options = (id, none) => [['', none], ...templates.map((row) => [row.id, row.name]), ...(id && !templates.some((row) => row.id === id) ? [[id, '…']] : [])];
	const double = now.confirm === 'double';
	return html`<${Section} title=${t('forms.confirm')}><div class="fields" role="radiogroup" aria-label=${t('forms.confirm')}>
		<div><${Check} kind="radio" name="confirm" label=${t('forms.confirm_double')} checked=${double} onChange=${() => change({ confirm: 'double' })} /><p class="muted t12 prose">${t('forms.doubleText')}</p></div>
		<div><${Check} kind="radio" name="confirm" label=${t('forms.confirm_single')} checked=${!double} disabled=${double && !mayAdmin.value} onChange=${() => change({ confirm: 'single' })} /><p class="muted t12 prose">${t(mayAdmin.value || !double ? 'forms.singleText' : 'forms.adminsOnly')}</p></div>
		${!double && html`<${Notice} kind="warn">${t('forms.singleWarning')}<//>`}
		${double && html`<${Select} label=${t('forms.confirmation_template')} value=${now.confirmation_template} options=${options(now.confirmation_template, t('forms.builtIn'))} onChange=${(id) => change({ confirmation_template: id })} hint=${t('forms.confirmationHint')} error=${about(error, 'confirmation_template')} />
		<${Select} label=${t('forms.welcome_template')} value=${now.welcome_template} options=${options(now.welcome_template, t('ui.none'))} onChange=${(id) => change({ welcome_template: id })} hint=${t('forms.welcomeHint')} error=${about(error, 'welcome_template')} />`}</div><//>`;
}
