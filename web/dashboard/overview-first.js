// The steps until the first email has arrived: each names the problem and the next command.
import { html, signal } from './lib/core.js';
import { useGet } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { mayAdmin, me } from './state.js';
import { addDialog } from './relays-add.js';
import { sendDialog } from './send.js';
import { Button, Icon } from './ui/base.js';

/** The step of the relay: operators see it, others have it of the operator. */
function relayStep(got) {
	if (!me.value.operator) return null;
	const relays = got.data?.data ?? [];
	const good = relays.find((r) => r.state === 'open' || r.state === 'resting');
	const bad = relays.find((r) => r.state === 'failing' || r.state === 'paused');
	const test = (kind) => html`<${Button} kind=${kind} href=${base + encoded`/operator/relays?relay=${good.region}`}>${t('overview.steps.relayTest')}<//>`;
	const change = html`<a class="link t13r" href=${base + '/operator/relays'}>${t('overview.steps.change')}</a>`;
	if (good?.last_test?.ok) return { name: 'relay', done: true, text: html`<span class="mono">${good.host}</span> ${t('overview.steps.relayDone')}`, act: change };
	if (good?.last_test) return { name: 'relay', bad: true, text: html`<span class="mono">${good.host}</span>: ${good.last_test.said}`, act: (kind) => html`<${Button} kind=${kind} href=${base + encoded`/operator/relays?relay=${good.region}`}>${t('overview.steps.relayMend')}<//>` };
	if (good) return { name: 'relay', text: html`<span class="mono">${good.host}</span> ${t('overview.steps.relayUntested')}`, act: test };
	if (bad) return { name: 'relay', bad: true, text: html`<span class="mono">${bad.host}</span>: ${bad.reason ?? t(`status.${bad.state}`)}`, act: (kind) => html`<${Button} kind=${kind} href=${base + encoded`/operator/relays?relay=${bad.region}`}>${t('overview.steps.relayMend')}<//>` };
	return { name: 'relay', text: html`${t('overview.steps.relayText')} <code>mailer relays add eu-west-1 --url-file FILE</code>`, act: (kind) => html`<${Button} kind=${kind} onClick=${async () => {
		await addDialog();
		await got.reload();
	}}>${t('relays.add')}<//>` };
}

/** The step of the DNS: which records are missing or wrong, each with its name. */
function dnsStep(domain, got) {
	if (!domain) return { name: 'dns', text: t('overview.steps.dnsText') };
	const open = html`<a class="link t13r" href=${base + encoded`/domains/${domain.id}`}>${t('overview.steps.open')}</a>`;
	if (domain.status === 'verified') return { name: 'dns', done: true, text: t('overview.steps.dnsDone'), act: open };
	const records = got.data?.records ?? [];
	const left = records.filter((r) => r.status !== 'verified');
	const looked = left.some((r) => r.live === 'missing' || r.live === 'mismatch'); // else nothing was found out yet
	return { name: 'dns', bad: domain.status === 'failed', title: looked ? t('overview.steps.dnsLeft', { n: left.length, all: records.length }) : undefined, text: html`${t('overview.steps.dnsWrong')} ${left.slice(0, 3).map((r, i) => html`${i ? ', ' : ''}${r.record ?? r.type} <span class="mono">${r.name}</span>`)}`, act: (kind) => html`<${Button} kind=${kind} href=${base + encoded`/domains/${domain.id}`}>${t('overview.steps.dnsShow', { n: left.length || 1 })}<//>` };
}

/** Whether incoming reports work, so far as the person may see it. @param {any} got GET /ingest */
const reported = (got) => (got.data?.data ?? []).some((r) => r.open && r.last_seen_at);

/** Notes that the list is of no use any more. */
function dismiss() {
	localStorage.setItem('mailer.first-steps', 'dismissed');
	dismissed.value = true;
}

const dismissed = signal(stored());

function stored() {
	try {
		return localStorage.getItem('mailer.first-steps') === 'dismissed';
	} catch {
		return false;
	}
}

/**
 * The list. It stays until mail was sent and reports arrive, or until it is dismissed.
 * @param {{domains?: any[], emails: any[]|null, capturing: boolean}} props emails is null once mail was sent
 */
