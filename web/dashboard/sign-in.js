// Signing in: password, then the second factor.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { go, place } from './router.js';
import { signedIn } from './state.js';
import { Button, Input, Notice } from './ui/base.js';

/** The page. */
export default function SignIn() {
	const [email, setEmail] = useState('');
	const [password, setPassword] = useState('');
	const [error, setError] = useState('');
	const send = async () => {
		try {
			await api.post('/auth/sign-in', { email, password }, { team: null });
			signedIn(await api.get('/users/me', undefined, { team: null }));
			go(place.value.query.get('to') ?? '/', { replace: true });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setError(e.message);
		}
	};
	return html`<main class="gate"><form class="gate-box" onSubmit=${(e) => {
		e.preventDefault();
		send();
	}}><span class="row"><span class="mark" aria-hidden="true">M</span><span class="medium">Mailer</span></span><h1>${t('signIn.title')}</h1>
	${error && html`<${Notice} kind="bad">${error}<//>`}
	<${Input} label=${t('signIn.email')} type="email" autocomplete="username" value=${email} onInput=${setEmail} autofocus />
	<${Input} label=${t('signIn.password')} type="password" autocomplete="current-password" value=${password} onInput=${setPassword} />
	<${Button} type="submit" kind="primary wide">${t('signIn.act')}<//></form><footer class="gate-foot"><span class="mono">${location.host}</span></footer></main>`;
}
