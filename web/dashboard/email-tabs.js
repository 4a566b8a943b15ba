// The tabs of an email: preview, source, score, and the SMTP dialogue with the relay.
import { html, useEffect, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { clock, exact, number, size } from './format.js';
import { t } from './i18n.js';
import { dialogueOf } from './email-parts.js';
import { HeaderTable, Source } from './email-source.js';
import { encoded } from './paths.js';
import { Bones, Button, CopyButton, Empty, Failed, Icon, Section, Status } from './ui/base.js';
import { attempt } from './ui/float.js';
import { Paper } from './ui/frame.js';

/** The tabs: [id, name, count]. @param {any} email */
export const tabs = (email) => [['preview', t('email.tabs.preview')], ['text', t('email.tabs.text')], ['html', t('email.tabs.html')], ['headers', t('email.tabs.headers')], ['raw', t('email.tabs.raw')], ['attachments', t('email.tabs.attachments'), email.attachments.length], ['checks', t('email.tabs.checks')], ['conversation', t('email.tabs.conversation')]];

/** The content of a tab. @param {{at: string, email: any, live: any, people: any[]}} props */
export function Tab({ at, email, live }) {
	switch (at) {
		case 'text': return html`<${Source} text=${email.text} name="text/plain" file="email.txt" none=${t('email.noText')} />`;
		case 'html': return html`<${Source} text=${email.html} name="text/html" file="email.html" none=${t('email.noHtml')} />`;
		case 'headers': return html`<${Headers} email=${email} />`;
		case 'raw': return html`<${Raw} id=${email.id} />`;
		case 'attachments': return html`<${Attachments} email=${email} />`;
		case 'checks': return html`<${Checks} email=${email} />`;
		case 'conversation': return html`<${Conversation} id=${email.id} live=${live} />`;
	}
	if (email.html) return html`<${Paper} of=${encoded`/emails/${email.id}/preview`} />`;
	return html`<${Source} text=${email.text} name="text/plain" file="email.txt" none=${t('email.noText')} />`;
}

/** Splits a message into its header lines, folded ones together. */
function linesOf(message) {
	const end = message.search(/\r?\n\r?\n/);
	return (end < 0 ? message : message.slice(0, end)).replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/).map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
}

function Headers({ email }) {
	const own = [['Message-ID', email.message_id], ['From', email.from], ['To', email.to.join(', ')], ['Cc', email.cc.join(', ')], ['Reply-To', email.reply_to.join(', ')], ['Subject', email.subject], ...Object.entries(email.headers ?? {})].filter(([, v]) => v);
	return html`<${HeaderTable} lines=${own} /><p class="t12 muted">${t('email.headersNote')}</p>`;
}

/** The bytes of a message that is not UTF-8; undefined: its text is all of it. */
const exactly = (raw) => raw.raw_base64 && Uint8Array.from(atob(raw.raw_base64), (c) => c.charCodeAt(0));

function Raw({ id }) {
	const [got, set] = useState(/** @type {any} */ ({}));
	useEffect(() => {
		let current = true;
		api.get(encoded`/emails/${id}/raw`).then((raw) => current && set({ raw }), (error) => {
			if (!(error instanceof ApiError)) throw error;
			if (current) set({ error });
		});
		return () => {
			current = false;
		};
	}, [id]);
	if (got.error?.status === 404) return html`<${Empty} icon="code" title=${t('email.noRaw')}>${t('email.noRawText')}<//>`;
	if (got.error) return html`<${Failed} error=${got.error} />`;
	if (!got.raw) return html`<${Bones} rows=${4} />`;
	return html`<div class="stack"><div class="wide"><${HeaderTable} lines=${linesOf(got.raw.message)} /></div><div class="wide"><${Source} text=${got.raw.message} bytes=${exactly(got.raw)} name="message/rfc822" file="email.eml" /></div></div>`;
}

function Attachments({ email }) {
	if (!email.attachments.length) return html`<${Empty} icon="attach" title=${t('email.noAttachments')} />`;
	const get = (file) => attempt(async () => {
		const { download_url: url } = await api.get(encoded`/emails/${email.id}/attachments/${file.id}`);
		const a = document.createElement('a');
		a.href = new URL(url).pathname;
		a.download = file.filename;
		a.click();
	});
	return html`<table class="table table--fixed"><thead><tr><th>${t('email.file')}</th><th class="hide-s w-to">${t('email.kind')}</th><th class="num w-num">${t('email.size')}</th><th class="num w-num"><span class="vh">${t('email.download')}</span></th></tr></thead><tbody>${email.attachments.map((file) => html`<tr key=${file.id}><td class="cell-cut" title=${file.filename}><${Icon} name="attach" /><bdi>${file.filename}</bdi>${file.content_disposition === 'inline' ? html` <span class="badge">${t('email.inline')}</span>` : ''}</td><td class="mono cell-cut hide-s">${file.content_type}</td><td class="num">${size(file.size)}</td><td class="num"><${Button} icon="download" kind="quiet" label=${t('email.downloadFile', { name: file.filename })} onClick=${() => get(file)} /></td></tr>`)}</tbody></table>`;
}

