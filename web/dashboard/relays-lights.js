// Relays as status lights with texts.
import { html } from './lib/core.js';
import { relays } from './counts.js';
import { clock, number, relative } from './format.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { Bones, Status } from './ui/base.js';

/** The full name of a relay. @param {any} r */
export const nameOf = (r) => r.name ?? r.region;

/** What names one relay of a region with reserves in the API; nothing for a relay that is alone. @param {any} r */
export const only = (r) => (r.sent_hour === undefined && !r.name ? {} : { name: nameOf(r) });

/** The state of a relay in a line. @param {any} r */
export function doing(r) {
	const parts = [];
	if (r.reason) parts.push(r.reason);
	if (r.since && r.state !== 'open') parts.push(t('relays.since', { at: clock(r.since) }));
	if (r.next_try && r.state === 'failing') parts.push(t('relays.nextProbe', { span: relative(r.next_try) }));
	if (r.state === 'open') parts.push(r.rate ? t('relays.rate', { n: r.rate }) : t('relays.noRate'));
	if (r.daily) parts.push(t('relays.today', { used: r.daily_used, of: r.daily }));
	return parts.join(' · ');
}

/** A relay as a line of a list. @param {{of: any}} props */
export const Light = ({ of: r }) => html`<li><span class="grow"><${Status} of=${r.state} /> <a class="mono" href=${base + encoded`/operator/relays?relay=${nameOf(r)}`}>${nameOf(r)}</a><br /><span class="t12 muted break">${doing(r)}</span></span><span class="num t12 muted">${r.waiting ? t('relays.wait', { n: number(r.waiting) }) : t('relays.noneWaits')}</span></li>`;

/** All relays. */
export function Relays() {
	if (!relays.value) return html`<${Bones} rows=${2} />`;
	if (!relays.value.length) return html`<p class="muted">${t('relays.none')}</p>`;
	return html`<ul class="items">${relays.value.map((r) => html`<${Light} key=${nameOf(r)} of=${r} />`)}</ul>`;
}
