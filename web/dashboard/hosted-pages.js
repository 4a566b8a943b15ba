// The hosted pages to choose topics and unsubscribe: their name and look.
import { html, useEffect, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { between, enough } from './brand-colors.js';
import { about, Said, useForm } from './gate.js';
import { language, t } from './i18n.js';
import { encoded } from './paths.js';
import { Bones, Button, Failed, Field, Icon, Input, Section, Select } from './ui/base.js';
import { attempt, toast } from './ui/float.js';

/** Languages that the hosted pages speak. */
const tongues = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ja', 'zh'];

/** The part of a page about them. @param {{stamp?: any}} props stamp: the preview is asked for again when it changes */
export function HostedPages({ stamp }) {
	const team = useGet('/team');
	const [change, setChange] = useState(/** @type {any} */ ({}));
	if (team.error && !team.data) return html`<${Failed} error=${team.error} retry=${team.reload} />`;
	if (!team.data) return html`<${Bones} rows=${3} />`;
	const now = { name: team.data.name, ...change };
	const dirty = now.name !== team.data.name;
	const save = () => attempt(async () => {
		team.set(await api.patch('/team', { name: now.name.trim() }));
		setChange({});
	}, t('hosted.saved'));
	return html`<div class="page"><${Section} title=${t('hosted.title')}>
		<p class="muted t13r prose">${t('hosted.text')}</p>
		<div class="cols hosted"><form class="stack" onSubmit=${(e) => {
			e.preventDefault();
			if (dirty) save();
		}}>
			<${Input} label=${t('hosted.name')} value=${now.name} maxlength="100" required onInput=${(name) => setChange({ ...change, name })} hint=${t('hosted.nameHint')} />
			<${Button} type="submit" disabled=${!dirty}>${t('ui.save')}<//></form>
		<${Shown} stamp=${JSON.stringify([team.data, stamp])} /></div><//>
		<${Look} key=${JSON.stringify(team.data.page)} of=${team.data.page ?? {}} set=${team.set} /></div>`;
}

/** The fields of a language's texts, with the key of their label. */
const ownTexts = [['unsubscribe', 'unsubscribe'], ['unsubscribed', 'unsubscribed'], ['preferences', 'own']];

/** Colors, texts and link of the pages. */
function Look({ of, set }) {
	const [page, setPage] = useState(of);
	const [tongue, setTongue] = useState(tongues.includes(language.value) ? language.value : 'en');
	const change = (some) => setPage((before) => ({ ...before, ...some }));
	const text = page.texts?.find((one) => one.language === tongue) ?? { language: tongue };
	const changeText = (some) => change({ texts: [...(page.texts ?? []).filter((one) => one.language !== tongue), { ...text, ...some }] });
	const form = useForm(async () => {
		const texts = (page.texts ?? []).filter((one) => ownTexts.some(([name]) => one[name]?.trim()) || one.link?.trim());
		const kept = Object.fromEntries(Object.entries({ ...page, texts }).filter(([, value]) => value?.length));
		set(await api.patch('/team', { page: Object.keys(kept).length ? kept : null }));
		toast(t('hosted.saved'));
	});
	const at = page.texts?.indexOf(text) ?? -1;
	const wrong = (name) => (at < 0 ? undefined : about(form.error, `page.texts[${at}].${name}`));
	const colors = [['background_color', 'background', '#f3f4f7'], ['card_color', 'card', '#ffffff'], ['text_color', 'textColor', '#1b1f27']];
	const ratio = between(page.text_color, page.card_color);
	const names = new Intl.DisplayNames([language.value], { type: 'language' });
	return html`<${Section} title=${t('hosted.page')}><form class="fields" onSubmit=${(e) => {
		e.preventDefault();
		form.submit();
	}}><${Said} form=${form} fields=${[...colors.map(([name]) => `page.${name}`), 'page.after_unsubscribe_url', ...ownTexts.map(([name]) => `page.texts[${at}].${name}`), `page.texts[${at}].link`]} />
		<div class="row row--wrap row--top">${colors.map(([name, label, usual]) => html`<${Field} key=${name} label=${t(`hosted.${label}`)} error=${about(form.error, `page.${name}`)} hint=${name === 'text_color' && ratio < enough ? html`<${Icon} name="alert" class="warn" /> ${t('hosted.contrastLow', { ratio: (Math.floor(ratio * 10) / 10).toFixed(1) })}` : undefined}>${(attributes) => html`<span class="row brand-color"><input type="color" value=${page[name] || usual} onInput=${(e) => change({ [name]: e.currentTarget.value })} ...${attributes} />${page[name] && html`<${Button} kind="quiet" onClick=${() => change({ [name]: '' })}>${t('brand.reset')}<//>`}</span>`}<//>`)}</div>
		<${Select} label=${t('hosted.language')} value=${tongue} options=${tongues.map((one) => [one, names.of(one) ?? one])} onChange=${setTongue} />
		${ownTexts.map(([name, label]) => html`<${Input} key=${tongue + name} label=${t(`hosted.${label}`)} lines="2" maxlength="500" value=${text[name] ?? ''} onInput=${(value) => changeText({ [name]: value })} hint=${t('hosted.more')} error=${wrong(name)} />`)}
		<${Input} label=${t('hosted.url')} mono type="url" inputmode="url" maxlength="2048" placeholder="https://www.example.com/" value=${page.after_unsubscribe_url ?? ''} onInput=${(value) => change({ after_unsubscribe_url: value.trim() })} hint=${t('hosted.urlHint')} error=${about(form.error, 'page.after_unsubscribe_url')} />
		${page.after_unsubscribe_url && html`<${Input} key=${`${tongue}link`} label=${t('hosted.link')} maxlength="60" value=${text.link ?? ''} onInput=${(link) => changeText({ link })} error=${wrong('link')} />`}
		<${Button} type="submit" disabled=${JSON.stringify(page) === JSON.stringify(of)} busy=${form.busy}>${t('ui.save')}<//></form><//>`;
}

/** The page of the newest contact. @param {{stamp: any}} props */
export function Shown({ stamp }) {
	const newest = useGet('/contacts', { limit: 1 });
	const contact = newest.data?.data[0];
	const [url, setUrl] = useState('');
	const [tongue, setTongue] = useState(tongues.includes(language.value) ? language.value : 'en');
	useEffect(() => {
		if (contact) attempt(() => api.read(encoded`/contacts/${contact.id}/preferences-link`)).then((made) => made && setUrl(made.url));
	}, [contact?.id, stamp]);
	if (!newest.data) return null;
	if (!contact) return html`<p class="muted t13r">${t('hosted.nobody')}</p>`;
	const shown = url && `${new URL(url).pathname}?language=${tongue}`;
	const names = new Intl.DisplayNames([language.value], { type: 'language' });
	return html`<section class="sheet" aria-label=${t('hosted.preview')}><div class="sheet-head"><span class="muted t12 cut grow">${t('hosted.as', { email: contact.email })}</span><${Select} bare label=${t('hosted.language')} value=${tongue} options=${tongues.map((one) => [one, names.of(one) ?? one])} onChange=${setTongue} /><${Button} icon="external" kind="quiet" label=${t('contact.open')} href=${url} target="_blank" rel="noreferrer" /></div>
		<div class="sheet-body">${shown && html`<div class="paper"><iframe sandbox="" src=${shown} title=${t('hosted.preview')}></iframe></div>`}</div></section>`;
}
