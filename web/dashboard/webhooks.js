// The webhooks of a team: where events go, and how they fare.
import { html, useState } from './lib/core.js';
import { api, ApiError, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { mayAdmin } from './state.js';
import { Button, Empty, Head, Input, Notice, Status, Time } from './ui/base.js';
import { dialog, DialogBody } from './ui/float.js';
import { Csv, Table } from './ui/list.js';
import { Events, keepSecret } from './webhook-parts.js';

/** The form of a new webhook; closes with the webhook. @param {{close: (answer?: any) => void}} props */
function AddWebhook({ close }) {
	const [endpoint, setEndpoint] = useState('');
	const [events, setEvents] = useState(['email.delivered', 'email.bounced', 'email.complained']);
	const [wrong, say] = useState('');
	const send = async () => {
		try {
			close(await api.post('/webhooks', { endpoint: endpoint.trim(), events }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(e.message);
		}
	};
	return html`<${DialogBody} title=${t('webhooks.add')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!events.length}>${t('webhooks.add')}<//>`}>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${Input} label=${t('webhooks.endpoint')} hint=${t('webhooks.endpointHint')} type="url" value=${endpoint} onInput=${setEndpoint} placeholder="https://example.com/hooks/mailer" required autofocus />
		<${Events} value=${events} onChange=${setEvents} /><//>`;
}

/** The page. */
export default function Webhooks() {
	const list = useList('/webhooks');
	const add = async () => {
		const made = await dialog((close) => html`<${AddWebhook} close=${close} />`);
		if (!made) return;
		await keepSecret(made.signing_secret);
		go(encoded`/webhooks/${made.id}`);
	};
	const button = mayAdmin.value && html`<${Button} kind="primary" icon="plus" onClick=${add}>${t('webhooks.add')}<//>`;
	return html`<${Head} title=${t('webhooks.title')}><${Csv} path="/webhooks" name="webhooks" />${button}<//>
	<${Table} list=${list} label=${t('webhooks.title')} open=${(row) => base + encoded`/webhooks/${row.id}`} empty=${html`<${Empty} ghost=${[['https://example.com/hooks/mail', html`<${Status} of="enabled" />`]]} icon="webhook" title=${t('webhooks.none')} act=${button}>${t('webhooks.noneText')}<//>`} columns=${[
		{ name: t('webhooks.endpoint'), class: 'cell-name cell-cut', cell: (row) => html`<a class="medium" href=${base + encoded`/webhooks/${row.id}`} title=${row.endpoint}><bdi>${row.endpoint}</bdi></a><span class="cell-sub">${t('webhooks.events', { n: row.events.length })}</span>` },
		{ name: t('webhooks.health'), class: 'w-status', cell: (row) => row.status === 'enabled' && row.failing_since ? html`<${Status} of="failing" />` : html`<${Status} of=${row.status} />` },
		{ name: t('webhooks.failingSince'), class: 'w-num drop-1 muted', cell: (row) => html`<${Time} at=${row.failing_since} />` },
		{ name: t('webhooks.told'), class: 'cell-cut hide-s', cell: (row) => html`<span title=${row.events.join(', ')}>${row.events.length > 2 ? t('webhooks.events', { n: row.events.length }) : row.events.join(', ')}</span>` },
		{ name: t('webhooks.added'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
