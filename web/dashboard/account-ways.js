// How a person gets in: password, authenticator app, passkeys, recovery codes.
import { html, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { say, t } from './i18n.js';
import { about, arrive, Said, useForm } from './gate.js';
import * as passkey from './passkey.js';
import { encoded } from './paths.js';
import { Codes, TurnOn } from './second-factor.js';
import { me } from './state.js';
import { Button, Icon, Input, Notice, Section, Time } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, toast } from './ui/float.js';

/** The part of the account about signing in. */
export function SignIn() {
	const keys = useGet('/users/me/passkeys', undefined, { team: null });
	const { password, second_factor: factors, recovery_codes: left } = me.value;
	const totp = factors.includes('totp');
	return html`<${Section} title=${t('account.ways')}><ul class="items">
	<${Way} icon="lock" name=${t('account.password')} note=${t(password ? 'account.has' : 'account.hasNot')}><${Button} onClick=${() => void dialog((close) => html`<${Password} close=${close} />`)}>${t(password ? 'account.change' : 'account.set')}<//><//>
	<${Way} icon="shield" name=${t('account.app')} note=${t(totp ? 'account.on' : 'account.off')}>${totp ? html`<${Button} kind="danger" onClick=${turnOff}>${t('account.turnOff')}<//>` : html`<${Button} onClick=${() => void dialog((close) => html`<${App} close=${close} />`)}>${t('account.turnOn')}<//>`}<//>
	<${Way} icon="key" name=${t('account.codes')} note=${factors.length ? t('account.left', { n: left }) : t('account.noCodes')}>${factors.length > 0 && html`<${Button} onClick=${newCodes}>${t('account.newCodes')}<//>`}<//></ul><//>
	<${Section} title=${t('account.passkeys')} acts=${passkey.can() && html`<${Button} icon="plus" onClick=${() => void add(keys.reload)}>${t('account.addPasskey')}<//>`}>
	<p class="ink2 t13r prose">${passkey.can() ? t('account.passkeyText') : t('account.passkeyNo', { host: location.host })}</p>
	${keys.error && html`<${Notice} kind="bad">${keys.error.message}<//>`}
	<ul class="items">${(keys.data?.data ?? []).map((one) => html`<${Way} key=${one.id} icon="passkey" name=${html`<bdi>${one.name}</bdi>`} note=${html`${say('account.since', { when: html`<${Time} at=${one.created_at} as="clock" />` })}, ${one.last_used_at ? say('account.used', { when: html`<${Time} at=${one.last_used_at} as="clock" />` }) : t('account.never')}`}><${Button} kind="danger" onClick=${() => remove(one, keys.reload)}>${t('ui.remove')}<//><//>`)}</ul><//>`;
}

const Way = ({ icon, name, note, children }) => html`<li><${Icon} name=${icon} /><span class="grow">${name}<br /><span class="muted t12">${note}</span></span>${children}</li>`;

const cancel = (close) => html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//>`;

function Password({ close }) {
	const [current, setCurrent] = useState('');
	const [fresh, setFresh] = useState('');
	const has = me.value.password;
	const form = useForm(async () => {
		await api.post('/users/me/password', has ? { current, new: fresh } : { new: fresh }, { team: null });
		await arrive();
		close();
		toast(t('account.changed'));
	});
	return html`<${DialogBody} title=${t(has ? 'account.changeTitle' : 'account.set')} onSubmit=${form.submit} acts=${html`${cancel(close)}<${Button} type="submit" kind="primary" busy=${form.busy}>${t('ui.save')}<//>`}>
	<${Said} form=${form} fields=${['new', 'current']} words=${{ invalid_credentials: t('account.wrong') }} />
	<input type="text" class="vh" autocomplete="username" tabindex="-1" aria-hidden="true" readonly value=${me.value.email} />
	${has && html`<${Input} label=${t('account.current')} type="password" autocomplete="current-password" required value=${current} onInput=${setCurrent} error=${about(form.error, 'current')} autofocus />`}
	<${Input} label=${t('account.new')} type="password" autocomplete="new-password" required value=${fresh} onInput=${setFresh} hint=${t('account.newHint')} error=${about(form.error, 'new')} /><//>`;
}

/** Shows codes until they are kept. @param {string[]} codes */
const showCodes = (codes) => dialog((close) => html`<${DialogBody} title=${t('factor.codes')} onSubmit=${() => close()} acts=${html`<${Button} type="submit" kind="primary">${t('account.done')}<//>`}><${Codes} codes=${codes} /><//>`);

const App = ({ close }) => html`<${DialogBody} title=${t('account.appTitle')} acts=${null}><p>${t('account.appText')}</p><${TurnOn} skip=${close} skipWord=${t('ui.cancel')} done=${async (codes) => {
	close();
	await showCodes(codes);
	await attempt(arrive);
}} /><//>`;

async function turnOff() {
	if (!(await confirm({ title: t('account.offTitle'), text: t('account.offText'), act: t('account.turnOff') }))) return;
	await attempt(async () => {
		await api.del('/users/me/totp', undefined, { team: null });
		await arrive();
	}, t('account.offDone'));
}

async function newCodes() {
	if (me.value.recovery_codes && !(await confirm({ title: t('account.newCodesTitle'), text: t('account.newCodesText'), act: t('account.newCodes') }))) return;
	const made = await attempt(() => api.post('/users/me/recovery-codes', undefined, { team: null }));
	if (!made) return;
	await showCodes(made.recovery_codes);
	await attempt(arrive);
}

/** @param {() => Promise<any>} reload */
async function add(reload) {
	const made = await dialog((close) => html`<${Passkey} close=${close} />`);
	if (!made) return;
	if (made.recovery_codes?.length) await showCodes(made.recovery_codes);
	await attempt(arrive);
	await reload();
}

function Passkey({ close }) {
	const [name, setName] = useState('');
	const form = useForm(async () => {
		const made = await passkey.make(name.trim());
		close(made);
		toast(t('account.passkeyDone'));
	});
	return html`<${DialogBody} title=${t('account.addPasskey')} onSubmit=${form.submit} acts=${html`${cancel(close)}<${Button} type="submit" kind="primary" busy=${form.busy}>${t('ui.add')}<//>`}>
	<${Said} form=${form} fields=${['name']} /><${Input} label=${t('account.passkeyName')} required maxlength="100" value=${name} onInput=${setName} hint=${t('account.passkeyNameHint')} error=${about(form.error, 'name')} autofocus /><//>`;
}

async function remove(one, reload) {
	if (!(await confirm({ title: t('account.removeTitle', { name: one.name }), text: t('account.removeText'), act: t('ui.remove') }))) return;
	await attempt(async () => {
		await api.del(encoded`/users/me/passkeys/${one.id}`, undefined, { team: null });
		await Promise.all([reload(), arrive()]);
	}, t('account.removed'));
}
