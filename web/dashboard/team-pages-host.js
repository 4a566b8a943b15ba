// The team's own host for pages: forms, archives and images.
import { html, useState } from './lib/core.js';
import { about, Said, useForm } from './gate.js';
import { t } from './i18n.js';
import { Button, Copy, Input, Notice, Section, Status, Time } from './ui/base.js';
import { attempt, confirm } from './ui/float.js';

/** The part of the team's settings. @param {{of: any, patch: (change: any) => Promise<any>}} props */
export function PagesHost({ of, patch }) {
	const host = of.pages_host;
	const [name, setName] = useState(host?.name ?? '');
	const form = useForm(() => patch({ pages_host: name.trim() || null }));
	const remove = async () => {
		if (!(await confirm({ title: t('pagesHost.removeTitle', { name: host.name }), text: t('pagesHost.removeText'), act: t('pagesHost.remove') }))) return;
		await attempt(() => patch({ pages_host: null }), t('team.saved'));
		setName('');
	};
	return html`<${Section} title=${t('pagesHost.title')}><p class="ink2 t13r prose">${t('pagesHost.text')}</p>
	<form class="fields fields--under" onSubmit=${(e) => {
		e.preventDefault();
		form.submit();
	}}><${Said} form=${form} fields=${['pages_host']} /><${Input} label=${t('pagesHost.name')} mono placeholder="news.example.com" maxlength="254" autocomplete="off" spellcheck="false" value=${name} onInput=${setName} hint=${t('pagesHost.hint')} error=${about(form.error, 'pages_host')} />
		<div class="row"><${Button} type="submit" kind="primary" disabled=${!name.trim() || name.trim() === (host?.name ?? '')} busy=${form.busy}>${t('team.save')}<//>${host && html`<${Button} kind="danger" onClick=${remove}>${t('pagesHost.remove')}<//>`}</div></form>
	${host && html`<${Record} of=${host} />`}<//>`;
}

/** The DNS record of the host, and whether it was found. */
function Record({ of }) {
	return html`<table class="table table--top table--records table--fixed stack-s gap"><thead><tr><th class="w-state" scope="col">${t('domain.state')}</th><th class="w-rectype" scope="col">${t('domain.record')}</th><th scope="col">${t('domain.host')}</th><th scope="col">${t('domain.expected')}</th></tr></thead>
	<tbody><tr><td data-label=${t('domain.state')}><${Status} of=${of.points_here ? 'verified' : of.checked_at ? 'missing' : 'not_started'} word=${t(of.points_here ? 'domain.found' : of.checked_at ? 'status.missing' : 'domain.unknown')} /></td>
	<td data-label=${t('domain.record')}><span class="medium">${of.record_type}</span></td><td data-label=${t('domain.host')}><${Copy} text=${of.name} shown /></td><td data-label=${t('domain.expected')}><${Copy} text=${of.value} shown /></td></tr></tbody></table>
	<div class="gap"><${Notice} kind=${of.points_here ? 'good' : 'warn'}>${of.points_here ? t('pagesHost.works') : of.detail || t('pagesHost.waits')} ${of.checked_at && html`<span class="muted">${t('pagesHost.checked')} <${Time} at=${of.checked_at} /></span>`}<//></div>`;
}