export function FirstSteps({ domains = [], emails, capturing }) {
	const reporting = me.value.operator && !capturing && !dismissed.value;
	const reports = useGet(reporting ? '/ingest' : null, undefined, { every: 15 });
	const over = dismissed.value || (!emails && (!reporting || !reports.data || reported(reports)));
	const relays = useGet(!over && me.value.operator && !capturing ? '/relays' : null, {}, { team: null, every: 5 });
	const keys = useGet(over ? null : '/api-keys', { limit: 1 });
	const domain = domains.find((d) => d.status === 'verified') ?? domains[0];
	const records = useGet(!over && domain && domain.status !== 'verified' && !capturing ? encoded`/domains/${domain.id}` : null, {}, { every: 30 });
	if (over) return null;
	const waits = emails?.[0];
	const sent = { name: 'send', done: true, text: t('overview.steps.sendDone') };
	const send = waits ? { name: 'send', text: html`${t('overview.steps.sendWaits')} <a class="link" href=${base + encoded`/emails/${waits.id}`}>${t('overview.steps.sendWhy')}</a>`, act: (kind) => html`<${Button} kind=${kind} onClick=${() => go(encoded`/emails/${waits.id}`)}>${t('overview.steps.open')}<//>` } : { name: 'send', text: t('overview.steps.sendText'), act: (kind) => html`<${Button} kind=${kind} onClick=${sendDialog}>${t('emails.sendFirst')}<//>` };
	const key = keys.data?.data.length ? { name: 'key', done: true, text: html`<bdi>${keys.data.data[0].name}</bdi>`, act: html`<a class="link t13r" href=${base + '/keys'}>${t('overview.steps.open')}</a>` } : { name: 'key', text: html`${t('overview.steps.keyText')} <code>mailer keys create --name my-app --permission sending_access</code>`, act: mayAdmin.value && ((kind) => html`<${Button} kind=${kind} href=${base + '/keys?add=1'}>${t('overview.steps.keyAct')}<//>`) };
	const steps = capturing ? [key, emails ? send : sent] : [
		relayStep(relays),
		domain ? { name: 'domain', done: true, text: html`<span class="mono">${domain.name}</span>`, act: html`<a class="link t13r" href=${base + encoded`/domains/${domain.id}`}>${t('overview.steps.open')}</a>` } : { name: 'domain', text: html`${t('overview.steps.domainText')} <code>mailer domains add example.com</code>`, act: mayAdmin.value && ((kind) => html`<${Button} kind=${kind} href=${base + '/domains?add=1'}>${t('overview.steps.domainAct')}<//>`) },
		dnsStep(domain, records),
		key,
		emails ? send : sent,
		reported(reports) ? { name: 'event', done: true, text: t('overview.steps.eventDone') } : { name: 'event', text: t('overview.steps.eventText'), act: me.value.operator && ((kind) => html`<${Button} kind=${kind} href=${base + '/operator/reports'}>${t('overview.steps.eventAct')}<//>`) },
	].filter(Boolean);
	const now = steps.findIndex((s) => !s.done);
	const done = steps.filter((s) => s.done).length;
	return html`<section class="section" aria-labelledby="first-steps"><div class="section-head"><h2 id="first-steps">${t('overview.steps.title')}</h2><span class="muted t13r">${t('overview.steps.done', { n: done, all: steps.length })}</span>${!emails && html` <${Button} kind="quiet" onClick=${dismiss}>${t('overview.steps.dismiss')}<//>`}</div><ol class="steps">${steps.map((s, i) => html`<li key=${s.name} class=${s.done ? 'is-done' : i === now ? 'is-now' : ''} aria-current=${i === now ? 'step' : undefined}><${Icon} name=${s.done ? 'check' : s.bad ? 'alert' : i === now ? 'right' : 'minus'} class=${s.bad ? 'bad' : ''} /><div><h3>${s.title ?? t(`overview.steps.${s.name}`)}</h3><p class=${s.done ? 'muted' : ''}>${s.text}</p></div>${typeof s.act === 'function' ? s.act(i === now ? 'primary' : '') : s.act}</li>`)}</ol></section>`;
}
