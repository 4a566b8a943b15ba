// One request and its answer.
import { html } from './lib/core.js';
import { useGet } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base } from './router.js';
import { Bones, Copy, Facts, Failed, Head, Notice, Section, Time } from './ui/base.js';
import { Answer, ms } from './requests.js';

/** The page. @param {{params: {id: string}}} props */
export default function Request({ params }) {
	const got = useGet(encoded`/logs/${params.id}`);
	const keys = useGet('/api-keys', { limit: 100 }).data?.data ?? [];
	const path = [[t('requests.title'), `${base}/requests`]];
	const r = got.data;
	if (got.error && !r) return html`<${Head} path=${path} title=${t('requests.one')} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!r) return html`<${Head} path=${path} title="…" text=${t('requests.one')} /><${Bones} />`;
	const key = keys.find((k) => k.id === r.key_id);
	return html`<${Head} path=${path} title=${`${r.method} ${r.endpoint}`} />
	<div class="page page--text"><${Section} title=${t('requests.one')}><${Facts} pairs=${[
		[t('requests.status'), html`<${Answer} of=${r.response_status} />`],
		[t('requests.error'), r.error && html`<code>${r.error}</code>`],
		[t('requests.age'), html`<${Time} at=${r.created_at} />, <${Time} at=${r.created_at} as="clock" />`],
		[t('requests.took'), ms(r.duration_ms)],
		[t('requests.by'), r.key_id ? html`<a class="link" href=${base + encoded`/requests?key_id=${r.key_id}`}><bdi>${key?.name ?? t('requests.goneKey')}</bdi></a>` : t('requests.person')],
		[t('requests.agent'), r.user_agent && html`<bdi class="mono">${r.user_agent}</bdi>`],
		[t('requests.email'), r.email_id && html`<a class="link" href=${base + encoded`/emails/${r.email_id}`}>${r.email_id}</a>`],
		[t('requests.id'), html`<${Copy} text=${r.id} />`],
	]} /><//><${Notice}>${t('requests.noBodies')}<//></div>`;
}
