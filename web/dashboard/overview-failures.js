// The latest failures and their reasons.
import { html } from './lib/core.js';
import { useGet } from './api.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { replyOf } from './email-parts.js';
import { encoded } from './paths.js';
import { Section, Status, Time } from './ui/base.js';

const statuses = ['bounced', 'failed', 'complained'];

/** Reads the last five failures that need an action. */
export const useFailures = () => useGet('/emails', { status: statuses.join(), include: 'reason', limit: 5 }, { live: (e) => e.name === 'email' && statuses.includes(e.data?.event) });

/** The list of them. @param {{got: any}} props got is useFailures's */
export function Failures({ got }) {
	const rows = got.data?.data ?? [];
	return html`<${Section} title=${t('overview.failures')} acts=${rows.length > 0 && html`<a class="link t13r" href=${base + '/emails?status=bounced'}>${t('overview.allBounced')}</a>`}>${!rows.length ? got.data && html`<p class="muted">${t('overview.noFailures')}</p>` : html`<table class="table table--fixed table--two"><thead class="hide-s"><tr><th class="w-status">${t('emails.status')}</th><th class="w-to">${t('emails.to')}</th><th>${t('overview.why')}</th><th class="w-age num">${t('ui.when')}</th></tr></thead><tbody>${rows.map((r) => {
		const line = r.reason;
		const [code, reply] = replyOf(line?.detail ?? {});
		const who = line?.recipient ?? r.to[0];
		const link = html`<a href=${base + encoded`/emails/${r.id}`}><bdi>${who}</bdi></a>`;
		return html`<tr key=${r.id}><td class="w-status hide-s"><${Status} of=${r.state} /></td><td class="cell-cut w-to hide-s" title=${who}>${link}</td><td class="cell-cut" title=${reply}><span class="only-s cut">${link}</span><span class="cell-sub"><${Status} of=${r.last_event} />${reply}</span><span class="only-l">${reply || r.subject} ${code && html`<span class="mono muted">${code}</span>`}</span></td><td class="num muted w-age"><${Time} at=${line?.created_at ?? r.created_at} /></td></tr>`;
	})}</tbody></table>`}<//>`;
}
