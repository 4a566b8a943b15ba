// Second factors: asked for at sign-in, and turned on.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { api } from './api.js';
import { say, t } from './i18n.js';
import { about, Gate, Said, useForm } from './gate.js';
import * as passkey from './passkey.js';
import { Button, copy, Copy, Field, Icon, Input, Notice } from './ui/base.js';

/** Six digits; done is called when they are there. @param {{value: string, onInput: (digits: string) => void, onDone: () => void, error?: any, hint?: any}} props */
export function Digits({ value, onInput, onDone, error, hint }) {
	const box = useRef(/** @type {any} */ (null));
	useEffect(() => {
		if (value.length === 6) onDone();
	}, [value]);
	useEffect(() => box.current.focus(), []);
	return html`<${Field} label=${t('factor.digits')} hint=${hint} error=${error}>${(attributes) => html`<div class="otp"><input class="input" inputmode="numeric" autocomplete="one-time-code" ref=${box} value=${value} onInput=${(e) => {
		const digits = e.currentTarget.value.replace(/\D/g, '').slice(0, 6);
		e.currentTarget.value = digits;
		onInput(digits);
	}} ...${attributes} /></div>`}<//>`;
}

/**
 * The page that asks for the second factor after the password.
 * @param {{factors: string[], done: () => Promise<any>, back: () => void}} props
 */
export function AskFactor({ factors, done, back }) {
	const byCode = factors.includes('totp');
	const [recovery, setRecovery] = useState(!byCode && !factors.includes('passkey'));
	const [code, setCode] = useState('');
	const send = useForm(async () => {
		try {
			await api.post('/auth/totp', recovery ? { recovery_code: code.trim() } : { code }, { team: null });
		} catch (e) {
			if (!recovery) setCode('');
			throw e;
		}
		await done();
	});
	const byPasskey = useForm(async () => {
		await passkey.use();
		await done();
	});
	const turn = (on) => {
		setRecovery(on);
		setCode('');
		send.clear();
	};
	const box = useRef(/** @type {any} */ (null));
	useEffect(() => box.current?.querySelector('input')?.focus(), [recovery]);
	return html`<${Gate} title=${t('factor.title')} onSubmit=${() => (recovery || byCode) && send.submit()}><div class="stack stack--2"><h1>${t('factor.title')}</h1><p class="ink2">${t(recovery ? 'factor.recoveryText' : byCode ? 'factor.codeText' : 'factor.passkeyText')}</p></div>
	<${Said} form=${send} words=${{ invalid_credentials: t(recovery ? 'factor.wrongRecovery' : 'factor.wrongCode') }} /><${Said} form=${byPasskey} words=${{ invalid_credentials: t('factor.wrongPasskey') }} />
	${(recovery || byCode) && html`<div class="stack" ref=${box}><div class="wide">${recovery
		? html`<${Input} label=${t('factor.recovery')} value=${code} onInput=${setCode} autocomplete="off" autocapitalize="none" spellcheck=${false} mono />`
		: html`<${Digits} value=${code} onInput=${setCode} onDone=${send.submit} />`}</div>
		<${Button} type="submit" kind="primary wide" class="wide" busy=${send.busy}>${t('factor.go')}<//></div>`}
	${factors.includes('passkey') && passkey.can() && html`${byCode && html`<p class="or">${t('signIn.or')}</p>`}<${Button} icon="passkey" kind=${byCode || recovery ? 'wide' : 'primary wide'} busy=${byPasskey.busy} onClick=${byPasskey.submit}>${t('signIn.passkey')}<//>`}
	<div class="row row--wrap">${recovery ? byCode && html`<${Button} kind="quiet" onClick=${() => turn(false)}>${t('factor.useCode')}<//>` : html`<${Button} kind="quiet" onClick=${() => turn(true)}>${t('factor.useRecovery')}<//>`}<${Button} kind="quiet" onClick=${back}>${t('factor.back')}<//></div><//>`;
}

