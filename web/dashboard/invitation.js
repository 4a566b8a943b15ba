// Joining the team that asked, with the account that there is or a new one.
import { html, useEffect, useState } from './lib/core.js';
import { api } from './api.js';
import { t } from './i18n.js';
import { about, enter, Gate, Said, useForm } from './gate.js';
import { base, place } from './router.js';
import { AskFactor } from './second-factor.js';
import { Button, Input } from './ui/base.js';

/** The page. */
export default function Invitation() {
	const [name, setName] = useState('');
	const [password, setPassword] = useState('');
	const [factors, setFactors] = useState(/** @type {string[]|null} */ (null));
	const form = useForm(async () => {
		const answer = await api.post('/auth/invitation', { code: place.value.hash, password, ...(name.trim() ? { name: name.trim() } : {}) }, { team: null });
		if (answer.second_factor?.length) setFactors(answer.second_factor);
		else await enter();
	});
	const [asks, setAsks] = useState(/** @type {any} */ (null));
	const [gone, setGone] = useState(false);
	useEffect(() => {
		if (!place.value.hash) return;
		api.post('/auth/invitation/read', { code: place.value.hash }, { team: null }).then(setAsks, (e) => setGone(e.status === 403));
	}, []);
	if (factors) return html`<${AskFactor} factors=${factors} done=${() => enter()} back=${() => location.assign(`${base}/sign-in`)} />`;
	if (form.error?.status === 403 || gone || !place.value.hash) {
		return html`<${Gate} title=${t('invitation.title')}><div class="stack stack--2"><h1>${t('invitation.used')}</h1><p class="ink2">${t('invitation.usedText')}</p></div><${Button} kind="wide" href=${`${base}/sign-in`}>${t('signIn.title')}<//><//>`;
	}
	return html`<${Gate} title=${t('invitation.title')} onSubmit=${form.submit}><div class="stack stack--2"><h1>${asks ? t('invitation.joinTeam', { team: asks.team }) : t('invitation.title')}</h1>${asks && html`<p class="ink2"><bdi>${asks.invited_by ? t('invitation.invitedBy', { by: asks.invited_by, email: asks.email }) : t('invitation.invited', { email: asks.email })}</bdi></p>`}<p class="ink2">${t('invitation.how')}</p></div>
	<${Said} form=${form} fields=${['password', 'name']} words=${{ invalid_credentials: t('invitation.wrong') }} />
	<${Input} label=${t('invitation.name')} autocomplete="name" value=${name} onInput=${setName} hint=${t('invitation.nameHint')} error=${about(form.error, 'name')} autofocus />
	<${Input} label=${t('signIn.password')} type="password" autocomplete="new-password" required value=${password} onInput=${setPassword} hint=${t('invitation.passwordHint')} error=${about(form.error, 'password')} />
	<${Button} type="submit" kind="primary wide" busy=${form.busy}>${t('invitation.act')}<//><//>`;
}
