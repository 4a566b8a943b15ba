// The sending domains of a team.
import { html, useState } from './lib/core.js';
import { api, ApiError, useList } from './api.js';
import { t } from './i18n.js';
import { domainIn, encoded } from './paths.js';
import { base, go } from './router.js';
import { mayAdmin } from './state.js';
import { Button, Empty, Head, Input, Notice, Status, Time } from './ui/base.js';
import { dialog, DialogBody, useAsked } from './ui/float.js';
import { Csv, Table } from './ui/list.js';

/** The form of a new domain; closes with the domain. @param {{close: (answer?: any) => void}} props */
function AddDomain({ close }) {
	const [name, setName] = useState('');
	const [path, setPath] = useState('');
	const [wrong, say] = useState('');
	const send = async () => {
		try {
			close(await api.post('/domains', { name: domainIn(name), custom_return_path: path.trim() || undefined }));
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			say(e.message);
		}
	};
	return html`<${DialogBody} title=${t('domains.add')} onSubmit=${send} acts=${html`<${Button} kind="quiet" onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary">${t('domains.add')}<//>`}>
		${wrong && html`<${Notice} kind="bad">${wrong}<//>`}
		<${Input} label=${t('domains.domain')} hint=${t('domains.nameHint')} value=${name} onInput=${setName} placeholder="news.example.com" autocomplete="off" spellcheck="false" required autofocus />
		<${Input} label=${t('domains.path')} hint=${t('domains.pathHint')} value=${path} onInput=${setPath} placeholder="send" autocomplete="off" spellcheck="false" /><//>`;
}

const tracking = (d) => [d.open_tracking && t('domains.opens'), d.click_tracking && t('domains.clicks')].filter(Boolean).join(', ') || t('domains.off');

/** The page. */
export default function Domains() {
	const list = useList('/domains');
	const add = async () => {
		const domain = await dialog((close) => html`<${AddDomain} close=${close} />`);
		if (domain) go(encoded`/domains/${domain.id}`);
	};
	useAsked(() => mayAdmin.value && add());
	const button = mayAdmin.value && html`<${Button} kind="primary" icon="plus" onClick=${add}>${t('domains.add')}<//>`;
	return html`<${Head} title=${t('domains.title')}><${Csv} path="/domains" name="domains" />${button}<//>
	<${Table} list=${list} label=${t('domains.title')} open=${(row) => base + encoded`/domains/${row.id}`} empty=${html`<${Empty} ghost=${[['mail.example.com', html`<${Status} of="verified" />`], ['news.example.com', html`<${Status} of="pending" />`]]} icon="globe" title=${t('domains.none')} act=${button}>${t(mayAdmin.value ? 'domains.noneText' : 'domains.noneAsk')}<//>`} columns=${[
		{ name: t('domains.domain'), class: 'cell-name cell-cut medium', cell: (row) => html`<a href=${base + encoded`/domains/${row.id}`} title=${row.name}><bdi>${row.name}</bdi></a><span class="cell-sub">${t('domains.tracking')}: ${tracking(row)}</span>` },
		{ name: t('domains.state'), class: 'w-status', cell: (row) => html`<${Status} of=${row.status} word=${row.status === 'failed' ? t('domains.failed') : undefined} />` },
		{ name: t('domains.region'), class: 'cell-cut drop-1 w-relay', cell: (row) => row.region },
		{ name: t('domains.tracking'), class: 'cell-cut hide-s', cell: tracking },
		{ name: t('domains.added'), class: 'w-age num muted', cell: (row) => html`<${Time} at=${row.created_at} />` },
	]} />`;
}
