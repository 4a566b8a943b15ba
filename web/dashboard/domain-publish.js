// The dialog that publishes the records of a domain at its DNS provider, and the remembered token.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { mayAdmin } from './state.js';
import { encoded } from './paths.js';
import { short } from './domain-records.js';
import { Button, Check, Icon, Input, Notice, Select } from './ui/base.js';
import { attempt, DialogBody, toast } from './ui/float.js';

const names = { cloudflare: 'Cloudflare', hetzner: 'Hetzner', rfc2136: 'RFC 2136' };

/** A value as it is shown, with the priority of an MX. @param {string} value @param {number|undefined} priority */
const shown = (value, priority) => (priority ? `${priority} ${value}` : short(value));

/** The lines of a plan: what goes, what comes. @param {{of: any}} props */
function Changes({ of: plan }) {
	const line = (sign, c, value) => html`<li class=${sign === '+' ? 'is-add' : 'is-del'}><span class="n">${c.type}</span><span>${sign === '+' ? '+' : '−'}</span><span><span class="medium">${c.name}</span> ${value}</span></li>`;
	return html`<ul class="diff" aria-label=${t('domain.publish.changes')}>${plan.changes.map((c) => html`${c.before && line('-', c, shown(c.before, c.before_priority))}${c.after && line('+', c, shown(c.after, c.priority))}`)}</ul>`;
}

/** Shows the changes and then makes them; closes with whether they were made. @param {{close: (answer?: any) => void, of: any}} props */
export function PublishRecords({ close, of: d }) {
	const [provider, setProvider] = useState(d.dns ? '' : 'cloudflare');
	const [token, setToken] = useState('');
	const [reports, setReports] = useState('');
	const [remember, setRemember] = useState(false);
	const [plan, setPlan] = useState(/** @type {any} */ (null));
	const [wrong, say] = useState('');
	const [busy, setBusy] = useState(false);
	const ask = async (id) => {
		if (busy) return;
		setBusy(true);
		say('');
		const body = { ...(provider && { provider, token: token.trim(), remember }), ...(reports.trim() && { dmarc_reports: reports.trim() }), ...(id && { plan: id }) };
		try {
			const got = await api.post(encoded`/domains/${d.id}/publish`, body);
			if (!id) setPlan(got);
			else {
				toast(t('domain.publish.done', { n: got.changes.length }));
				close(true);
			}
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(e.message);
			setPlan(null); // what was shown may be partly written
		} finally {
			setBusy(false);
		}
	};
	const title = t('domain.publish.title', { name: d.name });
	const refusal = wrong && html`<${Notice} kind="bad">${wrong}<//>`;
	if (plan) {
		const useful = plan.changes.length > 0 || remember;
		return html`<${DialogBody} title=${title} onSubmit=${() => useful && ask(plan.plan)} acts=${html`<${Button} kind="quiet" onClick=${() => setPlan(null)}>${t('domain.publish.back')}<//>${useful ? html`<${Button} type="submit" kind="primary" busy=${busy}>${t('domain.publish.apply')}<//>` : html`<${Button} kind="primary" onClick=${() => close()}>${t('ui.close')}<//>`}`}>
		${plan.changes.length ? html`<${Changes} of=${plan} />` : html`<p>${t('domain.publish.nothing')}</p>`}
		${plan.conflicts.map((c) => html`<p class="row"><${Icon} name="alert" class="warn" /><span class="break">${t('domain.publish.conflict', { reason: c.reason })}</span></p>`)}<//>`;
	}
	const options = [...(d.dns ? [['', t('domain.publish.remembered', { provider: names[d.dns.provider] })]] : []), ['cloudflare', names.cloudflare], ['hetzner', names.hetzner]];
	return html`<${DialogBody} title=${title} onSubmit=${() => ask('')} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" busy=${busy}>${t('domain.publish.show')}<//>`}>
		<p>${t('domain.publish.text')}</p>
		${refusal}
		<${Select} label=${t('domain.publish.provider')} value=${provider} onChange=${setProvider} options=${options} />
		${provider && html`<${Input} label=${t('domain.publish.token')} hint=${t(`domain.publish.${provider}`)} type="password" autocomplete="off" value=${token} onInput=${setToken} required mono />
		<${Check} label=${t('domain.publish.remember')} checked=${remember} onChange=${setRemember} />`}
		<${Input} label=${t('domain.publish.reports')} hint=${t('domain.publish.reportsHint')} type="email" value=${reports} onInput=${setReports} /><//>`;
}

/** Says that a token is remembered, and forgets it. @param {{of: any, changed: (d: any) => void}} props */
export function RememberedToken({ of: d, changed }) {
	if (!d.dns) return null;
	const forget = () => attempt(async () => {
		await api.del(encoded`/domains/${d.id}/publish/token`);
		changed({ ...d, dns: null });
	}, t('domain.publish.forgotten'));
	return html`<div class="domain-note"><${Notice} icon="lock" act=${mayAdmin.value && html`<${Button} onClick=${forget}>${t('domain.publish.forget')}<//>`}>${t('domain.publish.kept', { provider: names[d.dns.provider] })}<//></div>`;
}
