// The server's settings: those that can be changed while it runs, and those of its start.
import { html, useState } from './lib/core.js';
import { api, useGet } from './api.js';
import { t } from './i18n.js';
import { about, Said, useForm } from './gate.js';
import { HealthSections } from './health.js';
import { place, setQuery } from './router.js';
import { Bones, Button, Check, Copy, Empty, Failed, Head, Icon, Input, Section, Select } from './ui/base.js';
import { attempt, dialog, DialogBody } from './ui/float.js';

/** The page. */
export default function Settings() {
	const list = useGet('/settings', undefined, { team: null });
	const [word, setWord] = useState(place.value.query.get('find') ?? '');
	const all = place.value.query.get('all') === '1';
	const fits = (s) => `${s.name} ${s.changeable ? title(s) : ''} ${s.variable} ${s.about} ${s.value}`.toLowerCase().includes(word.trim().toLowerCase());
	const found = (list.data?.data ?? []).filter(fits);
	const now = found.filter((s) => s.changeable);
	const start = found.filter((s) => !s.changeable && (all || word || s.from !== 'default'));
	const change = async (s) => {
		const values = await dialog((close) => html`<${Change} of=${s} close=${close} />`);
		if (values) list.set(values);
	};
	return html`<${Head} title=${t('settings.title')} /><${HealthSections} at="settings" />
	<div class="tools tools--wrap tools--top"><label class="query-box settings-find"><${Icon} name="search" /><span class="vh">${t('settings.find')}</span><input class="query-input" type="search" placeholder=${t('settings.find')} value=${word} onInput=${(e) => {
		setWord(e.currentTarget.value);
		setQuery({ find: e.currentTarget.value });
	}} /></label></div>
	${list.data ? html`<div class="page">${now.length > 0 && html`<${Section} title=${t('settings.now')}><p class="ink2 t13r prose">${t('settings.nowText')}</p><${Changeable} rows=${now} change=${change} /><//>`}
		<${Section} title=${t('settings.start')} acts=${html`<${Check} label=${t('settings.only')} checked=${!all && !word} disabled=${!!word} onChange=${(on) => setQuery({ all: on ? null : '1' })} />`}>${start.length ? html`<${Rows} rows=${start} />` : html`<${Empty} icon="settings" title=${t(word ? 'settings.emptyTitle' : 'settings.noneTitle')}>${t(word ? 'settings.emptyText' : 'settings.noneText')}<//>`}<//></div>` : list.error ? html`<${Failed} error=${list.error} retry=${list.reload} />` : html`<${Bones} />`}`;
}

const title = (s) => t(`settings.names.${s.name}`);
/** A value; a retention of 0 has no limit. */
const value = (s) => (s.value === '0' && s.name.startsWith('keep-') ? t('relays.noLimit') : s.value === '' ? html`<span class="muted">–</span>` : s.value);

/** The source of a value: the flag or variable that overrides it, by name. */
const source = (s) => s.from !== 'default' && html`<div class="muted t12">${t(`settings.sources.${s.from}`, { flag: `--${s.name}`, variable: s.variable })}</div>`;

const Changeable = ({ rows, change }) => html`<table class="table table--rows table--fixed table--top" aria-label=${t('settings.now')}><thead><tr><th scope="col" class="cell-name w-rec">${t('settings.name')}</th><th scope="col" class="w-team hide-s">${t('settings.value')}</th><th scope="col" class="hide-s drop-2">${t('settings.about')}</th><th scope="col" class="num w-num"><span class="vh">${t('ui.acts')}</span></th></tr></thead>
	<tbody>${rows.map((s) => html`<tr key=${s.name}><td><span class="medium">${title(s)}</span><span class="cell-sub break mono t12">${value(s)}</span>${source(s)}</td><td class="hide-s break mono t12">${value(s)}</td><td class="hide-s drop-2 ink2">${s.about}</td><td class="num"><${Button} label=${t('settings.changeOf', { name: title(s) })} onClick=${() => change(s)}>${t('settings.change')}<//></td></tr>`)}</tbody></table>`;

const Rows = ({ rows }) => html`<table class="table table--rows table--fixed table--top" aria-label=${t('settings.start')}><thead><tr><th scope="col" class="cell-name w-rec">${t('settings.name')}</th><th scope="col" class="w-team">${t('settings.value')}</th><th scope="col" class="hide-s">${t('settings.about')}</th></tr></thead>
	<tbody>${rows.map((s) => html`<tr key=${s.name}><td><${Copy} text=${`--${s.name}`} />${source(s)}</td><td class="break mono t12">${value(s)}</td><td class="hide-s ink2">${s.about}</td></tr>`)}</tbody></table><p class="table-foot">${t('settings.text')}</p>`;

/** Settings whose value is not shown completely, since it may be secret. */
const hidden = ['alert-webhook', 'alert-webhook-secret'];

function Change({ of: s, close }) {
	const [typed, type] = useState(hidden.includes(s.name) ? '' : s.value);
	const put = (next) => api.patch('/settings', { values: { [s.name]: next } }, { team: null });
	const form = useForm(async () => close(await put(typed.trim() || null)));
	const reset = async () => {
		const values = await attempt(() => put(null));
		if (values) close(values);
	};
	const field = s.choices.length
		? html`<${Select} label=${title(s)} value=${typed} options=${s.choices.map((c) => [c, c])} onChange=${type} hint=${s.about} error=${about(form.error, s.name)} />`
		: html`<${Input} label=${title(s)} value=${typed} onInput=${type} placeholder=${hidden.includes(s.name) ? s.value : ''} hint=${s.about} autocomplete="off" error=${about(form.error, s.name)} />`;
	return html`<${DialogBody} title=${title(s)} onSubmit=${() => form.submit()} acts=${html`${s.from === 'database' && html`<${Button} kind="quiet" onClick=${reset}>${t('settings.reset')}<//><span class="push"></span>`}<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" busy=${form.busy}>${t('settings.save')}<//>`}>
		<${Said} form=${form} fields=${[s.name]} />${field}<//>`;
}
