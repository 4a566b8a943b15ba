// One contact: subscription state and reasons, mail, topics, segments and properties.
import { html } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { language, say, t } from './i18n.js';
import { go, href } from './router.js';
import { Bones, Button, Check, Copy, Empty, Facts, Failed, Head, Icon, Id, Section, Select, Status, Time, Verdict } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, Menu, toast } from './ui/float.js';
import { Csv, Foot } from './ui/list.js';
import { nameOf, Subscribed } from './ui/audience.js';
import { lookOf } from './email-parts.js';
import { editContact, removeContacts } from './contact-acts.js';
import { askOptIn, Consents } from './consents.js';
import { ContactAutomations } from './contact-automations.js';
import { encoded } from './paths.js';

/** The page. @param {{params: {id: string}}} props */
export default function Contact({ params }) {
	const path = encoded`/contacts/${params.id}`;
	const contact = useGet(path, undefined, { live: (e) => e.name === 'email' });
	const declared = useGet('/contact-properties', { limit: 100 }).data?.data ?? [];
	const c = contact.data;
	const trail = [[t('contacts.title'), href('/contacts')]];
	if (contact.error && !c) return html`<${Head} title=${t('contact.title')} path=${trail} /><${Failed} error=${contact.error} retry=${contact.reload} />`;
	if (!c) return html`<${Head} title="" text=${t('contact.title')} path=${trail} /><${Bones} />`;
	return html`<${Head} title=${html`<bdi>${c.email}</bdi>`} text=${c.email} path=${trail}>
		<${Button} icon="link" onClick=${() => showLink(c)}>${t('contact.link')}<//><${Button} icon="edit" onClick=${() => editContact(c, declared, contact.reload)}>${t('ui.edit')}<//>
		<${Menu} label=${t('ui.acts')} items=${[
			{ icon: 'mail', name: t('contact.emails'), href: href(`/emails?q=${encodeURIComponent(`to:${c.email}`)}`) },
			{ icon: 'check', name: t('consents.ask'), run: () => askOptIn(c.email) },
			null,
			{ icon: 'trash', name: t('contact.delete'), danger: true, run: () => removeContacts([c], () => go('/contacts', { replace: true })) },
		]} /><//>
	<${State} of=${c} reload=${contact.reload} />
	<div class="with-aside"><div><${History} of=${c} path=${path} /></div>
	<aside class="aside" aria-label=${t('contact.about')}>
		<${Section} title=${t('contact.about')}><${Facts} class="kv--side" pairs=${[
			[t('contacts.name'), nameOf(c) && html`<bdi>${nameOf(c)}</bdi>`],
			[t('contacts.state'), html`<${Subscribed} of=${c} />`],
			[t('contacts.addedAt'), html`<${Time} at=${c.created_at} as="clock" />`],
			[t('contact.id'), html`<${Id} of=${c.id} />`],
		]} /><//>
		<${Section} title=${t('properties.title')}>${Object.keys(c.properties ?? {}).length ? html`<${Facts} pairs=${Object.entries(c.properties).map(([key, p]) => [html`<span class="mono">${key}</span>`, html`<bdi>${String(p.value)}</bdi>`])} />` : html`<p class="muted t13r">${t('contact.noProperties')}</p>`}<//>
		<${Topics} path=${path} out=${c.unsubscribed} /><${Segments} path=${path} /><${ContactAutomations} of=${c} path=${path} /><${Consents} path=${path} />
	</aside></div>`;
}

/** Why the contact gets no mail, and what to do. @param {{of: any, reload: () => any}} props */
function State({ of: c, reload }) {
	const s = c.suppression;
	if (s) {
		const lift = async () => {
			if (!(await confirm({ title: t('contact.liftTitle', { email: c.email }), text: t(`contact.lift_${s.origin}`), act: t('contact.lift') }))) return;
			await attempt(() => (s.origin === 'unsubscribe' ? api.patch(encoded`/contacts/${c.id}`, { unsubscribed: false }) : api.del(encoded`/suppressions/${s.id}`)), t('contact.lifted'));
			await reload();
		};
		return html`<${Verdict} kind=${s.origin === 'unsubscribe' ? '' : 'warn'} icon="st-suppressed" line=${t(`contact.why_${s.origin}`, { at: new Intl.DateTimeFormat(language.value, { dateStyle: 'long' }).format(new Date(s.created_at)) })} fix=${t(`contact.fix_${s.origin}`)} acts=${html`${s.source_id && html`<${Button} href=${href(encoded`/emails/${s.source_id}`)}>${t('contact.source')}<//>`}<${Button} onClick=${lift}>${t('contact.lift')}<//>`} />`;
	}
	if (!c.unsubscribed) return null;
	const again = async () => {
		if (!(await confirm({ title: t('contact.againTitle', { email: c.email }), text: t('contact.againText'), act: t('contact.again') }))) return;
		await attempt(() => api.patch(encoded`/contacts/${c.id}`, { unsubscribed: false }), t('contact.againDone'));
		await reload();
	};
	return html`<${Verdict} kind="" icon="st-canceled" line=${t('contact.out')} fix=${t('contact.outFix')} acts=${html`<${Button} onClick=${again}>${t('contact.again')}<//>`} />`;
}

