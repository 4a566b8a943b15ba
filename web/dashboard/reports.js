// Provider events, for operators: the endpoints for bounces and complaints.
import { html, useState } from './lib/core.js';
import { useGet } from './api.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { Bones, Button, Copy, Facts, Failed, Head, Icon, Section, Sections, Status, Time } from './ui/base.js';

const names = { ses: 'Amazon SES', postmark: 'Postmark', mailgun: 'Mailgun', sendgrid: 'SendGrid' };

/** The links that relays and incoming reports share. @param {{at: string}} props */
export const RelaySections = ({ at }) => html`<${Sections} label=${t('reports.sections')} at=${base + at} links=${[[t('relays.title'), `${base}/operator/relays`], [t('reports.title'), `${base}/operator/reports`]]} />`;

/** The status of an endpoint: kind and text. @param {any} r */
function stateOf(r) {
	if (!r.open) return ['not_started', t('reports.closed')];
	if (r.last_refused_at && (!r.last_seen_at || r.last_refused_at > r.last_seen_at)) return ['pending', t('reports.refusing')];
	return r.last_seen_at ? ['ok', t('reports.working')] : ['not_started', t('reports.silent')];
}

/** A secret at an address's end shows when asked for. @param {string} address */
const hidden = (address) => address.replace(/[^/]{12,}$/, '••••••••');

function Route({ of: r }) {
	const [shown, show] = useState(false);
	const [kind, word] = stateOf(r);
	const secret = r.address && r.source !== 'ses' && r.source !== 'bounces';
	const steps = t(`reports.steps.${r.source}`).split('\n');
	return html`<${Section} title=${names[r.source] ?? t(`reports.name.${r.source}`)} acts=${html`<${Status} of=${kind} word=${word} />`}><div class="stack stack--2"><div class="wide"><${Facts} pairs=${[
		[t('reports.address'), r.address ? html`<${Copy} text=${r.address} show=${secret && !shown ? hidden(r.address) : r.address} shown />${secret && html` <${Button} kind="quiet" onClick=${() => show(!shown)}>${t(shown ? 'reports.hide' : 'reports.show')}<//>`}` : html`<span class="muted">${t('reports.noAddress')}</span>`],
		[t('reports.seen'), html`<${Time} at=${r.last_seen_at} />`],
		[t('reports.refused'), r.last_refused_at && html`<${Time} at=${r.last_refused_at} />${r.last_refused && html`<span class="break">: ${r.last_refused}</span>`}`],
	]} /></div><details class="fold"><summary><${Icon} name="right" />${t('reports.how')}</summary><ol class="reports-steps t13r ink2 prose">${steps.map((s) => html`<li>${s}</li>`)}</ol></details></div><//>`;
}

/** The page. */
export default function Reports() {
	const got = useGet('/ingest', undefined, { every: 15 });
	const top = html`<${Head} title=${t('reports.title')} /><${RelaySections} at="/operator/reports" />`;
	if (got.error && !got.data) return html`${top}<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`${top}<${Bones} />`;
	return html`${top}<div class="page page--text"><p class="t13r ink2 prose reports-intro">${t('reports.intro')}</p>${got.data.data.map((r) => html`<${Route} key=${r.source} of=${r} />`)}</div>`;
}
