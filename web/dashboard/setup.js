// The first account, its second factor, the relay, the first domain: from the link that the server shows to the overview.
import { html, useState } from './lib/core.js';
import { api } from './api.js';
import { t } from './i18n.js';
import { about, arrive, Gate, Said, useForm } from './gate.js';
import { base, go, place } from './router.js';
import { me } from './state.js';
import { Codes, Progress, TurnOn } from './second-factor.js';
import { RelayStep } from './setup-relay.js';
import { domainIn, ownDomain } from './paths.js';
import { Button, Input } from './ui/base.js';

const names = ['you', 'factor', 'relay', 'domain'];

/** The page. */
export default function Setup() {
	const [at, setAt] = useState('you');
	const [proven, setProven] = useState(/** @type {string[]} */ ([]));
	const [code] = useState(place.value.hash);
	const steps = { you: You, factor: Factor, relay: Relay, domain: Domain };
	const Step = steps[at];
	return html`<${Step} code=${code} next=${(done = true) => {
		if (done) setProven((before) => [...before, at]);
		const to = names[names.indexOf(at) + 1];
		if (to) setAt(to);
		else go('/', { replace: true });
	}} progress=${html`<${Progress} at=${names.indexOf(at)} steps=${names.map((name) => t(`setup.${name}.step`))} done=${names.map((name) => proven.includes(name))} />`} />`;
}

/** The head of each step. */
const Top = ({ progress, of }) => html`${progress}<div class="stack stack--2"><h1>${t(`setup.${of}.title`)}</h1><p class="ink2 prose">${t(`setup.${of}.text`)}</p></div>`;

function You({ code, next, progress }) {
	const [values, setValues] = useState({ name: '', email: '', password: '', team: '' });
	const set = (name) => (value) => setValues((before) => ({ ...before, [name]: value }));
	const form = useForm(async () => {
		await api.post('/auth/setup', { code, email: values.email.trim(), password: values.password, name: values.name.trim(), team: values.team.trim() }, { team: null });
		go('/setup', { replace: true }); // the code is of no use any more
		await arrive();
		next();
	});
	if (form.error?.status === 404) return html`<${Over} title=${t('setup.there')} text=${t('setup.thereText')} command="mailer users link EMAIL" />`;
	if (form.error?.status === 403 || !code) return html`<${Over} title=${t(code ? 'setup.used' : 'setup.missing')} text=${t('setup.usedText')} command="mailer users setup" />`;
	return html`<${Gate} wide title=${t('setup.title')} onSubmit=${form.submit}><${Top} progress=${progress} of="you" />
	<${Said} form=${form} fields=${['name', 'email', 'password', 'team']} />
	<div class="setup-fields"><${Input} label=${t('setup.you.name')} autocomplete="name" value=${values.name} onInput=${set('name')} error=${about(form.error, 'name')} autofocus />
	<${Input} label=${t('setup.you.team')} autocomplete="organization" value=${values.team} onInput=${set('team')} hint=${t('setup.you.teamHint')} error=${about(form.error, 'team')} />
	<${Input} label=${t('signIn.email')} type="email" autocomplete="username" required value=${values.email} onInput=${set('email')} error=${about(form.error, 'email')} />
	<${Input} label=${t('signIn.password')} type="password" autocomplete="new-password" required value=${values.password} onInput=${set('password')} hint=${t('setup.you.passwordHint')} error=${about(form.error, 'password')} /></div>
	<div class="row"><${Button} type="submit" kind="primary" busy=${form.busy}>${t('setup.you.act')}<//></div><//>`;
}

/** The remedy for an invalid code. */
const Over = ({ title, text, command }) => html`<${Gate} title=${t('setup.title')}><div class="stack stack--2"><h1>${title}</h1><p class="ink2">${text}</p></div><div class="code"><pre tabindex="0">${command}</pre></div><${Button} kind="wide" href=${`${base}/sign-in`}>${t('signIn.title')}<//><//>`;

function Factor({ next, progress }) {
	const [codes, setCodes] = useState(/** @type {string[]|null} */ (null));
	return html`<${Gate} wide title=${t('setup.title')}>${codes
		? html`${progress}<h1>${t('factor.codes')}</h1><${Codes} codes=${codes} /><div class="row"><${Button} kind="primary" onClick=${() => next()}>${t('setup.kept')}<//></div>`
		: html`<${Top} progress=${progress} of="factor" /><${TurnOn} skip=${() => next(false)} skipWord=${t('setup.skip')} done=${(made) => {
			setCodes(made);
			arrive();
		}} />`}<//>`;
}

function Relay({ next, progress }) {
	return html`<${RelayStep} next=${next} top=${html`<${Top} progress=${progress} of="relay" />`} />`;
}

function Domain({ next, progress }) {
	const [name, setName] = useState(ownDomain(me.value?.email));
	const form = useForm(async () => {
		await api.post('/domains', { name: domainIn(name) });
		next();
	});
	return html`<${Gate} wide title=${t('setup.title')} onSubmit=${form.submit}><${Top} progress=${progress} of="domain" />
	<${Said} form=${form} fields=${['name']} /><div class="setup-fields"><${Input} label=${t('setup.domain.name')} mono autocapitalize="none" spellcheck=${false} required value=${name} onInput=${setName} hint=${t('setup.domain.hint')} error=${about(form.error, 'name')} autofocus /></div>
	<div class="row"><${Button} type="submit" kind="primary" busy=${form.busy}>${t('setup.domain.act')}<//><${Button} kind="quiet" onClick=${() => next(false)}>${t('setup.skip')}<//></div><//>`;
}
