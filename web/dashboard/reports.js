// Provider events, for operators: the endpoints for bounces and complaints.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { useGet } from './api.js';
import { find, t } from './i18n.js';
import { base } from './router.js';
import { Bones, Button, Copy, Facts, Failed, Head, Icon, Section, Sections, Status, Time } from './ui/base.js';

/** The links that relays and incoming reports share. @param {{at: string}} props */
export const RelaySections = ({ at }) => html`<${Sections} label=${t('reports.sections')} at=${base + at} links=${[[t('relays.title'), `${base}/operator/relays`], [t('reports.title'), `${base}/operator/reports`]]} />`;

/** The status of an endpoint: kind and text. @param {any} r */
function stateOf(r) {
	if (!r.open) return ['not_started', t('reports.closed')];
	if (r.last_refused_at && (!r.last_seen_at || r.last_refused_at > r.last_seen_at)) return ['pending', t('reports.refusing')];
	return r.last_seen_at ? ['ok', t('reports.working')] : ['not_started', t('reports.silent')];
}

/** The secrets of an address, its password and its end, show when asked for. @param {string} address */
const hidden = (address) => address.replace(/:[^/@]+@/, ':••••••••@').replace(/[^/]{12,}$/, '••••••••');

function Route({ of: r }) {
	const [shown, show] = useState(false);
	const box = useRef(/** @type {any} */ (null));
	useEffect(() => {
		if (location.hash !== `#${r.source}`) return;
		box.current.querySelector('details').open = true;
		box.current.scrollIntoView();
	}, []);
	const [kind, word] = stateOf(r);
	const secret = r.address && r.source !== 'ses' && r.source !== 'bounces';
	const steps = (find(`reports.steps.${r.source}`) ?? t(`reports.stepsBy.${r.authentication === 'password' && !r.password ? 'inURL' : r.authentication}`, { source: r.source })).split('\n');
	return html`<div ref=${box}><${Section} title=${r.name ?? t(`reports.name.${r.source}`)} acts=${html`<${Status} of=${kind} word=${word} />`}><div class="stack stack--2"><div class="wide"><${Facts} pairs=${[
		[t('reports.address'), r.address ? html`<${Copy} text=${r.address} show=${secret && !shown ? hidden(r.address) : r.address} shown />${secret && html` <${Button} kind="quiet" onClick=${() => show(!shown)}>${t(shown ? 'reports.hide' : 'reports.show')}<//>`}` : html`<span class="muted">${t('reports.noAddress')}</span>`],
		[t('signIn.password'), r.password && html`<${Copy} text=${r.password} show=${shown ? r.password : '••••••••'} shown />`],
		[t('reports.seen'), html`<${Time} at=${r.last_seen_at} />`],
		[t('reports.refused'), r.last_refused_at && html`<${Time} at=${r.last_refused_at} />${r.last_refused && html`<span class="break">: ${r.last_refused}</span>`}`],
	]} /></div><details class="fold"><summary><${Icon} name="right" />${t('reports.how')}</summary><ol class="reports-steps t13r ink2 prose">${steps.map((s) => html`<li>${s}</li>`)}</ol>${!find(`reports.steps.${r.source}`) && html`<p class="t13r"><a href=${`/manual/provider-webhooks#${r.name.toLowerCase().replaceAll(' ', '-')}`}>${t('reports.manual', { name: r.name })}</a></p>`}</details></div><//></div>`;
}

/** The page. */
export default function Reports() {
	const got = useGet('/ingest', undefined, { every: 15 });
	const top = html`<${Head} title=${t('reports.title')} /><${RelaySections} at="/operator/reports" />`;
	if (got.error && !got.data) return html`${top}<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`${top}<${Bones} />`;
	return html`${top}<div class="page page--text"><p class="t13r ink2 prose reports-intro">${t('reports.intro')}</p>${got.data.data.map((r) => html`<${Route} key=${r.source} of=${r} />`)}</div>`;
}
