// A relay is added, and tried step by step before anybody waits for it.
import { html, useEffect, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { emptyRelay, RelayFields, relayURL } from './relay-form.js';
import { Button, Input, Notice, Status } from './ui/base.js';
import { dialog, DialogBody } from './ui/float.js';

const order = ['dns', 'connect', 'tls', 'greeting', 'auth', 'mail', 'send'];

/** The steps of a test, one by one; steps that did not run are pending. @param {{test: any}} props */
export function Steps({ test }) {
	const [n, setN] = useState(0);
	const all = test.steps ?? [];
	useEffect(() => {
		if (test.running) setN(0);
		else if (n < all.length) {
			const timer = setTimeout(() => setN(n + 1), 120);
			return () => clearTimeout(timer);
		}
		return undefined;
	}, [n, test]);
	if (test.running) return html`<p class="row muted" role="status"><span class="spin"></span>${t('relays.testing')}</p>`;
	const done = all.slice(0, n);
	const failed = all.some((s) => !s.ok);
	const left = failed && n === all.length ? order.slice(order.indexOf(all[all.length - 1].step) + 1).filter((step) => step !== 'send' && !all.some((s) => s.step === step)) : [];
	return html`<table class="table table--top" aria-live="polite"><thead class="vh"><tr><th>${t('relays.result')}</th><th>${t('relays.step')}</th><th>${t('relays.words')}</th><th>${t('relays.took')}</th></tr></thead><tbody>
	${done.map((s) => html`<tr key=${s.step}><td><${Status} of=${s.ok ? 'good' : 'failed'} /></td><td class="medium nowrap">${t(`relays.steps.${s.step}`)}</td><td class="break"><span class=${s.ok ? '' : 'mono bad'}>${s.said}</span></td><td class="num muted nowrap">${t('email.ms', { ms: s.ms })}</td></tr>`)}
	${left.map((step) => html`<tr key=${step}><td><${Status} of="neutral" word=${t('relays.notRun')} /></td><td class="medium nowrap">${t(`relays.steps.${step}`)}</td><td></td><td class="num muted">–</td></tr>`)}</tbody></table>`;
}

/** Asks for a relay and tries it; resolves to its name. With a region it is a reserve of that one. */
export const addDialog = (region = '') => dialog((close) => html`<${Add} to=${region} close=${close} />`);

function Add({ to, close }) {
	const [form, setForm] = useState({ ...emptyRelay, region: to, name: '' });
	const [wrong, setWrong] = useState('');
	const [test, setTest] = useState(/** @type {any} */ (null));
	const [region, setRegion] = useState('');
	const set = (some) => setForm((before) => ({ ...before, ...some }));
	const add = async () => {
		setWrong('');
		try {
			const added = await api.post('/relays', { region: form.region.trim() || undefined, ...(to && { name: form.name.trim(), reserve: true }), url: relayURL(form) }, { team: null });
			setRegion(added.region);
			setTest({ running: true });
			setTest(await api.post(encoded`/relays/${to || added.region}/test`, undefined, { team: null, query: to ? { name: added.region } : {} }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setTest(null);
			setWrong(e.message);
		}
	};
	if (test) return html`<${DialogBody} title=${region} onSubmit=${() => close(region)} acts=${test.running ? '' : html`${!test.ok && html`<${Button} kind="quiet" onClick=${() => setTest(null)}>${t('relays.mend')}<//>`}<${Button} type="submit" kind="primary">${t('relays.done')}<//>`}><${Steps} test=${test} />${!test.running && html`<${Notice} kind=${test.ok ? 'good' : 'warn'}>${t(test.ok ? 'relays.works' : 'relays.worksNot')}<//>`}<//>`;
	return html`<${DialogBody} title=${to ? t('relays.regions.addTo', { region: to }) : t('relays.add')} onSubmit=${add} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!form.host.trim() || (to && !form.name.trim())}>${t('relays.addAct')}<//>`}>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${RelayFields} values=${form} set=${set} reports />
		${to ? html`<${Input} label=${t('relays.name')} mono required value=${form.name} onInput=${(name) => set({ name })} placeholder="postmark" hint=${t('relays.regions.nameHint')} autocomplete="off" />` : html`<${Input} label=${t('relays.name')} mono value=${form.region} onInput=${(region) => set({ region })} placeholder="eu-west-1" hint=${t('relays.nameHint')} autocomplete="off" />`}<//>`;
}
