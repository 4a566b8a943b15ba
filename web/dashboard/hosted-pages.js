// The hosted pages to choose topics and unsubscribe: their name and look.
import { html, useEffect, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { language, t } from './i18n.js';
import { encoded } from './paths.js';
import { Bones, Button, Failed, Input, Section, Select } from './ui/base.js';
import { attempt } from './ui/float.js';

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
		<${Shown} stamp=${JSON.stringify([team.data, stamp])} /></div><//></div>`;
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
