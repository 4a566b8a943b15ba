// One webhook: its health, what it was told and answered, and telling it again.
import { html, useEffect } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { say, t } from './i18n.js';
import { encoded, isId } from './paths.js';
import { base, go, place } from './router.js';
import { mayAdmin } from './state.js';
import { Bones, Button, Empty, Failed, Head, Time, Verdict } from './ui/base.js';
import { attempt, confirm, dialog, Menu, toast } from './ui/float.js';
import { Csv, Table } from './ui/list.js';
import { EditWebhook, Replay, RotateSecret, TestEvent } from './webhook-forms.js';
import { Answered, Delivery, Outcome } from './webhook-delivery.js';
import { keepSecret } from './webhook-parts.js';

const crumbs = () => [[t('webhooks.title'), `${base}/webhooks`]];

/** What the head says: kind, sentence, what to do. @param {any} hook @param {boolean} told whether there is anything that got through */
function verdict(hook, told) {
	if (hook.status === 'disabled') return { kind: hook.failing_since ? 'bad' : 'neutral', line: t(hook.failing_since ? 'webhook.stopped' : 'webhook.disabled'), fix: t('webhook.disabledFix') };
	if (hook.failing_since) return { kind: 'bad', line: say('webhook.failing', { time: html`<${Time} at=${hook.failing_since} />` }), fix: t('webhook.failingFix') };
	return told ? { kind: 'good', line: t('webhook.good'), fix: null } : { kind: 'neutral', line: t('webhook.idle'), fix: t('webhook.idleFix') };
}

/** The page. @param {{params: {id: string}}} props */
export default function Webhook({ params }) {
	const path = encoded`/webhooks/${params.id}`;
	const got = useGet(path, undefined, { every: 30 });
	const named = place.value.query.get('event');
	const event = isId(named) ? named : null;
	const hook = got.data;
	if (got.error && !hook) return html`<${Head} path=${crumbs()} title=${t('webhook.one')} /><${Failed} error=${got.error} retry=${got.reload} />`;
	if (!hook) return html`<${Head} path=${crumbs()} title="…" text=${t('webhooks.title')} /><${Bones} />`;
	if (event) return html`<${Delivery} hook=${hook} id=${event} />`;
	return html`<${Overview} hook=${hook} got=${got} path=${path} />`;
}

function Overview({ hook, got, path }) {
	const list = useList(`${path}/events`);
	const waits = list.rows.some((e) => e.status === 'pending' || e.status === 'attempting');
	useEffect(() => {
		if (!waits || list.rows.length > 50) return;
		const every = setInterval(() => document.hidden || list.reload(), 5000);
		return () => clearInterval(every);
	}, [waits, list.rows.length > 50]);
	const patch = async (body) => got.set({ ...hook, ...(await api.patch(path, body)) });
	const turn = (status) => attempt(async () => {
		const before = hook.status;
		await patch({ status });
		toast(t(`webhook.now_${status}`), { undo: () => attempt(() => patch({ status: before })) });
	});
	const edit = async () => {
		const changed = await dialog((close) => html`<${EditWebhook} close=${close} of=${hook} />`);
		if (changed) got.set(changed);
	};
	const rotate = async () => {
		const secret = await dialog((close) => html`<${RotateSecret} close=${close} of=${hook} />`);
		if (secret) await keepSecret(secret);
	};
	const remove = () => attempt(async () => {
		if (!(await confirm({ title: t('webhook.deleteTitle'), text: t('webhook.deleteText', { endpoint: hook.endpoint }), act: t('webhook.deleteAct') }))) return;
		await api.del(path);
		toast(t('webhook.deleted'));
		go('/webhooks');
	});
	const replay = async () => {
		if (await dialog((close) => html`<${Replay} close=${close} of=${hook} />`)) await list.reload();
	};
	const test = () => dialog((close) => html`<${TestEvent} close=${close} of=${hook} />`);
	const says = verdict(hook, list.rows.some((e) => e.status === 'success'));
	return html`<${Head} path=${crumbs()} title=${html`<bdi>${hook.endpoint}</bdi>`} text=${hook.endpoint}>
		<${Csv} path=${`${path}/events`} name="deliveries" />
		${mayAdmin.value && html`<${Button} icon="send" onClick=${test}>${t('webhook.test')}<//><${Menu} label=${t('ui.acts')} items=${[
			{ icon: 'edit', name: t('webhook.edit'), run: edit },
			{ icon: 'refresh', name: t('webhook.replayMany'), run: replay },
			{ icon: 'key', name: t('webhook.rotate'), run: rotate },
			hook.status === 'enabled' ? { icon: 'pause', name: t('webhook.disable'), run: () => turn('disabled') } : { icon: 'play', name: t('webhook.enable'), run: () => turn('enabled') },
			null,
			{ icon: 'trash', name: t('webhook.delete'), danger: true, run: remove },
		]} />`}<//>
	<${Verdict} kind=${says.kind} line=${says.line} fix=${says.fix} acts=${mayAdmin.value && hook.status === 'disabled' && html`<${Button} icon="play" onClick=${() => turn('enabled')}>${t('webhook.enable')}<//>`} />
	<div class="page page--text"><p class="t13r ink2 break">${t('webhook.isTold', { n: hook.events.length })} <span class="mono">${hook.events.join(', ')}</span></p></div>
	<${Table} list=${list} label=${t('webhook.deliveries')} open=${(row) => base + encoded`/webhooks/${hook.id}?event=${row.id}`} empty=${html`<${Empty} icon="webhook" title=${t('webhook.none')} act=${mayAdmin.value && html`<${Button} icon="send" onClick=${test}>${t('webhook.test')}<//>`}>${t('webhook.noneText')}<//>`} columns=${[
		{ name: t('webhook.outcome'), class: 'w-status hide-s', cell: (row) => html`<${Outcome} of=${row.status} />` },
		{ name: t('webhook.event'), class: 'cell-name cell-cut', cell: (row) => html`<a class="mono" href=${base + encoded`/webhooks/${hook.id}?event=${row.id}`}>${row.type}</a><span class="cell-sub"><${Outcome} of=${row.status} /></span>` },
		{ name: t('webhook.answer'), class: 'w-num', cell: (row) => html`<${Answered} of=${row.last_http_status_code} />` },
		{ name: t('webhook.next'), class: 'w-state drop-2 muted', cell: (row) => html`<${Time} at=${row.next_attempt_at} />` },
		{ name: t('webhook.when'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
