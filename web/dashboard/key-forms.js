// Making and changing an API key, and the one time that its token is shown.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { me, membership } from './state.js';
import { day } from './format.js';
import { encoded } from './paths.js';
import { Button, Code, copy, Input, Notice, Select } from './ui/base.js';
import { attempt, DialogBody, toast } from './ui/float.js';
import { snippet, tongues } from './snippets.js';

const ranks = ['member', 'admin', 'owner'];

/** Roles that the person may hand on. */
const roles = () => ranks.slice(0, ranks.indexOf(membership.value?.role ?? 'member') + 1).map((r) => [r, t(`roles.${r}`)]);

const ranges = (text) => text.split(/[\s,]+/).filter(Boolean);

/** Ends to choose from, in days. */
const spans = () => [['', t('keys.never')], ['7', t('keys.days', { n: 7 })], ['30', t('keys.days', { n: 30 })], ['90', t('keys.days', { n: 90 })], ['365', t('keys.days', { n: 365 })]];

/** Runs a form's request, and shows the server's refusal. @param {() => Promise<any>} act @param {(said: string) => void} say */
async function tried(act, say) {
	try {
		return await act();
	} catch (e) {
		if (!(e instanceof ApiError)) throw e;
		say(e.message);
	}
}

const Acts = ({ close, act }) => html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${act}<//>`;

/** The form of a new key; closes with the created key. @param {{close: (answer?: any) => void, domains: any[]}} props */
export function MakeKey({ close, domains }) {
	const [is, set] = useState({ name: '', permission: 'sending_access', domain: '', role: 'member', days: '', ips: '' });
	const [wrong, say] = useState('');
	const put = (name) => (value) => set((now) => ({ ...now, [name]: value }));
	const sending = is.permission === 'sending_access';
	const send = () => tried(async () => {
		const body = {
			name: is.name.trim(), permission: is.permission,
			domain_id: sending && is.domain ? is.domain : undefined,
			role: sending ? undefined : is.role,
			expires_at: is.days ? new Date(Date.now() + Number(is.days) * 86_400_000).toISOString() : undefined,
			allowed_ips: ranges(is.ips).length ? ranges(is.ips) : undefined,
		};
		close({ ...body, ...(await api.post('/api-keys', body)) });
	}, say);
	return html`<${DialogBody} title=${t('keys.makeTitle')} onSubmit=${send} acts=${html`<${Acts} close=${close} act=${t('keys.make')} />`}>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${Input} label=${t('keys.name')} hint=${t('keys.nameHint')} value=${is.name} onInput=${put('name')} maxlength="50" required autofocus />
		<${Select} label=${t('keys.may')} value=${is.permission} onChange=${put('permission')} options=${[['sending_access', t('keys.maySend')], ['full_access', t('keys.mayAll')]]} />
		${sending
			? html`<${Select} label=${t('keys.domain')} value=${is.domain} onChange=${put('domain')} options=${[['', t('keys.anyDomain')], ...domains.map((d) => [d.id, d.name])]} />`
			: html`<${Select} label=${t('keys.role')} hint=${t('keys.roleHint')} value=${is.role} onChange=${put('role')} options=${roles()} />`}
		<${Select} label=${t('keys.ends')} value=${is.days} onChange=${put('days')} options=${spans()} />
		<${Input} label=${t('keys.ips')} hint=${t('keys.ipsHint')} mono value=${is.ips} onInput=${put('ips')} autocomplete="off" /><//>`;
}

/** The form of a key that is there. @param {{close: (answer?: any) => void, of: any}} props */
export function EditKey({ close, of }) {
	const [is, set] = useState({ name: of.name, until: of.expires_at?.slice(0, 10) ?? '', ips: of.allowed_ips.join(', ') });
	const [wrong, say] = useState('');
	const put = (name) => (value) => set((now) => ({ ...now, [name]: value }));
	const send = () => tried(async () => {
		const body = { name: is.name.trim(), allowed_ips: ranges(is.ips) };
		if (is.until !== (of.expires_at?.slice(0, 10) ?? '')) body.expires_at = is.until ? `${is.until}T23:59:59Z` : null;
		close(await api.patch(encoded`/api-keys/${of.id}`, body));
	}, say);
	return html`<${DialogBody} title=${t('keys.editTitle', { name: of.name })} onSubmit=${send} acts=${html`<${Acts} close=${close} act=${t('ui.save')} />`}>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${Input} label=${t('keys.name')} value=${is.name} onInput=${put('name')} maxlength="50" required autofocus />
		<${Input} label=${t('keys.until')} hint=${t('keys.untilHint')} type="date" value=${is.until} onInput=${put('until')} />
		<${Input} label=${t('keys.ips')} hint=${t('keys.ipsHint')} mono value=${is.ips} onInput=${put('ips')} autocomplete="off" /><//>`;
}

/** A key that was just made: its token, this once, and a first email. @param {{made: any, domains: any[], done: () => void}} props */
export function Made({ made, domains, done }) {
	const [tongue, setTongue] = useState('curl');
	const [copied, setCopied] = useState(false);
	const bound = domains.find((d) => d.id === made.domain_id);
	const domain = bound ?? domains.find((d) => d.status === 'verified') ?? domains[0];
	const from = `hello@${domain?.name ?? 'example.com'}`;
	const to = me.value.email;
	const what = made.permission === 'full_access' ? t('keys.everything', { role: t(`roles.${made.role}`) }) : bound ? t('keys.sendFrom', { domain: bound.name }) : t('keys.send');
	const first = () => attempt(async () => {
		const { id } = await api.post('/emails', { from, to: [to], subject: t('keys.firstSubject'), text: t('keys.firstText', { name: made.name }) });
		toast(t('keys.firstSent', { to }), { href: base + encoded`/emails/${id}`, word: t('keys.firstSee') });
	});
	return html`<div class="page"><section class="section" aria-labelledby="made"><div class="panel stack"><div class="stack stack--2"><h2 id="made">${t('keys.made', { name: made.name })}</h2><p class="ink2 t13r">${t('keys.madeText', { what, end: made.expires_at ? t('keys.endsOn', { day: day(made.expires_at) }) : t('keys.noEnd') })}</p></div>
		<div class="secret wide"><code>${made.token}</code><${Button} kind="primary" icon=${copied ? 'check' : 'copy'} onClick=${async () => setCopied(await copy(made.token))}>${t(copied ? 'ui.copied' : 'ui.copy')}<//></div>
		<div class="wide"><${Code} name=${t('keys.language')} tabs=${tongues} at=${tongue} onTab=${setTongue} code=${snippet(tongue, location.origin, from, to)} /></div>
		<div class="row row--wrap">${domain?.status === 'verified' && html`<${Button} icon="send" onClick=${first}>${t('keys.first')}<//>`}<${Button} kind="quiet" onClick=${done}>${t('keys.keptIt')}<//></div></div></section></div>`;
}