async function showLink(c) {
	const made = await attempt(() => api.post(encoded`/contacts/${c.id}/preferences-link`));
	if (!made) return;
	await dialog((close) => html`<${DialogBody} title=${t('contact.link')} onSubmit=${() => close()} acts=${html`<${Button} href=${made.url} target="_blank" rel="noreferrer" icon="external">${t('contact.open')}<//><${Button} type="submit" kind="primary">${t('ui.close')}<//>`}>
		<p>${t('contact.linkText')}</p><div class="secret"><${Copy} text=${made.url} shown /></div><//>`);
}

/** All mail of a contact, with its events. @param {{of: any, path: string}} props */
function History({ of, path }) {
	const list = useList(`${path}/events`, {}, { live: (e) => e.name === 'email', limit: 20 });
	const rows = list.rows;
	return html`<section aria-label=${t('contact.mail')}><div class="section-head"><h2>${t('contact.mail')}</h2><${Csv} path=${`${path}/events`} name=${`${of.email}-mail`} /></div>
	${list.error && !rows.length ? html`<${Failed} error=${list.error} retry=${list.reload} />` : list.loading ? html`<${Bones} rows=${4} />` : !rows.length && !list.page?.has_more ? html`<${Empty} icon="mail" title=${t('contact.noMail')}>${t('contact.noMailText')}<//>` : html`<ul class="items">${rows.map((mail) => html`<${Mail} key=${mail.id} of=${mail} />`)}</ul><${Foot} list=${list} />`}</section>`;
}

function Mail({ of: mail }) {
	return html`<li class="mail-line"><${Status} of=${mail.state} /><div class="grow"><div class="row"><a class="cut medium" href=${href(mail.state === 'received' ? encoded`/received/${mail.id}` : encoded`/emails/${mail.id}`)} title=${mail.subject}><bdi>${mail.subject || t('contact.noSubject')}</bdi></a>${mail.broadcast_id && html`<a class="badge" href=${href(encoded`/broadcasts/${mail.broadcast_id}/report`)}>${t('contact.broadcast')}</a>`}<span class="push muted t12"><${Time} at=${mail.created_at} /></span></div>
		${mail.events.length > 0 && html`<details class="fold"><summary><${Icon} name="right" />${t('contact.events', { n: mail.events.length })}</summary><ol class="timeline">${mail.events.map((event) => html`<li key=${event.id} class=${`is-${lookOf(event.type)[0]}`}><${Icon} name=${`st-${lookOf(event.type)[1]}`} /><div><b class="medium">${t(`email.events.${event.type}`)}</b> <${Time} at=${event.created_at} as="clock" />${event.detail?.received_id ? mail.state !== 'received' && html`<p><a class="link" href=${href(encoded`/received/${event.detail.received_id}`)}>${t('received.toAnswer')}</a></p>` : (event.detail?.message ?? event.detail?.link) && html`<p>${event.detail.message ?? event.detail.link}</p>`}</div></li>`)}</ol></details>`}</div></li>`;
}

/** The contact's choice for each topic. @param {{path: string, out: boolean}} props */
function Topics({ path, out }) {
	const topics = useGet(`${path}/topics`, { limit: 100 });
	const rows = topics.data?.data ?? [];
	const choose = async (topic, subscription) => {
		const write = async (/** @type {string} */ to) => {
			await attempt(() => api.patch(`${path}/topics`, [{ id: topic.id, subscription: to }]));
			await topics.reload();
		};
		await write(subscription);
		toast(t(subscription === 'opt_in' ? 'contact.topicIn' : 'contact.topicOut', { topic: topic.name }), { undo: () => write(topic.subscription) });
	};
	return html`<${Section} title=${t('topics.title')}>${!rows.length ? html`<p class="muted t13r">${say('contact.noTopics', { topics: html`<a class="link" href=${href('/topics')}>${t('topics.title')}</a>` })}</p>`
		: html`${out && html`<p class="muted t13r">${t('contact.topicsOut')}</p>`}<ul class="items items--tight">${rows.map((topic) => html`<li key=${topic.id}><span class="grow"><${Check} kind="switch" label=${topic.name} checked=${topic.subscription === 'opt_in'} onChange=${(on) => choose(topic, on ? 'opt_in' : 'opt_out')} /></span><span class="muted t12">${t(topic.explicit ? 'contact.chosen' : 'contact.byDefault')}</span></li>`)}</ul>`}<//>`;
}

/** The segments that a contact is in, and one more by hand. @param {{path: string}} props */
function Segments({ path }) {
	const own = useGet(`${path}/segments`, { limit: 100 });
	const all = useGet('/segments', { limit: 100 }).data?.data ?? [];
	const rows = own.data?.data ?? [];
	const others = all.filter((s) => !rows.some((row) => row.id === s.id));
	const put = async (/** @type {string} */ id) => {
		await attempt(() => api.post(path + encoded`/segments/${id}`));
		await own.reload();
	};
	const remove = async (segment) => {
		if (!(await attempt(() => api.del(path + encoded`/segments/${segment.id}`)))) return;
		await own.reload();
		toast(t('contact.segmentLeft', { segment: segment.name }), { undo: () => put(segment.id) });
	};
	return html`<${Section} title=${t('segments.title')}>
		${rows.length > 0 && html`<ul class="items items--tight">${rows.map((s) => html`<li key=${s.id}><a class="grow cut" href=${href(encoded`/segments/${s.id}`)}>${s.name}</a>${byHand(s, all) && html`<${Button} icon="x" kind="quiet" label=${t('contact.leave', { segment: s.name })} onClick=${() => remove(s)} />`}</li>`)}</ul>`}
		${others.length > 0 ? html`<${Select} bare label=${t('contact.putInto')} value="" options=${[['', t('contact.putInto')], ...others.map((s) => [s.id, s.name])]} onChange=${(id) => id && put(id)} />` : !rows.length && html`<p class="muted t13r">${t('contact.noSegments')}</p>`}<//>`;
}

/** Whether a segment has no filter. @param {any} segment @param {any[]} all */
const byHand = (segment, all) => !all.find((s) => s.id === segment.id)?.filter;
