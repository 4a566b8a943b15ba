// A sign-in link: it counts once, so that nothing but a person's click uses it up.
import { html, useState } from './lib/core.js';
import { api } from './api.js';
import { say, t } from './i18n.js';
import { enter, Gate, Said, useForm } from './gate.js';
import { base, place } from './router.js';
import { AskFactor } from './second-factor.js';
import { Button } from './ui/base.js';

/** The page. */
export default function Link() {
	const to = place.value.query.get('to') ?? '/account?part=sign-in';
	const [factors, setFactors] = useState(/** @type {string[]|null} */ (null));
	const form = useForm(async () => {
		const answer = await api.post('/auth/link', { code: place.value.hash }, { team: null });
		if (answer.second_factor?.length) setFactors(answer.second_factor);
		else await enter(to);
	});
	if (factors) return html`<${AskFactor} factors=${factors} done=${() => enter(to)} back=${() => location.assign(`${base}/sign-in`)} />`;
	const used = form.error?.status === 403 || !place.value.hash;
	return html`<${Gate} title=${t('link.title')} onSubmit=${form.submit}><div class="stack stack--2"><h1>${t(used ? 'link.used' : 'link.title')}</h1><p class="ink2">${used ? say('link.usedText', { command: html`<code>mailer users link EMAIL</code>` }) : t('link.text')}</p></div>
	${used ? html`<${Button} kind="wide" href=${`${base}/sign-in`}>${t('signIn.title')}<//>` : html`<${Said} form=${form} /><${Button} type="submit" kind="primary wide" busy=${form.busy} autofocus>${t('signIn.act')}<//>`}<//>`;
}
