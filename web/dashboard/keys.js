// API keys: permission, expiry, addresses; a new key is shown once.
import { html, useState } from './lib/core.js';
import { api, useGet, useList } from './api.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { mayAdmin } from './state.js';
import { day } from './format.js';
import { Button, Copy, Empty, Head, Sections, Time } from './ui/base.js';
import { attempt, confirm, dialog, Menu, useAsked } from './ui/float.js';
import { Csv, Table } from './ui/list.js';
import { EditKey, MakeKey, Made } from './key-forms.js';
import { encoded } from './paths.js';

/** The links that keys and SMTP share. @param {{at: string}} props */
export const KeySections = ({ at }) => html`<${Sections} label=${t('keys.sections')} at=${base + at} links=${[[t('keys.title'), `${base}/keys`], [t('smtp.title'), `${base}/smtp`]]} />`;

const ended = (key) => key.expires_at && new Date(key.expires_at) <= new Date();

/** A key's permission as text. @param {any} key @param {any[]} domains */
export function may(key, domains) {
	if (key.permission === 'full_access') return t('keys.everything', { role: t(`roles.${key.role}`) });
	if (!key.domain_id) return t('keys.send');
	return t('keys.sendFrom', { domain: domains.find((d) => d.id === key.domain_id)?.name ?? t('keys.goneDomain') });
}

function end(key, list) {
	return attempt(async () => {
		if (!(await confirm({ title: t('keys.endTitle', { name: key.name }), text: t('keys.endText'), act: t('keys.endAct') }))) return;
		await api.del(encoded`/api-keys/${key.id}`);
		await list.reload();
	});
}

/** The page. */
export default function Keys() {
	const list = useList('/api-keys');
	const domains = useGet('/domains', { limit: 100 }).data?.data ?? [];
	const [made, setMade] = useState(/** @type {any} */ (null));
	const make = async () => {
		const answer = await dialog((close) => html`<${MakeKey} close=${close} domains=${domains} />`);
		if (!answer) return;
		setMade(answer);
		window.scrollTo(0, 0);
		await list.reload();
	};
	useAsked(() => mayAdmin.value && make());
	const edit = async (key) => {
		if (await dialog((close) => html`<${EditKey} close=${close} of=${key} />`)) await list.reload();
	};
	const columns = [
		{ name: t('keys.name'), class: 'cell-name cell-cut medium', cell: (key) => html`<bdi title=${key.name}>${key.name}</bdi>${!key.last_used_at && html` <span class=${`badge ${Date.now() - new Date(key.created_at).getTime() > 7 * 86_400_000 ? 'badge--warn' : ''}`}>${t('keys.neverUsed')}</span>`}<span class="cell-sub">${may(key, domains)}</span>` },
		{ name: t('keys.key'), class: 'cell-cut hide-s', cell: (key) => html`<${Copy} text=${key.prefix} show=${`${key.prefix}…`} />` },
		{ name: t('keys.may'), class: 'cell-cut hide-s', cell: (key) => html`<span title=${may(key, domains)}>${may(key, domains)}</span>` },
		{ name: t('keys.from'), class: 'cell-cut drop-1 w-num', cell: (key) => key.allowed_ips.length ? html`<span class="mono" title=${key.allowed_ips.join(', ')}>${key.allowed_ips.length === 1 ? key.allowed_ips[0] : t('keys.ranges', { n: key.allowed_ips.length })}</span>` : html`<span class="muted">${t('keys.anywhere')}</span>` },
		{ name: t('keys.ends'), class: 'w-num drop-2', cell: (key) => !key.expires_at ? html`<span class="muted">${t('keys.never')}</span>` : ended(key) ? html`<span class="bad">${t('keys.ended')}</span>` : html`<time datetime=${key.expires_at} title=${key.expires_at}>${day(key.expires_at)}</time>` },
		{ name: t('keys.used'), class: 'num w-num muted', cell: (key) => html`<${Time} at=${key.last_used_at} />` },
		...(mayAdmin.value ? [{ name: t('ui.acts'), hide: true, class: 'num w-acts', cell: (key) => html`<${Menu} kind="quiet" label=${t('keys.acts', { name: key.name })} items=${[
			{ icon: 'edit', name: t('keys.edit'), run: () => edit(key) },
			null,
			{ icon: 'x', name: t('keys.end'), danger: true, run: () => end(key, list) },
		]} />` }] : []),
	];
	const makeButton = html`<${Button} kind="primary" icon="plus" onClick=${make}>${t('keys.make')}<//>`;
	return html`<${Head} title=${t('keys.title')}><${Csv} path="/api-keys" name="api-keys" />${mayAdmin.value && makeButton}<//>
	<${KeySections} at="/keys" />
	${made && html`<${Made} made=${made} domains=${domains} done=${() => setMade(null)} />`}
	<${Table} list=${list} label=${t('keys.title')} columns=${columns} empty=${html`<${Empty} ghost=${[['my-app', html`<span class="mono">mlr_8fK2…</span>`, t('time.min', { n: 2 })], ['website', html`<span class="mono">mlr_3xQ9…</span>`, t('time.d', { n: 3 })]]} icon="key" title=${t('keys.none')} act=${mayAdmin.value && makeButton}>${t(mayAdmin.value ? 'keys.noneText' : 'keys.noneAsk')}<//>`} />`;
}
