// One email: its state and reason, actions, content, and timeline.
import { html } from './lib/core.js';
import { useGet } from './api.js';
import { exact, gap, mailbox, size, stamp } from './format.js';
import { say, t } from './i18n.js';
import { base, place, setQuery } from './router.js';
import { Live } from './emails.js';
import { Acts, lift } from './email-acts.js';
import { lookOf, recipientsOf, replyOf } from './email-parts.js';
import { tabs, Tab } from './email-tabs.js';
import { encoded } from './paths.js';
import { sentenceOf, worded } from './verdict.js';
import { Bones, Button, Facts, Failed, Head, Icon, Id, Status, Tabs, Time, Verdict } from './ui/base.js';

/** A time of the timeline, to the second. */
const When = ({ at }) => html`<time datetime=${at} title=${exact(at)}>${stamp(at)}</time>`;

/** The sender of an email: a key by its name, which links to its emails, or the way of submission. */
function useSender(email) {
	const ofKey = ['api', 'smtp', 'mcp'].includes(email?.source) && email.key_id;
	const keys = useGet(ofKey ? '/api-keys' : null, { limit: 100 });
	if (!email || email.broadcast_id) return null;
	const key = ofKey && (keys.data?.data ?? []).find((k) => k.id === email.key_id);
	if (key) return say('email.byKey', { key: html`<a class="link" href=${`${base}/emails?key=${encodeURIComponent(key.name)}`}><bdi>${key.name}</bdi></a>` });
	return email.source && email.source !== 'account' ? t(`emails.sources.${email.source}`) : null;
}

/** The line below the subject: recipients, time, sender. */
function under(email, sender) {
	const first = mailbox(email.to[0] ?? '');
	const rest = email.to.length + email.cc.length + email.bcc.length - 1;
	const parts = [
		say('email.toWhom', { to: html`<bdi title=${[...email.to, ...email.cc, ...email.bcc].join(', ')}>${first.address}</bdi>` }),
		rest > 0 && t('emails.others', { n: rest }),
	];
	return html`<span>${parts[0]}${parts[1] ? html` ${parts[1]}` : ''}</span><span><${When} at=${email.created_at} /></span>${sender && html`<span>${sender}</span>`}`;
}

function Recipients({ people }) {
	return html`<section class="wide" aria-label=${t('email.recipients')}><table class="table table--fixed"><colgroup><col class="w-status" /><col class="w-rec" /><col class="hide-s" /></colgroup><thead class="vh"><tr><th>${t('email.state')}</th><th>${t('email.recipient')}</th><th>${t('email.words')}</th></tr></thead><tbody>${people.map((p) => {
		const [code, reply] = replyOf(p.event?.detail ?? {});
		return html`<tr key=${p.address}><td class="w-status"><${Status} of=${p.state} /></td><td class="cell-cut w-rec" title=${p.address}>${p.name && html`<bdi>${p.name}</bdi> `}<bdi>${p.address}</bdi><span class="cell-sub">${[code, reply].filter(Boolean).join(' ')}</span></td><td class="cell-cut muted hide-s" title=${reply}>${code && html`<span class="mono">${code}</span> `}${reply}${p.event?.type === 'suppressed' && html`<${Button} kind="quiet" onClick=${() => lift(p.address)}>${t('email.liftShort')}<//>`}</td></tr>`;
	})}</tbody></table></section>`;
}

/** Timeline events, with equal ones of a recipient grouped. */
function folded(events) {
	const lines = [];
	for (const e of events) {
		const last = lines[lines.length - 1];
		const same = last && e.type === 'deferred' && last.type === e.type && last.recipient === e.recipient && last.detail.reply === e.detail.reply && last.detail.reply_code === e.detail.reply_code;
		if (same && lines.length > 1) {
			last.times = (last.times ?? 1) + 1;
			last.first = e.created_at;
		} else lines.push({ ...e });
	}
	return lines;
}

function Timeline({ events, next, email }) {
	const all = email.to.length + email.cc.length + email.bcc.length;
	const rows = folded(events.data?.data ?? []);
	if (events.error && !rows.length) return html`<${Failed} error=${events.error} retry=${events.reload} />`;
	return html`<ol class="timeline">${next && html`<li class="is-next"><${Icon} name="st-scheduled" /><div><b class="medium">${t(email.state === 'scheduled' ? 'status.scheduled' : 'email.next')}</b> <${Time} at=${next} as="both" /></div></li>`}
	${rows.map((e, i) => {
		const before = rows[i + 1];
		const type = e.type === 'sent' && e.detail.relay === 'capture' ? 'captured' : e.type;
		const [kind, icon] = lookOf(type);
		const [code, reply] = replyOf(e.detail);
		const words = [code, reply].filter(Boolean).join(' ') || (e.detail.received_id ? '' : ['queued', 'sent', 'delivered'].includes(e.type) ? '' : e.detail.link ?? worded(e.detail.message ?? ''));
		const who = e.recipient && all > 1 ? e.recipient : '';
		const took = e.type === 'sent' && e.detail.duration_ms ? t('email.took', { ms: e.detail.duration_ms }) : '';
		const what = words && took ? t('time.joined', { one: words, two: took }) : words || took;
		const event = t(`email.events.${type}`);
		return html`<li key=${e.id} class=${kind && `is-${kind}`}><${Icon} name=${`st-${icon}`} /><div><b class="medium">${e.times ? t('email.times', { event, n: e.times }) : e.type === 'deferred' && e.detail.attempt ? t('email.try', { event, n: e.detail.attempt }) : event}</b> ${e.first ? html`<${When} at=${e.first} /> – ` : ''}<${When} at=${e.created_at} />${before && html` <span class="muted nowrap">+${gap(before.created_at, e.first ?? e.created_at)}</span>`}
			${(who || what) && html`<p>${who && what ? say('time.by', { who: html`<bdi>${who}</bdi>`, what }) : what || html`<bdi>${who}</bdi>`}</p>`}${e.detail.received_id && html`<p><a class="link" href=${base + encoded`/received/${e.detail.received_id}`}>${t('received.toAnswer')}</a></p>`}</div></li>`;
	})}</ol>${events.data?.has_more ? html`<p class="t12 muted">${t('email.older')}</p>` : ''}`;
}

