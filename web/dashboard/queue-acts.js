// Actions on waiting mail. Those that can be undone run immediately; dropping asks for confirmation.
import { html, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { t } from './i18n.js';
import { Button, Failed, Input, Notice, Select } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, toast } from './ui/float.js';

/** A filter as the body of an act, of the team that is named. */
const bodyOf = (filter, at) => Object.fromEntries(Object.entries({ ...filter, restored: filter.restored ? true : undefined, team: at.named }).filter(([, v]) => v !== undefined && v !== ''));

const post = (verb, body, at) => api.post(`/queue/${verb}`, body, { team: at.header });

/**
 * Holds, releases, retries or drops what matches a filter.
 * @param {string} verb @param {any} filter @param {number|undefined} n how many there are, where it is known
 * @param {{header: string|null, named?: string}} at @param {() => any} done
 */
export async function act(verb, filter, n, at, done) {
	if (verb === 'drop' && !(await confirm({ title: n === undefined ? t('queue.dropTitleFit') : t('queue.dropTitle', { n }), text: t('queue.dropText'), act: n === undefined ? t('queue.verbs.drop') : t('queue.acts.drop', { n }), n: n ?? 0 }))) return;
	const body = bodyOf(filter, at);
	const back = { hold: 'release', release: 'hold' }[verb];
	await attempt(async () => {
		const result = await post(verb, body, at);
		await done();
		return result;
	}, (result) => (result.changed ? t(`queue.done.${verb}`, { n: result.changed }) : t('queue.done.nothing')), {
		undo: back && body.ids ? () => act(back, filter, n, at, done) : undefined,
	});
}

/** Moves what matches a filter to another relay. @param {any} filter @param {number|undefined} n @param {any} at @param {() => any} done */
export async function move(filter, n, at, done) {
	const result = await dialog((close) => html`<${Move} ...${{ filter, n, at, close }} />`);
	if (!result) return;
	toast([t('queue.done.move', { n: result.changed }), ...(result.notes ?? [])].join(' '));
	await done();
}

function Move({ filter, n, at, close }) {
	const relays = useGet('/relays', {}, { team: null });
	const [to, setTo] = useState('');
	const [refused, setRefused] = useState('');
	const others = (relays.data?.data ?? []).filter((r) => r.region !== filter.relay);
	const send = async () => {
		try {
			close(await api.post('/queue/move', { ...bodyOf(filter, at), to_relay: to || others[0]?.region }, { team: at.header }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setRefused(e.message);
		}
	};
	return html`<${DialogBody} title=${n === undefined ? t('queue.moveTitleFit') : t('queue.moveTitle', { n })} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!others.length}>${n === undefined ? t('queue.verbs.move') : t('queue.acts.move', { n })}<//>`}>
		${relays.error ? html`<${Failed} error=${relays.error} retry=${relays.reload} />` : relays.data && !others.length ? html`<${Notice} kind="warn">${t('queue.noOther')}<//>` : html`<${Select} label=${t('queue.moveTo')} value=${to || others[0]?.region} onChange=${setTo} options=${others.map((r) => [r.region, `${r.region}, ${t(`status.${r.state}`)}`])} hint=${t('queue.moveHint')} />`}
		${refused && html`<${Notice} kind="bad">${refused}<//>`}<//>`;
}

/** Requeues failed mail. @param {any} at @param {any} filters @param {() => any} done */
export async function requeue(at, filters, done) {
	const result = await dialog((close) => html`<${Requeue} at=${at} filters=${filters} close=${close} />`);
	if (!result) return;
	toast(result.changed ? t('queue.done.requeue', { n: result.changed }) : t('queue.done.nothing'));
	await done();
}

function Requeue({ at, filters, close }) {
	const [since, setSince] = useState('1h');
	const [domain, setDomain] = useState(filters.to_domain ?? '');
	const [refused, setRefused] = useState('');
	const send = async () => {
		try {
			close(await post('requeue', bodyOf({ failed_since: since, to_domain: domain.trim(), relay: filters.relay }, at), at));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setRefused(e.message);
		}
	};
	return html`<${DialogBody} title=${t('queue.requeueTitle')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('queue.requeue')}<//>`}><p>${t('queue.requeueText')}</p>
		<${Select} label=${t('queue.since')} value=${since} onChange=${setSince} options=${['1h', '6h', '1d', '3d'].map((a) => [a, t(`queue.ages.${a}`)])} />
		<${Input} label=${t('queue.domain')} value=${domain} onInput=${setDomain} hint=${t('queue.anyDomain')} autocomplete="off" />
		${refused && html`<${Notice} kind="bad">${refused}<//>`}<//>`;
}
