// The settings in force, and where each came from.
import { html, useState } from './lib/core.js';
import { useGet } from './api.js';
import { t } from './i18n.js';
import { HealthSections } from './health.js';
import { place, setQuery } from './router.js';
import { Bones, Check, Copy, Empty, Failed, Head, Icon } from './ui/base.js';

/** The page. */
export default function Settings() {
	const list = useGet('/settings', undefined, { team: null });
	const [word, setWord] = useState(place.value.query.get('find') ?? '');
	const all = place.value.query.get('all') === '1';
	const rows = (list.data?.data ?? []).filter((s) => (all || word || s.from !== 'default') && `${s.name} ${s.variable} ${s.about} ${s.value}`.toLowerCase().includes(word.trim().toLowerCase()));
	return html`<${Head} title=${t('settings.title')} /><${HealthSections} at="settings" />
	<div class="tools tools--wrap tools--top"><label class="query-box settings-find"><${Icon} name="search" /><span class="vh">${t('settings.find')}</span><input class="query-input" type="search" placeholder=${t('settings.find')} value=${word} onInput=${(e) => {
		setWord(e.currentTarget.value);
		setQuery({ find: e.currentTarget.value });
	}} /></label><${Check} label=${t('settings.only')} checked=${!all && !word} disabled=${!!word} onChange=${(on) => setQuery({ all: on ? null : '1' })} /></div>
	${list.data ? (rows.length ? html`<${Rows} rows=${rows} />` : html`<${Empty} icon="settings" title=${t(word ? 'settings.emptyTitle' : 'settings.noneTitle')}>${t(word ? 'settings.emptyText' : 'settings.noneText')}<//>`) : list.error ? html`<${Failed} error=${list.error} retry=${list.reload} />` : html`<${Bones} />`}`;
}

const Rows = ({ rows }) => html`<table class="table table--rows table--fixed table--top" aria-label=${t('settings.label')}><thead><tr><th scope="col" class="cell-name w-rec">${t('settings.name')}</th><th scope="col" class="w-team">${t('settings.value')}</th><th scope="col" class="hide-s">${t('settings.about')}</th><th scope="col" class="w-state drop-2">${t('settings.source')}</th></tr></thead>
	<tbody>${rows.map((s) => html`<tr key=${s.name}><td><${Copy} text=${`--${s.name}`} /><span class="cell-sub">${t(`settings.sources.${s.from}`)}</span></td><td class="break mono t12">${s.value === '' ? html`<span class="muted">–</span>` : s.value}</td><td class="hide-s ink2">${s.about}</td><td class="drop-2" title=${s.variable}>${t(`settings.sources.${s.from}`)}</td></tr>`)}</tbody></table><p class="table-foot">${t('settings.text')}</p>`;
