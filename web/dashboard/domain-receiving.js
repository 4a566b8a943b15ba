// Whether a domain receives mail: the switch, and what its MX record lacks.
import { html, useState } from './lib/core.js';
import { api, ApiError } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { mayAdmin } from './state.js';
import { Button, Check, Notice, Section } from './ui/base.js';
import { attempt, toast } from './ui/float.js';

/** What the server says of an MX that leads elsewhere. */
const elsewhere = /^Mail for (\S+) goes to (\S+)\. Publishing this would divert it\. Use in\.\1\.$/;

/** What the server says of a DMARC record without the address for reports. */
const silent = 'The record sends no reports to this server.';

/** What a check said of a record, in the reader's language where this page has a text for it. @param {any} r the record @returns {string} */
export function detailOf(r) {
	if (r.detail?.startsWith(silent)) return t('domain.reports.replace');
	const found = elsewhere.exec(r.detail ?? '');
	return found ? t('domain.receiving.elsewhere', { name: found[1], host: found[2] }) : r.detail ?? '';
}

/** Whether mail for the name of a record goes to another server: publishing the record would divert it. @param {any} r */
export const diverts = (r) => r.record === 'Receiving' && elsewhere.test(r.detail ?? '');

/** How receiving is: [kind, text]. @param {any} d */
function stateOf(d) {
	const r = d.records.find((one) => one.record === 'Receiving');
	if (r?.live === 'mismatch') return ['bad', detailOf(r) || t('domain.receiving.missing', { name: d.name })];
	if (d.status !== 'verified') return ['', t('domain.receiving.unverified', { name: d.name })];
	if (r?.live === 'found') return ['good', t('domain.receiving.works', { name: d.name })];
	if (r?.live === 'missing') return ['warn', t('domain.receiving.missing', { name: d.name })];
	return ['', t('domain.receiving.waits', { name: d.name })];
}

/** @param {{of: any, changed: (domain: any) => void}} props */
export function Receiving({ of: d, changed }) {
	const [wrong, say] = useState('');
	const on = d.capabilities.receiving === 'enabled';
	const patch = async (to) => changed(await api.patch(encoded`/domains/${d.id}`, { capabilities: { receiving: to ? 'enabled' : 'disabled' } }));
	const turn = async (to) => {
		say('');
		try {
			await patch(to);
			toast(t(to ? 'domain.receiving.on' : 'domain.receiving.off', { name: d.name }), { undo: () => attempt(() => patch(!to)) });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(e.message.includes('--smtp-receive') ? t('domain.receiving.noServer') : e.message);
		}
	};
	const [kind, state] = stateOf(d);
	return html`<${Section} title=${t('domain.receiving.title')}><div class="stack stack--2">
		<${Check} kind="switch" label=${t('domain.receiving.switch', { name: d.name })} checked=${on} disabled=${!mayAdmin.value} onChange=${turn} /><p class="t13r ink2 prose">${t('domain.receiving.text')}</p>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}${on && html`<${Notice} kind=${kind}>${state}<//>`}
		${!mayAdmin.value && html`<p class="t12 muted">${t('domain.askAdmin')}</p>`}
		<div class="row row--wrap">${on && html`<${Button} href=${`${base}/received`}>${t('domain.receiving.show')}<//>`}<${Button} kind="quiet" href="/manual/receiving">${t('received.manual')}<//></div></div><//>`;
}
