// What the pages of webhooks share: the choice of events, and a secret shown once.
import { html, useState } from './lib/core.js';
import { t } from './i18n.js';
import { Button, Check, copy } from './ui/base.js';
import { dialog, DialogBody } from './ui/float.js';

/** Events that webhooks can be told, by group. @type {[string, string[]][]} */
export const groups = [
	['email', ['email.sent', 'email.scheduled', 'email.delivered', 'email.delivery_delayed', 'email.bounced', 'email.complained', 'email.opened', 'email.clicked', 'email.failed', 'email.suppressed', 'email.received', 'email.replied', 'route.destination_paused']],
	['contact', ['contact.created', 'contact.updated', 'contact.deleted', 'contact.topics.updated', 'contact.opt_in_requested', 'contact.opt_in_confirmed', 'form.limited', 'feed.failed', 'topic.created', 'topic.updated', 'topic.deleted', 'suppression.added', 'suppression.removed']],
	['domain', ['domain.created', 'domain.updated', 'domain.deleted', 'domain.report_warning', 'deliverability.warning', 'deliverability.paused', 'quota.warning', 'quota.reached']],
];

/** The choice of events. @param {{value: string[], onChange: (events: string[]) => void}} props */
export function Events({ value, onChange }) {
	const set = new Set(value);
	const flip = (names, on) => {
		const now = new Set(set);
		for (const name of names) if (on) now.add(name);
		else now.delete(name);
		onChange([...now]);
	};
	return html`<div class="stack stack--2">${groups.map(([group, names]) => html`<fieldset class="wide"><legend class="field-label">${t(`webhooks.group.${group}`)}</legend>
		<${Check} label=${t('webhooks.all', { n: names.length })} checked=${names.every((n) => set.has(n))} onChange=${(on) => flip(names, on)} />
		<div class="events">${names.map((name) => html`<${Check} key=${name} label=${html`<span class="mono">${name}</span>`} checked=${set.has(name)} onChange=${(on) => flip([name], on)} />`)}</div></fieldset>`)}</div>`;
}

/** Shows a signing secret that was just made. @param {string} secret */
export const keepSecret = (secret) => dialog((close) => html`<${Secret} secret=${secret} close=${close} />`);

function Secret({ secret, close }) {
	const [done, setDone] = useState(false);
	return html`<${DialogBody} title=${t('webhooks.secret')} onSubmit=${() => close()} acts=${html`<${Button} type="submit">${t('webhooks.kept')}<//>`}>
		<p>${t('webhooks.secretText')}</p>
		<div class="secret"><code>${secret}</code><${Button} kind="primary" icon=${done ? 'check' : 'copy'} onClick=${async () => setDone(await copy(secret))}>${t(done ? 'ui.copied' : 'ui.copy')}<//></div><//>`;
}
