// One received email: how far its sender is confirmed, what it says, its files and headers.
import { html, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { exact, number, size, stamp } from './format.js';
import { say, t } from './i18n.js';
import { encoded } from './paths.js';
import { HeaderTable, save, shownLength, Source } from './email-source.js';
import { Author, authorOf, Kinds, kindsOf, resultOf, verdictOf } from './received-words.js';
import { base, place, setQuery } from './router.js';
import { Bones, Button, Copy, Empty, Facts, Failed, Head, Icon, Id, Section, Status, Tabs, Verdict } from './ui/base.js';
import { attempt } from './ui/float.js';
import { Paper } from './ui/frame.js';

/** How many addresses, and how many files, are shown at first. */
const shownAddresses = 10;
const shownFiles = 50;

/** Downloads a file of an email. Its address works for an hour, so it is asked for when it is wanted. @param {() => Promise<string>} ask */
const download = (ask) => attempt(async () => {
	const a = document.createElement('a');
	a.href = await ask();
	a.download = '';
	a.click();
});

/** A text as its author wrote it; each line in the direction of its letters. @param {{text: string}} props */
const Letter = ({ text }) => html`<div class="letter">${text.slice(0, shownLength)}</div>${text.length > shownLength && html`<p class="t12 muted">${t('email.cutOff', { n: shownLength })} <${Button} icon="download" onClick=${() => save(text, 'email.txt')}>${t('email.download')}<//></p>`}`;

/** The text of an answer, and what follows it in the email. @param {any} m @returns {{own: string, rest: string}} */
export function partsOf(m) {
	const whole = (m.text ?? '').replace(/\r\n?/g, '\n').trim();
	const own = (m.reply_text ?? '').trim() || whole;
	if (!whole || own === whole) return { own, rest: '' };
	return { own, rest: whole.startsWith(own) ? whole.slice(own.length).trim() : whole };
}

function Text({ of: m }) {
	const { own, rest } = partsOf(m);
	if (!own) return html`<${Empty} icon="mail" title=${t('email.noText')} />`;
	return html`<${Letter} text=${own} />${rest && html`<details class="fold letter-rest"><summary><${Icon} name="right" />${t('received.quoted')}</summary><${Letter} text=${rest} /></details>`}`;
}

/** The tab that an email opens with: answers by their text, others as they were designed. */
const firstTab = (m) => (m.html && !m.in_reply_to_email_id && !partsOf(m).rest ? 'preview' : 'text');

/** The files of an email; of very many, those that are asked for. */
function Files({ of: m }) {
	const [n, setN] = useState(shownFiles);
	const all = m.attachments;
	if (!all.length) return html`<${Empty} icon="attach" title=${t('email.noAttachments')} />`;
	const get = (file) => download(async () => (await api.get(encoded`/emails/receiving/${m.id}/attachments/${file.id}`)).download_url);
	return html`<p class="t12 muted received-note">${t('received.filesNote')}</p><table class="table table--fixed"><thead><tr><th>${t('email.file')}</th><th class="hide-s w-to">${t('email.kind')}</th><th class="num w-count">${t('email.size')}</th><th class="num w-act"><span class="vh">${t('email.download')}</span></th></tr></thead><tbody>${all.slice(0, n).map((file) => {
		const name = file.filename || t('received.noName');
		return html`<tr key=${file.id}><td class="cell-cut" title=${name}><${Icon} name="attach" /><bdi>${name}</bdi>${file.content_disposition === 'inline' ? html` <span class="badge">${t('email.inline')}</span>` : ''}</td><td class="mono cell-cut hide-s" title=${file.content_type}>${file.content_type}</td><td class="num">${size(file.size)}</td><td class="num"><${Button} icon="download" kind="quiet" label=${t('email.downloadFile', { name })} onClick=${() => get(file)} /></td></tr>`;
	})}</tbody></table>${all.length > n && html`<div class="table-foot"><${Button} onClick=${() => setN(n + 10 * shownFiles)}>${t('received.moreFiles', { n: all.length - n })}<//></div>`}`;
}

function Headers({ of: m }) {
	const lines = Object.entries(m.headers).flatMap(([name, value]) => String(value).split('\n').map((one) => [name, one]));
	return html`<${HeaderTable} lines=${lines} />`;
}

function Tab({ at, of: m }) {
	switch (at) {
		case 'preview': return html`<${Paper} of=${encoded`/emails/receiving/${m.id}/preview`} />`;
		case 'html': return html`<${Source} text=${m.html} name="text/html" file="email.html" none=${t('email.noHtml')} />`;
		case 'headers': return html`<${Headers} of=${m} />`;
		case 'attachments': return html`<${Files} of=${m} />`;
	}
	return html`<${Text} of=${m} />`;
}

/** Some of many addresses. @param {string[]} all */
const some = (all) => (all.length ? html`${all.slice(0, shownAddresses).map((one, i) => html`${i > 0 && ', '}<bdi>${one.slice(0, 500)}</bdi>`)}${all.length > shownAddresses && html` ${t('emails.others', { n: all.length - shownAddresses })}`}` : '');

/** How the status of what a route did looks. */
const effects = { waiting: 'neutral', accepted: 'good', skipped: 'warn' };

/** What routes did with an email. */
function Effects({ of: m }) {
	if (!m.effects?.length) return null;
	return html`<${Section} title=${t('received.effects')}><ul class="items items--top">${m.effects.map((e) => html`<li><div class="grow"><${Status} of=${effects[e.status]} word=${t(`received.effectStatus.${e.status}`)} /><p>${e.email_id ? html`<a class="link" href=${base + encoded`/emails/${e.email_id}`}>${t(`received.effect.${e.type}`)}</a>` : t(`received.effect.${e.type}`)} ${e.to && html`<bdi class="break">${e.to}</bdi>`}</p>${e.reason && html`<p class="t12 muted">${e.reason}</p>`}</div></li>`)}</ul><//>`;
}

function Aside({ of: m }) {
	const { name, address } = authorOf(m.from);
	const signed = m.auth.dkim_domains ?? [];
	return html`<aside class="aside" aria-label=${t('email.details')}><section class="section"><h2 class="vh">${t('email.facts')}</h2><${Facts} class="kv--side" pairs=${[
		[t('email.from'), html`${name && html`<bdi>${name}</bdi><br />`}${address ? html`<${Copy} text=${address} mono=${false} shown show=${html`<bdi>${address}</bdi>`} />` : html`<span class="muted">${t('received.noAuthor')}</span>`}`],
		[t('received.contact'), m.contact_id && html`<a class="link" href=${base + encoded`/contacts/${m.contact_id}`}>${t('received.toContact')}</a>`],
		[t(m.reply_proven ? 'received.answers' : 'received.claims'), m.in_reply_to_email_id && html`<a class="link" href=${base + encoded`/emails/${m.in_reply_to_email_id}`}>${t('received.toEmail')}</a>`],
		[t('email.replyTo'), some(m.reply_to)],
		[t('email.to'), some(m.to)],
		[t('received.cc'), some(m.cc)],
		[t('received.bcc'), some(m.bcc)],
		[t('received.for'), some(m.received_for)],
		[t('email.size'), [size(m.size), m.attachments.length > 0 && t('email.attachmentsN', { n: m.attachments.length })].filter(Boolean).reduce((one, two) => t('time.joined', { one, two }))],
		['Message-ID', m.message_id && html`<${Copy} text=${m.message_id} shown />`],
		[t('email.id'), html`<${Id} of=${m.id} />`],
	]} /></section>
	<${Section} title=${t('received.checks')}><${Facts} class="kv--side" pairs=${[
		...['spf', 'dkim', 'dmarc'].map((check) => {
			const [kind, word] = resultOf(/** @type {any} */ (check), m.auth[check]);
			return [check.toUpperCase(), html`<span class="status-wrap"><${Status} of=${kind} word=${word} /></span>`];
		}),
		[t('received.signedBy'), some(signed)],
		[t('received.spam'), m.spam && html`<${Status} of=${m.spam.is_spam ? 'warn' : 'good'} word=${t(m.spam.is_spam ? 'received.isSpam' : 'received.noSpam')} /> <span class="muted num">${number(m.spam.score, { maximumFractionDigits: 1 })}</span>${m.spam.reasons?.length > 0 && html`<p class="t12 muted break">${m.spam.reasons.slice(0, shownAddresses).join(', ')}</p>`}`],
	]} /><p class="t12 muted received-about">${t('received.checksText')}</p><//><${Effects} of=${m} /></aside>`;
}

/** The page. @param {{params: {id: string}}} props */
export default function ReceivedEmail({ params }) {
	const at = encoded`/emails/receiving/${params.id}`;
	const got = useGet(at, { html_format: 'cid' });
	const path = [[t('received.title'), `${base}/received`]];
	if (got.error && !got.data) return html`<${Head} title=${t('received.one')} path=${path} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`<${Head} title=${t('received.one')} path=${path} /><${Bones} />`;
	const m = got.data;
	const says = verdictOf(m);
	const tab = place.value.query.get('tab') ?? firstTab(m);
	const tabs = [['text', t('email.tabs.text')], m.html && ['preview', t('email.tabs.preview')], m.html && ['html', t('email.tabs.html')], ['headers', t('email.tabs.headers')], ['attachments', t('email.tabs.attachments'), m.attachments.length]].filter(Boolean);
	const raw = () => download(async () => (await api.get(at, { html_format: 'cid' })).raw.download_url);
	const subject = m.subject || t('emails.noSubject');
	const time = html`<time datetime=${m.created_at} title=${exact(m.created_at)}>${stamp(m.created_at)}</time>`;
	return html`<${Head} text=${subject.slice(0, 200)} title=${html`<bdi>${subject}</bdi>`} path=${path} under=${html`<span>${say('received.by', { author: html`<span><${Author} of=${m} /></span>` })}</span><span>${time}</span>${kindsOf(m).length > 0 && html`<span><${Kinds} of=${m} /></span>`}`}>
		${m.in_reply_to_email_id && html`<${Button} icon="mail" class="hide-s" href=${base + encoded`/emails/${m.in_reply_to_email_id}`}>${t('received.toEmail')}<//>`}<${Button} icon="download" class="hide-s" onClick=${raw}>${t('received.raw')}<//><${Button} icon="download" class="only-s" label=${t('received.raw')} onClick=${raw} /><//>
	<${Verdict} kind=${says.kind} line=${says.line} fix=${says.fix} />
	<${Tabs} label=${t('received.one')} tabs=${tabs} at=${tab} onChange=${(to) => setQuery({ tab: to })} />
	<div class="with-aside"><div class="wide" role="tabpanel" tabindex="-1"><${Tab} at=${tab} of=${m} /></div><${Aside} of=${m} /></div>`;
}
