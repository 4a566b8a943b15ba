// The actions on an email.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { clock, exact } from './format.js';
import { t } from './i18n.js';
import { base, go } from './router.js';
import { timeOf } from './emails-query.js';
import { curlOf } from './email-parts.js';
import { encoded } from './paths.js';
import { Button, copy, Field, Input, Select } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, Menu, toast } from './ui/float.js';

/** The acts of the page's head. @param {{email: any, people: any[], reload: () => Promise<any>}} props */
export function Acts({ email, people, reload }) {
	const waits = people.some((p) => ['deferred', 'queued', 'held', 'scheduled'].includes(p.state));
	const scheduled = email.last_event === 'scheduled';
	const held = email.state === 'held';
	const act = (path, word, options) => attempt(async () => {
		const result = await api.post(encoded`/emails/${email.id}/${path}`);
		await reload();
		return result;
	}, word && t(word), options);
	const cancel = async () => {
		if (await confirm({ title: t('email.cancelTitle'), text: t('email.cancelText'), act: t('email.cancel') })) await act('cancel', 'email.canceled');
	};
	const remove = async () => {
		if (!(await confirm({ title: t('email.deleteTitle'), text: t(waits ? 'email.deleteWaits' : 'email.deleteText'), act: t('email.delete') }))) return;
		if (await attempt(() => api.del(encoded`/emails/${email.id}`), t('email.deleted'))) go('/emails');
	};
	const retry = () => act('retry', 'email.retried');
	const release = () => attempt(async () => {
		const result = await api.post('/queue/release', { ids: [email.id] });
		await reload();
		return result;
	}, (result) => (result.changed ? t('queue.done.release', { n: result.changed }) : t('queue.done.nothing')));
	const gone = email.html === null && email.text === null && !email.attachments.length; // its content was deleted, or never kept
	const lone = people.length === 1 && people[0].state === 'suppressed';
	return html`${held && html`<${Button} icon="play" kind="primary" onClick=${release}>${t('queue.verbs.release')}<//>`}${waits && !scheduled && !held && html`<${Button} icon="refresh" onClick=${retry}>${t('email.retry')}<//>`}${scheduled && html`<${Button} icon="edit" onClick=${() => reschedule(email, reload)}>${t('email.reschedule')}<//>`}
	${!email.broadcast_id && !scheduled && !gone && html`<${Button} icon="send" class="hide-s" onClick=${() => resend(email)}>${t('email.resend')}<//>`}
	<${Menu} label=${t('ui.acts')} items=${[
		!email.broadcast_id && !gone && { icon: 'send', name: t('email.resend'), run: () => resend(email) },
		{ icon: 'link', name: t('email.share'), run: () => share(email) },
		{ icon: 'code', name: t('email.curl'), run: async () => toast((await copy(curlOf(email))) ? t('email.curlCopied') : t('email.notCopied')) },
		...(lone ? [] : people.filter((p) => ['suppressed', 'bounced', 'complained'].includes(p.state)).slice(0, 5).map((p) => ({ icon: 'shield', name: t('email.liftOf', { address: p.address }), run: () => lift(p.address) }))),
		null,
		waits && { icon: 'x', name: t('email.cancel'), danger: true, run: cancel },
		{ icon: 'trash', name: t('email.delete'), danger: true, run: remove },
	]} />`;
}

/** Sends an email once more, to its recipients or to others. */
async function resend(email) {
	const id = await dialog((close) => html`<${Resend} email=${email} close=${close} />`);
	if (typeof id === 'string') {
		toast(t('email.resent'));
		go(encoded`/emails/${id}`);
	}
}

function Resend({ email, close }) {
	const [to, setTo] = useState(email.to.join(', '));
	const [wrong, setWrong] = useState('');
	const send = async () => {
		try {
			const list = to.split(/,(?![^<"]*[">])/).map((a) => a.trim()).filter(Boolean);
			const same = list.join() === email.to.join();
			close((await api.post(encoded`/emails/${email.id}/resend`, same ? undefined : { to: list }, { headers: { 'Idempotency-Key': crypto.randomUUID() } })).id);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('email.resendTitle')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('email.resend')}<//>`}><p>${t('email.resendText')}</p><${Input} label=${t('email.to')} value=${to} onInput=${setTo} error=${wrong} autofocus /><//>`;
}

async function reschedule(email, reload) {
	if (await dialog((close) => html`<${Reschedule} email=${email} close=${close} />`)) {
		toast(t('email.rescheduled'));
		await reload();
	}
}

function Reschedule({ email, close }) {
	const [when, setWhen] = useState('');
	const [wrong, setWrong] = useState('');
	const local = timeOf(when);
	const hint = local && local > new Date() ? exact(local) : t('email.rescheduleHint', { at: clock(email.scheduled_at) });
	const save = async () => {
		try {
			await api.patch(encoded`/emails/${email.id}`, { scheduled_at: local && local > new Date() ? local.toISOString() : when });
			close(true);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('email.reschedule')} onSubmit=${save} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!when.trim()}>${t('email.reschedule')}<//>`}><${Input} label=${t('email.when')} placeholder="tomorrow at 9am" value=${when} onInput=${(v) => {
		setWhen(v);
		setWrong('');
	}} hint=${hint} error=${wrong} autofocus /><//>`;
}

const share = (email) => dialog((close) => html`<${Share} email=${email} close=${close} />`);

function Share({ email, close }) {
	const [span, setSpan] = useState('24h');
	const [url, setUrl] = useState('');
	const make = () => attempt(async () => setUrl((await api.post(encoded`/emails/${email.id}/share`, { expires_in: span })).url));
	return html`<${DialogBody} title=${t('email.share')} onSubmit=${url ? () => close() : make} acts=${url ? html`<${Button} type="submit" kind="primary">${t('ui.close')}<//>` : html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('email.makeLink')}<//>`}>
		<p>${t('email.shareText')}</p>${url ? html`<${Field} label=${t('email.link')}>${(attributes) => html`<span class="row"><input class="input mono" readonly value=${url} onFocus=${(e) => e.currentTarget.select()} ...${attributes} /><${Button} icon="copy" label=${t('ui.copy')} onClick=${async () => {
			if (await copy(url)) toast(t('ui.copied'));
		}} /></span>`}<//>` : html`<${Select} label=${t('email.validFor')} value=${span} onChange=${setSpan} options=${['1h', '24h', '48h'].map((s) => [s, t(`email.spans.${s}`)])} />`}<//>`;
}

/** Removes a suppression, after a warning that names its reason. @param {string} address */
export async function lift(address) {
	const found = await attempt(() => api.get(encoded`/suppressions/${address}`));
	if (!found) return;
	const cause = found.source_id && html` <a class="link" href=${base + encoded`/emails/${found.source_id}`} target="_blank" rel="noopener">${t('email.cause')}</a>`;
	if (!(await confirm({ title: t('email.liftTitle', { address }), text: html`${t(`email.origins.${found.origin}`)}${cause} ${t('email.liftText')}`, act: t('email.lift') }))) return;
	await attempt(() => api.post('/suppressions/batch/remove', { emails: [address] }), t('email.lifted', { address }));
}