function Aside({ email, events, people, sender }) {
	const from = mailbox(email.from);
	const relay = events.data?.data.find((e) => e.detail.relay)?.detail.relay;
	const next = people.map((p) => p.next).filter(Boolean).sort()[0] ?? (email.state === 'scheduled' ? email.scheduled_at : undefined);
	return html`<aside class="aside" aria-label=${t('email.details')}><section class="section"><h2 class="vh">${t('email.facts')}</h2><${Facts} class="kv--side" pairs=${[
		[t('email.from'), html`${from.name && html`<bdi>${from.name}</bdi><br />`}${from.address.split('@').map((part, i) => (i ? html`<wbr />@${part}` : part))}`],
		[t('email.replyTo'), email.reply_to.join(', ')],
		[t('email.to'), email.to.length + email.cc.length + email.bcc.length > 1 ? t('email.recipientsN', { n: email.to.length + email.cc.length + email.bcc.length }) : mailbox(email.to[0] ?? '').address.split('@').map((part, i) => (i ? html`<wbr />@${part}` : part))],
		[t(Array.isArray(sender) ? 'email.sentBy' : 'email.source'), sender],
		[t('email.relay'), relay && html`<span class="mono">${relay}</span>`],
		[t('email.size'), email.size ? [size(email.size), email.attachments.length > 0 && t('email.attachmentsN', { n: email.attachments.length })].filter(Boolean).reduce((one, two) => t('time.joined', { one, two })) : ''],
		[t('email.score'), email.score === null || email.score === undefined ? '' : String(email.score)],
		[t('email.tags'), email.tags.length ? html`<span class="row row--wrap">${email.tags.map((g) => html`<a class="tag" href=${`${base}/emails?tag=${encodeURIComponent(`${g.name}:${g.value}`)}`}>${g.name}=${g.value}</a>`)}</span>` : ''],
		[t('email.broadcast'), email.broadcast_id && html`<a class="link" href=${base + encoded`/broadcasts/${email.broadcast_id}/report`}>${t('email.report')}</a>`],
		[t('email.request'), !email.broadcast_id && html`<a class="link" href=${base + encoded`/requests?email_id=${email.id}`}>${t('email.toRequest')}</a>`],
		[t('email.id'), html`<${Id} of=${email.id} />`],
	]} /></section>
	<section class="section"><div class="section-head"><h2>${t('email.timeline')}</h2><${Live} /></div><${Timeline} events=${events} next=${next} email=${email} /></section></aside>`;
}

/** The page. @param {{params: {id: string}}} props */
export default function Email({ params }) {
	const id = params.id;
	const live = (e) => e.name === 'email' && e.id === id;
	const got = useGet(encoded`/emails/${id}`, {}, { live });
	const events = useGet(encoded`/emails/${id}/events`, { limit: 100 }, { live });
	const sender = useSender(got.data);
	const path = [[t('emails.title'), `${base}/emails`]];
	if (got.error && !got.data) return html`<${Head} title=${t('email.title')} path=${path} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`<${Head} title=${t('email.title')} path=${path} /><${Bones} />`;
	const email = got.data;
	const people = recipientsOf(email, events.data?.data ?? []);
	const says = sentenceOf(email.verdict);
	const at = place.value.query.get('tab') ?? 'preview';
	const reload = () => Promise.all([got.reload(), events.reload()]);
	return html`<${Head} text=${email.subject || t('emails.noSubject')} title=${html`<bdi>${email.subject || t('emails.noSubject')}</bdi>`} path=${path} under=${under(email, sender)}><${Acts} email=${email} people=${people} reload=${reload} /><//>
	<${Verdict} icon=${`st-${lookOf(email.state)[1]}`} kind=${email.verdict.tone} line=${says.line} fix=${says.fix} />
	<${Tabs} label=${t('email.title')} tabs=${tabs(email)} at=${at} onChange=${(to) => setQuery({ tab: to === 'preview' ? null : to })} />
	<div class="with-aside"><div class="stack stack--6"><${Recipients} people=${people} /><div class="wide" role="tabpanel" tabindex="-1"><${Tab} at=${at} email=${email} live=${live} people=${people} /></div></div><${Aside} email=${email} events=${events} people=${people} sender=${sender} /></div>`;
}
