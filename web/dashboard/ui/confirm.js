// The fresh confirmation that some actions need.
import { html, useState } from '../lib/core.js';
import { api, ApiError } from '../api.js';
import { t } from '../i18n.js';
import * as passkey from '../passkey.js';
import { me } from '../state.js';
import { Button, Input, Notice } from './base.js';
import { dialog, DialogBody } from './float.js';

/** The dialog that asks, while it is open: several requests wait for one answer. @type {Promise<boolean>|null} */
let asked = null;

/** Asks, and resolves to whether the proof was given. */
export const prove = () => (asked ??= dialog((close) => html`<${Prove} close=${close} />`).then(Boolean).finally(() => {
	asked = null;
}));

function Prove({ close }) {
	const [typed, type] = useState('');
	const [wrong, setWrong] = useState('');
	const [busy, setBusy] = useState(false);
	const factors = me.value?.second_factor ?? [];
	const byCode = factors.includes('totp');
	const byPassword = me.value?.password !== false;
	const byPasskey = factors.includes('passkey') && passkey.can();
	const run = async (prove, words) => {
		if (busy) return;
		setBusy(true);
		setWrong('');
		try {
			await prove();
			close(true);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.name === 'invalid_credentials' ? words : e.message);
		}
		setBusy(false);
	};
	const send = () => run(() => api.post('/auth/confirm', byCode && /^\s*\d{3}\s?\d{3}\s*$/.test(typed) ? { code: typed.replace(/\s/g, '') } : { password: typed }, { team: null }), t(byCode ? 'confirm.wrongEither' : 'confirm.wrong'));
	const types = byPassword || byCode;
	return html`<${DialogBody} title=${t('confirm.title')} onSubmit=${() => types && send()} acts=${html`<${Button} kind="quiet" onClick=${() => close(false)}>${t('ui.cancel')}<//>${types && html`<${Button} type="submit" kind="primary" busy=${busy}>${t('confirm.act')}<//>`}`}>
		<p>${t(types || byPasskey ? 'confirm.text' : 'confirm.nothing')}</p>
		${types && html`<${Input} label=${byCode ? t(byPassword ? 'confirm.passwordOrCode' : 'confirm.code') : t('confirm.password')} type="password" autocomplete="current-password" autofocus value=${typed} onInput=${type} error=${wrong} />`}
		${!types && wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		${byPasskey && html`${types && html`<p class="or">${t('signIn.or')}</p>`}<${Button} icon="passkey" kind="wide" onClick=${() => run(passkey.use, t('factor.wrongPasskey'))}>${t('signIn.passkey')}<//>`}<//>`;
}
