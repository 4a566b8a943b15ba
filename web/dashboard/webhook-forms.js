// The dialogs of a webhook: change it, test it, tell it again, a new secret.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { Button, Check, Code, Input, Notice, Select } from './ui/base.js';
import { DialogBody, toast } from './ui/float.js';
import { Events } from './webhook-parts.js';

const refused = (e, say) => {
	if (!(e instanceof ApiError)) throw e;
	say(e.message);
};

const Acts = ({ close, act, disabled }) => html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${disabled}>${act}<//>`;

/** Changes endpoint and events; closes with the webhook. @param {{close: (answer?: any) => void, of: any}} props */
export function EditWebhook({ close, of }) {
	const [endpoint, setEndpoint] = useState(of.endpoint);
	const [events, setEvents] = useState(of.events);
	const [wrong, say] = useState('');
	const send = () => api.patch(encoded`/webhooks/${of.id}`, { endpoint: endpoint.trim(), events }).then(close, (e) => refused(e, say));
	return html`<${DialogBody} title=${t('webhook.edit')} onSubmit=${send} acts=${html`<${Acts} close=${close} act=${t('ui.save')} disabled=${!events.length} />`}>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${Input} label=${t('webhooks.endpoint')} type="url" value=${endpoint} onInput=${setEndpoint} required autofocus />
		<${Events} value=${events} onChange=${setEvents} /><//>`;
}

/** Sends an event that is made up, and shows the answer. @param {{close: (answer?: any) => void, of: any}} props */
export function TestEvent({ close, of }) {
	const sent = of.events.filter((/** @type {string} */ name) => !of.events_not_sent?.includes(name));
	const [event, setEvent] = useState(sent[0]);
	const [got, setGot] = useState(/** @type {any} */ (null));
	const [wrong, say] = useState('');
	const [busy, setBusy] = useState(false);
	const send = async () => {
		setBusy(true);
		say('');
		await api.post(encoded`/webhooks/${of.id}/test`, { event }).then(setGot, (e) => refused(e, say));
		setBusy(false);
	};
	return html`<${DialogBody} title=${t('webhook.test')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.close')}<//><${Button} type="submit" kind="primary" icon=${busy ? undefined : 'send'} disabled=${busy}>${t(busy ? 'webhook.sending' : 'webhook.send')}<//>`}>
		<p>${t('webhook.testText')}</p>
		<${Select} label=${t('webhook.event')} value=${event} onChange=${setEvent} options=${sent.map((/** @type {string} */ e) => [e, e])} />
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		${got && html`<${Notice} kind=${got.ok ? 'good' : 'bad'}>${got.status ? t(got.ok ? 'webhook.testOk' : 'webhook.testBad', { status: String(got.status), ms: got.ms }) : t('webhook.testNone', { ms: got.ms })}<//>${got.response && html`<${Code} name=${t('webhook.body')} code=${got.response} />`}`}<//>`;
}

/** Tells it again: what failed, or all since a time. Closes with whether anything is told. @param {{close: (answer?: any) => void, of: any}} props */
export function Replay({ close, of }) {
	const [what, setWhat] = useState('failed');
	const [since, setSince] = useState(new Date(Date.now() - 86_400_000 - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 16));
	const [wrong, say] = useState('');
	const send = async () => {
		try {
			const body = what === 'failed' ? { failed: true } : { since: new Date(since).toISOString() };
			let queued = 0;
			// One request looks at some; it says where the next goes on.
			for (let after; ;) {
				const part = await api.post(encoded`/webhooks/${of.id}/replay`, { ...body, after });
				queued += part.queued;
				if (!part.has_more || !part.searched_to) break;
				after = part.searched_to;
			}
			toast(t(queued ? 'webhook.replaying' : 'webhook.replayNone', { n: queued }), { kind: queued ? 'good' : 'info' });
			close(queued > 0);
		} catch (e) {
			refused(e, say);
		}
	};
	return html`<${DialogBody} title=${t('webhook.replayMany')} onSubmit=${send} acts=${html`<${Acts} close=${close} act=${t('webhook.replayAct')} />`}>
		<p>${t('webhook.replayText')}</p>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<div><${Check} kind="radio" name="what" label=${t('webhook.replayFailed')} checked=${what === 'failed'} onChange=${() => setWhat('failed')} /></div>
		<div><${Check} kind="radio" name="what" label=${t('webhook.replaySince')} checked=${what === 'since'} onChange=${() => setWhat('since')} /></div>
		${what === 'since' && html`<${Input} label=${t('webhook.since')} type="datetime-local" value=${since} onInput=${setSince} required />`}<//>`;
}

/** Makes a new signing secret; closes with it. @param {{close: (answer?: any) => void, of: any}} props */
export function RotateSecret({ close, of }) {
	const [hours, setHours] = useState('24');
	const [wrong, say] = useState('');
	const send = () => api.post(encoded`/webhooks/${of.id}/signing-secret/rotate`, { overlap_hours: Number(hours) }).then((done) => close(done.signing_secret), (e) => refused(e, say));
	return html`<${DialogBody} title=${t('webhook.rotate')} onSubmit=${send} acts=${html`<${Acts} close=${close} act=${t('webhook.rotateAct')} />`}>
		<p>${t('webhook.rotateText')}</p>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${Select} label=${t('webhook.overlap')} value=${hours} onChange=${setHours} options=${['0', '1', '24', '72'].map((h) => [h, h === '0' ? t('webhook.atOnce') : t('webhook.hours', { n: Number(h) })])} /><//>`;
}
