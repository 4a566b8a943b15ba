// The person's own account: name, theme, sign-in methods, sessions.
import { html, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { clock, exact } from './format.js';
import { languages, preferred, speak, t } from './i18n.js';
import { device } from './device.js';
import { keepLanguage } from './prefs.js';
import { base, place } from './router.js';
import { OwnInvitations } from './own-invitations.js';
import { me, signedIn } from './state.js';
import { SignIn } from './account-ways.js';
import { encoded } from './paths.js';
import { Bones, Button, Facts, Failed, Head, Icon, Input, Section, Sections, Seg, Select, Time } from './ui/base.js';
import { attempt } from './ui/float.js';

/** The page. */
export default function Account() {
	const part = place.value.query.get('part') ?? 'profile';
	const at = base + '/account';
	const links = [[t('account.profile'), at], [t('account.signIn'), `${at}?part=sign-in`], [t('account.sessions'), `${at}?part=sessions`]];
	return html`<${Head} title=${t('account.title')} /><${Sections} label=${t('account.sections')} links=${links} at=${part === 'profile' ? at : `${at}?part=${part}`} />
	<div class="page page--text">${part === 'sessions' ? html`<${Sessions} />` : part === 'sign-in' ? html`<${SignIn} />` : html`<${Profile} />`}</div>`;
}

/** Changes what the server stores of the person. @param {any} change @param {any} [done] */
const change = (change, done) => attempt(async () => signedIn(await api.patch('/users/me', change, { team: null })), done);

function Profile() {
	const [name, setName] = useState(me.value.name);
	const pickLanguage = async (id) => {
		if (!(await attempt(async () => {
			signedIn(await api.patch('/users/me', { language: id }, { team: null }));
			return true;
		}))) return;
		keepLanguage(id);
		await speak(preferred());
	};
	return html`<${Section} title=${t('account.profile')}><form class="fields" onSubmit=${(e) => {
		e.preventDefault();
		change({ name: name.trim() }, t('account.saved'));
	}}><${Input} label=${t('account.name')} autocomplete="name" maxlength="100" value=${name} onInput=${setName} /><${Button} type="submit" kind="primary" disabled=${name.trim() === me.value.name}>${t('ui.save')}<//></form><//>
	<${Section} title=${t('account.looks')}><div class="fields"><${Select} label=${t('account.language')} value=${me.value.language ?? ''} onChange=${pickLanguage} options=${[['', t('account.browsers')], ...Object.entries(languages)]} />
	<div class="field"><span class="field-label">${t('account.theme')}</span><span><${Seg} label=${t('account.theme')} value=${me.value.theme ?? ''} onChange=${(theme) => change({ theme })} options=${[['', t('account.system')], ['light', t('account.light')], ['dark', t('account.dark')]]} /></span></div></div><//>
	<${OwnInvitations} /><${Section} title=${t('account.teams')}><${Facts} pairs=${[[t('account.email'), html`<bdi>${me.value.email}</bdi>${me.value.operator && html` <span class="badge">${t('account.operator')}</span>`}`], ...me.value.teams.map((one) => [html`<bdi>${one.name}</bdi>`, t(`roles.${one.role}`)])]} /><//>`;
}

function Sessions() {
	const list = useGet('/users/me/sessions', { limit: 100 }, { team: null });
	if (list.error && !list.data) return html`<${Failed} error=${list.error} retry=${list.reload} />`;
	if (!list.data) return html`<${Bones} rows=${3} />`;
	const rows = list.data.data;
	const others = rows.filter((s) => !s.current).length;
	const end = (s) => attempt(async () => {
		await api.del(encoded`/users/me/sessions/${s.id}`, undefined, { team: null });
		await list.reload();
	}, t('account.ended', { device: device(s.device).name }));
	const endOthers = () => attempt(async () => {
		const { ended } = await api.del('/users/me/sessions', undefined, { team: null });
		await list.reload();
		return ended;
	}, (n) => t('account.othersEnded', { n }));
	return html`<${Section} title=${t('account.sessions')} acts=${others > 0 && html`<${Button} kind="danger" onClick=${endOthers}>${t('account.endOthers', { n: others })}<//>`}>
	<table class="table table--fixed table--two"><thead><tr><th scope="col">${t('account.device')}</th><th scope="col" class="hide-s w-team">${t('account.address')}</th><th scope="col" class="hide-s w-status">${t('account.signedIn')}</th><th scope="col" class="num w-age">${t('account.seen')}</th><th scope="col" class="num w-num"><span class="vh">${t('ui.acts')}</span></th></tr></thead>
	<tbody>${rows.map((s) => {
		const { name, phone } = device(s.device);
		return html`<tr key=${s.id}><td class="cell-cut" title=${s.device}><${Icon} name=${phone ? 'phone' : 'desktop'} /> ${name || t('account.unknown')}<span class="cell-sub">${s.address}</span></td><td class="hide-s cell-cut"><span class="mono">${s.address}</span></td><td class="hide-s" title=${exact(s.created_at)}>${clock(s.created_at)}</td><td class="num muted"><${Time} at=${s.seen_at} /></td><td class="num">${s.current ? html`<span class="badge">${t('account.thisOne')}</span>` : html`<${Button} kind="quiet" aria-label=${t('account.endOf', { device: name })} onClick=${() => end(s)}>${t('account.end')}<//>`}</td></tr>`;
	})}</tbody></table><//>`;
}
