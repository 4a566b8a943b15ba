// What failed last, and why.
import { html, useEffect, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { replyOf } from './email-parts.js';
import { Section, Status, Time } from './ui/base.js';

/** Why an email came to what it did: its line of the timeline, read once. @type {Map<string, any>} */
const reasons = new Map();

async function reasonOf(email) {
	const key = `${email.id} ${email.last_event}`;
	if (!reasons.has(key)) {
		const events = (await api.get(`/emails/${email.id}/events`, { limit: 20 })).data;
		const line = events.find((e) => e.type === email.last_event) ?? events[0];
		if (reasons.size > 100) reasons.clear();
		reasons.set(key, line ?? null);
	}
	return reasons.get(key);
}

/** The last five that failed, of those that a person does something about. */
export function Failures() {
	const live = (e) => e.name === 'email' && ['bounced', 'failed', 'complained'].includes(e.data?.event);
	const bounced = useGet('/emails', { status: 'bounced', limit: 5 }, { live });
	const failed = useGet('/emails', { status: 'failed', limit: 5 }, { live });
	const complained = useGet('/emails', { status: 'complained', limit: 5 }, { live });
	const rows = [bounced, failed, complained].flatMap((got) => got.data?.data ?? []).sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, 5);
	const [why, setWhy] = useState(/** @type {Record<string, any>} */ ({}));
	const ids = rows.map((r) => r.id + r.last_event).join();
	useEffect(() => {
		let current = true;
		Promise.all(rows.map(async (r) => [r.id, await reasonOf(r)])).then((all) => current && setWhy(Object.fromEntries(all)), (error) => {
			if (!(error instanceof ApiError)) throw error;
		});
		return () => {
			current = false;
		};
	}, [ids]);
	const known = bounced.data && failed.data && complained.data;
	return html`<${Section} title=${t('overview.failures')} acts=${rows.length > 0 && html`<a class="link t13r" href=${base + '/emails?status=bounced'}>${t('overview.allBounced')}</a>`}>${!rows.length ? known && html`<p class="muted">${t('overview.noFailures')}</p>` : html`<table class="table table--fixed table--two"><thead class="hide-s"><tr><th class="w-status">${t('emails.status')}</th><th class="w-to">${t('emails.to')}</th><th>${t('overview.why')}</th><th class="w-age num">${t('ui.when')}</th></tr></thead><tbody>${rows.map((r) => {
		const line = why[r.id];
		const [code, reply] = replyOf(line?.detail ?? {});
		const who = line?.recipient ?? r.to[0];
		const link = html`<a href=${`${base}/emails/${r.id}`}><bdi>${who}</bdi></a>`;
		return html`<tr key=${r.id}><td class="w-status hide-s"><${Status} of=${r.last_event} /></td><td class="cell-cut w-to hide-s" title=${who}>${link}</td><td class="cell-cut" title=${reply}><span class="only-s cut">${link}</span><span class="cell-sub"><${Status} of=${r.last_event} />${reply}</span><span class="only-l">${reply || r.subject} ${code && html`<span class="mono muted">${code}</span>`}</span></td><td class="num muted w-age"><${Time} at=${line?.created_at ?? r.created_at} /></td></tr>`;
	})}</tbody></table>`}<//>`;
}
