// The relay step of the setup: the provider's data, tested step by step.
import { html, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { number } from './format.js';
import { find, t } from './i18n.js';
import { Gate, Said, useForm } from './gate.js';
import { encoded } from './paths.js';
import { emptyRelay, RelayFields, relayURL } from './relay-form.js';
import { Button, Status } from './ui/base.js';

/** The page of the step. next gets whether the relay works. @param {{next: (works: boolean) => void, top: any}} props */
export function RelayStep({ next, top }) {
	const relays = useGet('/relays', {}, { team: null });
	const [values, setValues] = useState(emptyRelay);
	const [tried, setTried] = useState(/** @type {any} */ (null));
	const given = relays.data?.data.find((r) => r.from === 'flag');
	const form = useForm(async () => {
		setTried(null);
		const { region } = given ?? await api.post('/relays', { url: relayURL(values) }, { team: null });
		setTried(await api.post(encoded`/relays/${region}/test`, {}, { team: null }));
	});
	if (!relays.data && !relays.error) return html`<${Gate} wide title=${t('setup.title')}>${top}<//>`;
	return html`<${Gate} wide title=${t('setup.title')} onSubmit=${tried?.ok ? () => next(true) : form.submit}>${top}<${Said} form=${form} />
	${given ? html`<p class="prose">${t('setup.relay.given', { host: given.host })}</p>` : html`<div class="setup-fields"><${RelayFields} values=${values} set=${(some) => setValues((before) => ({ ...before, ...some }))} error=${form.error} /></div>`}
	${tried && html`<${Trial} tried=${tried} given=${given} />`}
	<div class="row">${tried?.ok ? html`<${Button} type="submit" kind="primary">${t('setup.next')}<//>` : html`<${Button} type="submit" kind="primary" busy=${form.busy}>${t(tried ? 'setup.relay.again' : given ? 'setup.relay.test' : 'setup.relay.act')}<//><${Button} kind="quiet" onClick=${() => next(false)}>${t(tried ? 'setup.relay.keep' : 'setup.skip')}<//>`}</div><//>`;
}

/** How a trial of a relay went. @param {{tried: any, given?: any}} props */
function Trial({ tried, given }) {
	const failed = tried.steps.find((step) => !step.ok);
	return html`<div class="stack stack--2" role="status"><h2>${tried.ok ? t('setup.relay.works') : t('setup.relay.fails', { step: t(`setup.relay.steps.${failed?.step ?? 'connect'}`) })}</h2>
	${failed && find(`setup.relay.fixes.${failed.step}`) && html`<p class="ink2">${t(`setup.relay.fixes.${failed.step}`)}${given && html` ${t('setup.relay.givenFix')}`}</p>`}
	<table class="table wide"><tbody>${tried.steps.map((step) => html`<tr><td><${Status} of=${step.ok ? 'ok' : 'bad'} word=${t(`setup.relay.steps.${step.step}`)} /></td><td class="break mono t12">${step.said}</td><td class="num muted">${number(step.ms)} ms</td></tr>`)}</tbody></table></div>`;
}