/** The path of the black squares in the SVG that the server drew, and its width. @param {string} svg */
function squares(svg) {
	return { size: /viewBox="0 0 (\d+)/.exec(svg)?.[1] ?? '1', path: svg.slice(svg.lastIndexOf(' d="') + 4, svg.lastIndexOf('"/>')) };
}

/**
 * Enables one-time passwords: QR code and first code. done gets the recovery codes.
 * @param {{done: (codes: string[]) => void, skip?: () => void, skipWord?: string}} props
 */
export function TurnOn({ done, skip, skipWord }) {
	const [offer, setOffer] = useState(/** @type {any} */ (null));
	const [code, setCode] = useState('');
	const begin = useForm(async () => setOffer(await api.post('/users/me/totp', undefined, { team: null })));
	const confirm = useForm(async () => {
		try {
			const answer = await api.post('/users/me/totp/confirm', { code }, { team: null });
			done(answer.recovery_codes);
		} catch (e) {
			setCode('');
			throw e;
		}
	});
	useEffect(() => {
		begin.submit();
	}, []);
	if (!offer) return html`<${Said} form=${begin} />${skip && html`<div class="row"><${Button} kind="quiet" onClick=${skip}>${skipWord}<//></div>`}`;
	const { size, path } = squares(offer.qr);
	return html`<div class="row row--top row--wrap factor"><svg class="qr" viewBox=${`0 0 ${size} ${size}`} shape-rendering="crispEdges" role="img" aria-label=${t('factor.qr')}><path d=${path} /></svg>
	<div class="stack factor-side"><div class="stack stack--2"><span class="field-label">${t('factor.secret')}</span><${Copy} text=${offer.secret} show=${offer.secret.replace(/(.{4})(?=.)/g, '$1 ')} shown /></div>
	<div class="wide"><${Digits} value=${code} onInput=${setCode} onDone=${confirm.submit} hint=${t('factor.hint')} error=${confirm.error && (about(confirm.error, 'code') ? t('factor.notNow') : confirm.error.message)} /></div>
	<div class="row"><${Button} kind="primary" busy=${confirm.busy} onClick=${confirm.submit}>${t('factor.confirm')}<//>${skip && html`<${Button} kind="quiet" onClick=${skip}>${skipWord}<//>`}</div></div></div>`;
}

/** Recovery codes, shown once. @param {{codes: string[]}} props */
export function Codes({ codes }) {
	const [copied, setCopied] = useState(false);
	const text = `${codes.join('\n')}\n`;
	const save = () => {
		const a = document.createElement('a');
		a.href = URL.createObjectURL(new Blob([`Mailer, ${location.host}\n${text}`], { type: 'text/plain' }));
		a.download = 'mailer-recovery-codes.txt';
		a.click();
		setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
	};
	return html`<${Notice} icon="key">${t('factor.codesText')}<//>
	<div class="row row--top row--wrap factor"><div class="codes">${codes.map((code) => html`<span>${code}</span>`)}</div><div class="stack stack--2"><${Button} icon=${copied ? 'check' : 'copy'} onClick=${async () => setCopied(await copy(text))}>${t(copied ? 'ui.copied' : 'factor.copyAll')}<//><${Button} icon="download" onClick=${save}>${t('factor.save')}<//></div></div>`;
}

/** The operator's command that resets a sign-in. @param {{email?: string}} props */
export const NoWayIn = ({ email }) => html`<p class="t12 muted">${say('signIn.noWay', { command: html`<code>mailer users link ${email || 'EMAIL'}</code>` })}</p>`;

/** A step of several: done steps have a tick, skipped ones say so. @param {{steps: string[], at: number, done?: boolean[]}} props */
export const Progress = ({ steps, at, done }) => html`<ol class="progress" aria-label=${t('setup.steps')}>${steps.map((name, i) => html`<li aria-current=${i === at ? 'step' : undefined}>${i < at && (done?.[i] ?? true) && html`<${Icon} name="check" />`}${name}${i < at && done && !done[i] && html` <span class="muted">(${t('setup.skipped')})</span>`}</li>`)}</ol>`;
