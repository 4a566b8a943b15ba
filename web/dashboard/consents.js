// Records of consent: what a contact agreed to, when, from where, and after which text; and how to
// ask an address for it.
import { html } from './lib/core.js';
import { api, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { Button, Facts, Input, Section, Select, Time } from './ui/base.js';
import { form, Ticks } from './ui/audience.js';
import { dialog, DialogBody, toast } from './ui/float.js';

/** A text that was shown. */
const Shown = ({ text }) => text && html`<blockquote class="consent-text">${text}</blockquote>`;

/** Address and browser of a request. */
const By = ({ of }) => (of?.ip || of?.user_agent) && html`<span class="mono">${of.ip}</span>${of.user_agent && html`<br /><span class="muted t12">${of.user_agent}</span>`}`;

/** A record in full. @param {{of: any}} props */
export const Consent = ({ of }) => html`<${Facts} class="kv--rows" pairs=${[
	[t('contacts.email'), html`<bdi>${of.email}</bdi>`],
	[t('forms.one'), of.form ? html`<bdi>${of.form}</bdi> <span class="muted">${t('forms.version', { n: of.form_version ?? 1 })}</span>` : 'API'],
	[t('topics.title'), of.topics?.length > 0 && html`<bdi>${of.topics.map((/** @type {any} */ topic) => topic.name).join(', ')}</bdi>`],
	[t('consents.asked'), html`<${Time} at=${of.requested_at} as="both" />`],
	[t('consents.askedBy'), By({ of: of.requested_by })],
	[t('consents.askedText'), Shown({ text: of.text })],
	[t('consents.confirmed'), of.confirmed_at && html`<${Time} at=${of.confirmed_at} as="both" />`],
	[t('consents.confirmedBy'), of.confirmed_at && By({ of: of.confirmed_by })],
	[t('consents.confirmedText'), of.confirmed_at && Shown({ text: of.confirm_text })],
	[t('consents.again'), of.resubscribed && t('consents.againText')],
].filter(([, value]) => value)} />`;

const show = (of) => dialog((close) => html`<${DialogBody} title=${t('consents.record')} onSubmit=${() => close()} acts=${html`${of.opt_in_id && html`<${Button} href=${href(encoded`/opt-ins/${of.opt_in_id}`)} onClick=${() => close()}>${t('optIns.one')}<//>`}<${Button} type="submit" kind="primary">${t('ui.close')}<//>`}><${Consent} of=${of} /><//>`);

/** The part of a contact's page. @param {{path: string}} props path of the contact in the API */
export function Consents({ path }) {
	const list = useList(`${path}/consents`, {}, { limit: 20 });
	return html`<${Section} title=${t('consents.title')}>${list.rows.length ? html`<ul class="items items--tight">${list.rows.map((of) => html`<li key=${of.id}><button type="button" class="link-plain grow" title=${t('consents.show')} onClick=${() => show(of)}><bdi>${of.form ?? 'API'}</bdi></button><span class="muted t12"><${Time} at=${of.created_at} as="clock" /></span></li>`)}</ul>${list.page?.has_more && html`<${Button} kind="quiet" onClick=${list.more}>${t('ui.more')}<//>`}`
		: html`<p class="muted t13r">${t('consents.none')}</p>`}<//>`;
}

/** Asks an address by mail to confirm that it wants mail. @param {string} [email] @param {() => any} [done] */
export async function askOptIn(email = '', done = undefined) {
	const all = async (path) => (await api.get(path, { limit: 100 })).data;
	const [topics, segments, forms] = await Promise.all(['/topics', '/segments', '/forms'].map(all));
	const byHand = segments.filter((/** @type {any} */ s) => !s.filter);
	const made = await form({
		title: t('consents.ask'), act: t('consents.askAct'), start: { email, topics: [], segment: '', form: '' },
		fields: (v, set) => html`<p>${t('consents.askText')}</p>
			<${Input} label=${t('contacts.email')} type="email" required autofocus=${!email} autocomplete="off" value=${v.email} onInput=${(value) => set({ email: value })} />
			<${Ticks} title=${t('topics.title')} options=${topics.map((/** @type {any} */ topic) => [topic.id, topic.name])} value=${v.topics} onChange=${(ids) => set({ topics: ids })} />
			${byHand.length > 0 && html`<${Select} label=${t('contacts.segment')} value=${v.segment} options=${[['', t('ui.none')], ...byHand.map((/** @type {any} */ s) => [s.id, s.name])]} onChange=${(segment) => set({ segment })} />`}
			${forms.length > 0 && html`<${Select} label=${t('forms.one')} value=${v.form} options=${[['', t('ui.none')], ...forms.map((/** @type {any} */ f) => [f.id, f.name])]} onChange=${(value) => set({ form: value })} hint=${t('consents.formHint')} />`}`,
		send: (v) => api.post('/contacts/opt-in', { email: v.email.trim(), topics: v.topics, segments: v.segment ? [v.segment] : undefined, form: v.form || undefined }),
	});
	if (!made) return;
	toast(t('consents.asking'), { href: href(encoded`/opt-ins/${made.id}`), word: t('contacts.show') });
	done?.();
}
