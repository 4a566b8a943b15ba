// Signing in: password or passkey, then the second factor where there is one.
import { html, useEffect, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { t } from './i18n.js';
import { enter, Gate, Said, useForm } from './gate.js';
import * as passkey from './passkey.js';
import { place } from './router.js';
import { AskFactor, NoWayIn } from './second-factor.js';
import { Button, Input, Notice } from './ui/base.js';

/** The page. */
export default function SignIn() {
	const [email, setEmail] = useState('');
	const [password, setPassword] = useState('');
	const [factors, setFactors] = useState(/** @type {string[]|null} */ (null));
	const to = place.value.query.get('to');
	const inside = () => enter(to);
	const form = useForm(async () => {
		const answer = await api.post('/auth/sign-in', { email: email.trim(), password }, { team: null });
		if (answer.second_factor?.length) setFactors(answer.second_factor);
		else await inside();
	});
	const byPasskey = useForm(async () => {
		await passkey.use();
		await inside();
	});
	const setup = useGet('/auth/setup', {}, { team: null });
	if (setup.data?.needed) {
		return html`<${Gate} title=${t('signIn.title')}><div class="stack stack--2"><h1>${t('signIn.noAccount')}</h1><p class="ink2">${t('signIn.noAccountText')}</p></div><div class="code"><pre tabindex="0">mailer users setup</pre></div><//>`;
	}
	if (factors) {
		return html`<${AskFactor} factors=${factors} done=${inside} back=${() => {
			setPassword('');
			setFactors(null);
		}} />`;
	}
	return html`<${Gate} title=${t('signIn.title')} onSubmit=${form.submit}><h1>${t('signIn.title')}</h1>
	<${First} /><${Said} form=${form} words=${{ invalid_credentials: t('signIn.wrong') }} /><${Said} form=${byPasskey} words=${{ invalid_credentials: t('factor.wrongPasskey') }} />
	<${Input} label=${t('signIn.email')} type="email" autocomplete="username" required value=${email} onInput=${setEmail} autofocus />
	<${Input} label=${t('signIn.password')} type="password" autocomplete="current-password" required value=${password} onInput=${setPassword} />
	<${Button} type="submit" kind="primary wide" busy=${form.busy}>${t('signIn.act')}<//>
	${passkey.can() && html`<p class="or">${t('signIn.or')}</p><${Button} icon="passkey" kind="wide" busy=${byPasskey.busy} onClick=${byPasskey.submit}>${t('signIn.passkey')}<//>`}
	<${NoWayIn} email=${email.trim()} /><//>`;
}

/** Why a person has to sign in again. */
function First() {
	const [ended] = useState(() => sessionStorage.getItem('mailer.ended'));
	useEffect(() => sessionStorage.removeItem('mailer.ended'), []);
	return ended ? html`<${Notice}>${t('signIn.ended')}<//>` : null;
}
