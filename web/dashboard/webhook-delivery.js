// One event that a webhook was told: the request, each attempt and its answer, the next try.
import { html } from './lib/core.js';
import { api, useGet } from './api.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { mayAdmin } from './state.js';
import { exact } from './format.js';
import { encoded } from './paths.js';
import { Bones, Button, Code, Copy, Facts, Failed, Head, Section, Status, Time } from './ui/base.js';
import { attempt } from './ui/float.js';

const shapes = { success: 'ok', pending: 'neutral', failed: 'bad', attempting: 'neutral' };

/** The state of a delivery. @param {{of: string}} props */
export const Outcome = ({ of }) => html`<${Status} of=${shapes[of] ?? 'neutral'} word=${t(`webhook.is_${of}`)} />`;

/** The HTTP status of an answer: 0, none came; null, there was no attempt. @param {{of: number|null}} props */
export const Answered = ({ of }) => (of === null ? html`<span class="muted">–</span>` : html`<${Status} of=${of >= 200 && of < 300 ? 'ok' : 'bad'} word=${of ? String(of) : t('webhook.noAnswer')} />`);

/** The page of one delivery. @param {{hook: any, id: string}} props */
export function Delivery({ hook, id }) {
	const path = encoded`/webhooks/${hook.id}/events/${id}`;
	const got = useGet(path, undefined, { every: 5 });
	const tries = useGet(`${path}/attempts`, { limit: 100 }, { every: 5 });
	const crumbs = [[t('webhooks.title'), `${base}/webhooks`], [hook.endpoint, base + encoded`/webhooks/${hook.id}`]];
	const event = got.data;
	if (got.error && !event) return html`<${Head} path=${crumbs} title=${t('webhook.event')} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!event) return html`<${Head} path=${crumbs} title="…" text=${t('webhook.event')} /><${Bones} />`;
	const replay = () => attempt(async () => {
		await api.post(`${path}/replay`);
		await Promise.all([got.reload(), tries.reload()]);
	}, t('webhook.replayed'));
	const email = event.payload?.data?.email_id;
	return html`<${Head} path=${crumbs} title=${event.type}>${mayAdmin.value && html`<${Button} icon="refresh" onClick=${replay}>${t('webhook.replay')}<//>`}<//>
	<div class="page"><${Section} title=${t('webhook.delivery')}><${Facts} pairs=${[
		[t('webhook.outcome'), html`<${Outcome} of=${event.status} />`],
		[t('webhook.when'), html`<${Time} at=${event.created_at} />`],
		[t('webhook.next'), event.next_attempt_at && html`<${Time} at=${event.next_attempt_at} />`],
		[t('webhook.id'), html`<${Copy} text=${event.id} />`],
		[t('webhook.email'), email && html`<a class="link" href=${base + encoded`/emails/${email}`}>${email}</a>`],
	]} /><//>
	<${Section} title=${t('webhook.attempts')}>${tries.data?.data.length ? html`<table class="table table--top stack-s"><thead><tr><th scope="col" class="w-status">${t('webhook.answer')}</th><th scope="col">${t('webhook.body')}</th><th scope="col" class="num">${t('webhook.sent')}</th></tr></thead><tbody>${tries.data.data.map((a) => html`<tr key=${a.id}><td data-label=${t('webhook.answer')}><${Answered} of=${a.http_status_code} /></td><td class="break" data-label=${t('webhook.body')}>${a.response ? html`<code>${a.response}</code>` : html`<span class="muted">${t('webhook.emptyBody')}</span>`}</td><td class="num muted" data-label=${t('webhook.sent')}><span title=${exact(a.sent_at)}><${Time} at=${a.sent_at} /></span></td></tr>`)}</tbody></table>` : html`<p class="muted t13r">${t('webhook.noAttempts')}</p>`}<//>
	<${Section} title=${t('webhook.request')}><${Code} name=${`POST ${hook.endpoint}`} code=${JSON.stringify(event.payload, null, 2)} /><//></div>`;
}
