// The fresh proof of who is there, which some acts ask for.
import { html, useState } from '../lib/core.js';
import { api, ApiError, proof } from '../api.js';
import { t } from '../i18n.js';
import { me } from '../state.js';
import { Button, Input } from './base.js';
import { dialog, DialogBody } from './float.js';

proof.ask = () => dialog((close) => html`<${Prove} close=${close} />`);

function Prove({ close }) {
	const [typed, type] = useState('');
	const [wrong, setWrong] = useState('');
	const byCode = me.value?.second_factor?.includes('totp');
	const send = async () => {
		try {
			await api.post('/auth/confirm', byCode && /^\s*\d{3}\s?\d{3}\s*$/.test(typed) ? { code: typed.replace(/\s/g, '') } : { password: typed });
			close(true);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('confirm.title')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close(false)}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('confirm.act')}<//>`}>
		<p>${t('confirm.text')}</p>
		<${Input} label=${byCode ? t('confirm.passwordOrCode') : t('confirm.password')} type="password" autocomplete="current-password" autofocus value=${typed} onInput=${type} error=${wrong} /><//>`;
}
