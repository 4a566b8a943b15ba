// The relay's step of the setup: what its provider gave, tried step by step.
import { html, useState } from './lib/core.js';
import { api } from './api.js';
import { number } from './format.js';
import { find, t } from './i18n.js';
import { about, Gate, Said, useForm } from './gate.js';
import { encoded } from './paths.js';
import { Button, Input, Select, Status } from './ui/base.js';

/** The address of a relay, as the server takes it. @param {any} v */
export function relayURL(v) {
	const host = v.host.trim();
	const who = v.user ? `${encodeURIComponent(v.user.trim())}:${encodeURIComponent(v.password)}@` : '';
	return `${v.security === 'tls' ? 'smtps' : 'smtp'}://${who}${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${v.port.trim()}${v.security === 'off' ? '?tls=off' : ''}`;
}

/** The page of the step. @param {{next: () => void, top: any}} props */
export function RelayStep({ next, top }) {
	const [values, setValues] = useState({ host: '', port: '587', user: '', password: '', security: 'starttls' });
	const [tried, setTried] = useState(/** @type {any} */ (null));
	const set = (name) => (value) => setValues((before) => ({ ...before, [name]: value }));
	const form = useForm(async () => {
		setTried(null);
		const added = await api.post('/relays', { url: relayURL(values) }, { team: null });
		setTried(await api.post(encoded`/relays/${added.region}/test`, {}, { team: null }));
	});
	const secure = (security) => setValues((before) => ({ ...before, security, port: { tls: '465', starttls: '587', off: '25' }[security] ?? before.port }));
	return html`<${Gate} wide title=${t('setup.title')} onSubmit=${tried?.ok ? next : form.submit}>${top}<${Said} form=${form} />
	<div class="setup-fields"><${Input} label=${t('setup.relay.host')} mono required autocapitalize="none" spellcheck=${false} placeholder="smtp.example.com" value=${values.host} onInput=${set('host')} autofocus />
	<div class="row row--top"><${Select} label=${t('setup.relay.security')} value=${values.security} onChange=${secure} options=${['starttls', 'tls', 'off'].map((id) => [id, t(`setup.relay.${id}`)])} /><${Input} label=${t('setup.relay.port')} class="setup-port" mono inputmode="numeric" required value=${values.port} onInput=${set('port')} error=${about(form.error, 'port')} /></div>
	<${Input} label=${t('setup.relay.user')} mono autocomplete="off" autocapitalize="none" spellcheck=${false} value=${values.user} onInput=${set('user')} hint=${t('setup.relay.userHint')} />
	<${Input} label=${t('signIn.password')} type="password" autocomplete="off" value=${values.password} onInput=${set('password')} hint=${t('setup.relay.passwordHint')} /></div>
	${tried && html`<${Trial} tried=${tried} />`}
	<div class="row">${tried?.ok ? html`<${Button} type="submit" kind="primary">${t('setup.next')}<//>` : html`<${Button} type="submit" kind="primary" busy=${form.busy}>${t(tried ? 'setup.relay.again' : 'setup.relay.act')}<//><${Button} kind="quiet" onClick=${next}>${t(tried ? 'setup.relay.keep' : 'setup.skip')}<//>`}</div><//>`;
}

/** How a trial of a relay went. @param {{tried: any}} props */
function Trial({ tried }) {
	const failed = tried.steps.find((step) => !step.ok);
	return html`<div class="stack stack--2" role="status"><h2>${tried.ok ? t('setup.relay.works') : t('setup.relay.fails', { step: t(`setup.relay.steps.${failed?.step ?? 'connect'}`) })}</h2>
	${failed && find(`setup.relay.fixes.${failed.step}`) && html`<p class="ink2">${t(`setup.relay.fixes.${failed.step}`)}</p>`}
	<table class="table wide"><tbody>${tried.steps.map((step) => html`<tr><td><${Status} of=${step.ok ? 'ok' : 'bad'} word=${t(`setup.relay.steps.${step.step}`)} /></td><td class="break mono t12">${step.said}</td><td class="num muted">${number(step.ms)} ms</td></tr>`)}</tbody></table></div>`;
}