function Checks({ email }) {
	const got = useGet(encoded`/emails/${email.id}/insights`);
	if (got.error) return html`<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`<${Bones} rows=${4} />`;
	const { score, band, penalties } = got.data;
	const links = found(email.html ?? '');
	const bytes = new Blob([email.html ?? email.text ?? '']).size;
	return html`<${Section} title=${t('email.scoreOf')}><p class="stat-value">${number(score, { maximumFractionDigits: 1 })} <small>${t('email.outOf', { band: t(`email.bands.${band}`) })}</small></p>
	${penalties.length ? html`<table class="table table--top"><thead class="vh"><tr><th>${t('email.points')}</th><th>${t('email.fix')}</th></tr></thead><tbody>${penalties.map((p) => html`<tr key=${p.id}><td class="nowrap"><${Status} of=${p.severity === 'minor' ? 'neutral' : p.severity === 'major' ? 'warn' : 'bad'} word=${t('email.less', { points: number(p.points, { maximumFractionDigits: 1 }) })} /></td><td>${p.message}</td></tr>`)}</tbody></table>` : html`<p class="muted">${t('email.noPenalties')}</p>`}<//>
	<${Section} title=${t('email.sizeOf')}><p><${Status} of=${bytes > 102_000 ? 'warn' : 'good'} word=${size(bytes)} /> <span class="muted">${t(bytes > 102_000 ? 'email.clipped' : 'email.fits')}</span></p><//>
	<${Section} title=${t('email.links', { n: links.length })}>${links.length ? html`<ul class="items">${links.map((href) => html`<li key=${href}><${Icon} name="link" /><span class="grow break mono t12">${href}</span>${/^http:/i.test(href) ? html`<${Status} of="warn" word=${t('email.notTls')} />` : ''}</li>`)}</ul>` : html`<p class="muted">${t('email.noLinks')}</p>`}<//>
	${email.html && html`<${Clients} source=${email.html} />`}`;
}

/** Features of the email that mail clients lack; the data is loaded only here. */
function Clients({ source }) {
	const [Part, set] = useState(/** @type {any} */ (null));
	useEffect(() => {
		import('./client-support.js').then((module) => set(() => module.default));
	}, []);
	return Part ? html`<${Part} source=${source} />` : html`<${Bones} rows=${4} />`;
}

/** Links by their attribute, without building a page of hostile text. @param {string} source */
function found(source) {
	const links = new Set();
	for (const m of source.matchAll(/<a\b[^>]{0,2000}?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/gi)) {
		const href = (m[1] ?? m[2] ?? m[3]).replace(/&amp;/g, '&').trim();
		if (href) links.add(href);
		if (links.size >= 200) break;
	}
	return [...links];
}

const outcomes = { sent: 'good', partly_sent: 'warn', deferred: 'warn', refused: 'bad', interrupted: 'warn', in_doubt: 'warn', relay_trouble: 'bad' };

function Conversation({ id, live }) {
	const got = useGet(encoded`/emails/${id}/attempts`, { limit: 100 }, { live });
	if (got.error) return html`<${Failed} error=${got.error} retry=${got.reload} />`;
	if (!got.data) return html`<${Bones} rows=${4} />`;
	const all = got.data.data;
	if (!all.length) return html`<${Empty} icon="relay" title=${t('email.noAttempts')}>${t('email.noAttemptsText')}<//>`;
	return html`${all.map((a, i) => html`<${Attempt} key=${a.id} of=${a} n=${all.length - i} />`)}${got.data.has_more ? html`<p class="t12 muted">${t('email.moreAttempts')}</p>` : ''}`;
}

function Attempt({ of: a, n }) {
	return html`<${Section} title=${t('email.attempt', { n })} acts=${html`<span class="muted t13r"><time datetime=${a.created_at} title=${exact(a.created_at)}>${clock(a.created_at)}</time> · <span class="mono">${a.relay}</span> · ${a.tls ?? t('email.noTls')} · ${t('email.ms', { ms: a.duration_ms })}</span>`}>
	<div class="stack stack--2"><p><${Status} of=${outcomes[a.outcome]} word=${t(`email.outcomes.${a.outcome}`)} /></p>
	${a.conversation ? html`<ol class="smtp wide">${dialogueOf(a.conversation).map((line) => html`<li class=${line.kind}><span class="who" aria-hidden="true">${{ '<': '←', '>': '→' }[line.who] ?? ''}</span><span>${line.who !== '*' && html`<span class="vh">${t(line.who === '<' ? 'email.server' : 'email.client')} </span>`}${line.text}</span><span class="ms"></span></li>`)}</ol>
	<p class="row t12 muted"><${CopyButton} text=${a.conversation} />${t('email.kept')}</p>` : html`<ol class="smtp wide"><li><span class="who" aria-hidden="true">←</span><span><span class="vh">${t('email.server')} </span>${a.reply || '–'}</span><span class="ms">${t('email.ms', { ms: a.duration_ms })}</span></li></ol>`}</div><//>`;
}
