// Sends one email by hand: to try things out, or to write to one person.
import { html, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { me } from './state.js';
import { Button, Failed, Input, Notice } from './ui/base.js';
import { dialog, DialogBody } from './ui/float.js';

/** Asks for an email, sends it, and opens it. */
export async function sendDialog() {
	const id = await dialog((close) => html`<${Send} close=${close} />`);
	if (typeof id === 'string') go(encoded`/emails/${id}`);
}

function Send({ close }) {
	const domains = useGet('/domains', { limit: 100 });
	const [form, setForm] = useState(/** @type {any} */ ({ to: me.value?.email ?? '', subject: t('send.subjectOf'), text: t('send.textOf') }));
	const [refused, setRefused] = useState('');
	const set = (name) => (value) => setForm({ ...form, [name]: value });
	const good = domains.data?.data.filter((d) => d.status === 'verified') ?? [];
	const from = form.from ?? (good[0] ? `hello@${good[0].name}` : '');
	const send = async () => {
		try {
			const to = form.to.split(',').map((a) => a.trim()).filter(Boolean);
			close((await api.post('/emails', { from, to, subject: form.subject, text: form.text })).id);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setRefused(e.message);
		}
	};
	if (domains.error) return html`<${DialogBody} title=${t('send.title')} acts=${html`<${Button} onClick=${() => close()}>${t('ui.close')}<//>`}><${Failed} error=${domains.error} retry=${domains.reload} /><//>`;
	const none = domains.data && !good.length;
	return html`<${DialogBody} title=${t('send.title')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${none}>${t('send.act')}<//>`}>
		${none && html`<${Notice} kind="warn" act=${html`<a class="link t13r" href=${base + '/domains'} onClick=${() => close()}>${t('send.toDomains')}</a>`}>${t('send.noDomain')}<//>`}
		${refused && html`<${Notice} kind="bad">${refused}<//>`}
		<${Input} label=${t('send.from')} hint=${t('send.fromHint')} value=${from} onInput=${set('from')} autocomplete="off" />
		<${Input} label=${t('send.to')} value=${form.to} onInput=${set('to')} autocomplete="off" />
		<${Input} label=${t('send.subject')} value=${form.subject} onInput=${set('subject')} />
		<${Input} label=${t('send.text')} lines=${5} value=${form.text} onInput=${set('text')} /><//>`;
}
