// One sign-up form: its numbers, how to publish it, its settings, and who signed up.
import { html, useState } from './lib/core.js';
import { useGet } from './api.js';
import { number } from './format.js';
import { removeForm, rateOf } from './forms.js';
import { say, t } from './i18n.js';
import { FormSettings } from './form-settings.js';
import { OptIns } from './opt-ins.js';
import { encoded } from './paths.js';
import { base, go, href, place } from './router.js';
import { mayAdmin } from './state.js';
import { Bones, Button, Code, Failed, Head, Notice, Section, Sections, Status } from './ui/base.js';
import { Menu } from './ui/float.js';

/** The page. @param {{params: {id: string}}} props */
export default function FormPage({ params }) {
	const { data: of, error, reload, set } = useGet(encoded`/forms/${params.id}`);
	const at = place.value.query.get('tab') ?? '';
	const path = [[t('forms.title'), href('/forms')]];
	if (error && !of) return html`<${Head} title=${t('forms.one')} path=${path} /><${Failed} error=${error} retry=${reload} />`;
	if (!of) return html`<${Head} title="" text=${t('forms.one')} path=${path} /><${Bones} />`;
	const here = base + encoded`/forms/${of.id}`;
	const to = (tab) => (tab ? `${here}?tab=${tab}` : here);
	return html`<${Head} title=${html`<bdi>${of.name}</bdi>`} text=${of.name} path=${path} note=${of.confirm === 'single' && html`<${Status} of="warn" word=${t('forms.confirm_single')} />`}>
		${of.url && html`<${Button} icon="external" href=${of.url} target="_blank" rel="noreferrer">${t('forms.open')}<//>`}
		<${Menu} label=${t('ui.acts')} items=${[{ icon: 'trash', name: t('forms.delete'), danger: true, run: async () => (await removeForm(of)) && go('/forms', { replace: true }) }]} /><//>
	<${Sections} label=${t('forms.one')} at=${to(at)} links=${['', 'settings', 'opt-ins'].map((tab) => [t({ '': 'forms.publish', settings: 'forms.settings', 'opt-ins': 'optIns.title' }[tab]), to(tab)])} />
	${at === 'settings' ? html`<${FormSettings} key=${of.version} of=${of} set=${async (now) => {
		set({ ...of, ...now });
		await reload();
	}} />` : at === 'opt-ins' ? html`<${OptIns} of=${of} />` : html`<${Publish} of=${of} settings=${to('settings')} />`}`;
}

/** The numbers, the page as visitors see it, and what to paste into other sites. */
function Publish({ of, settings }) {
	const stats = [['requested', of.requested, ''], ['confirmed', of.confirmed, rateOf(of)], ['refused', of.refused, ''], ['stopped', of.stopped, '']];
	return html`<div class="page"><div class="stats">${stats.map(([name, n, rate]) => html`<div class="stat"><div class="stat-label">${t(`forms.${name}`)}</div><div class="stat-value">${number(n)}${rate && html` <small>${rate}</small>`}</div><p class="stat-note">${t(`forms.${name}Note`)}</p></div>`)}</div>
	${of.url ? html`<div class="cols form-publish"><${Snippets} of=${of} settings=${settings} /><${Preview} of=${of} /></div>`
		: html`<div class="gap"><${Notice} kind="warn" act=${mayAdmin.value && html`<${Button} href=${href('/team?part=settings')}>${t('pagesHost.set')}<//>`}>${t('forms.noHost')}<//></div>`}</div>`;
}

function Snippets({ of, settings }) {
	const [at, setAt] = useState('link');
	const code = { link: of.url, html: of.embed?.html ?? '', script: of.embed?.script ?? '' }[at] ?? '';
	return html`<${Section} title=${t('forms.embed')}><div class="stack"><${Code} name=${t('forms.embed')} tabs=${['link', 'html', 'script'].map((one) => [one, t(`forms.as_${one}`)])} at=${at} onTab=${setAt} code=${code} />
		<p class="muted t13r prose">${t(`forms.as_${at}Text`)}</p>
		${at === 'script' && !of.allowed_origins.length && html`<${Notice} kind="warn">${say('forms.noOrigins', { settings: html`<a class="link" href=${settings}>${t('forms.settings')}</a>` })}<//>`}</div><//>`;
}

/** The hosted page. Frames show pages of this server alone: another host gets a link. */
function Preview({ of }) {
	const url = new URL(of.url);
	if (url.origin !== location.origin) return html`<${Section} title=${t('forms.preview')}><p class="muted t13r">${say('forms.elsewhere', { link: html`<a class="link" href=${of.url} target="_blank" rel="noreferrer">${url.host}</a>` })}</p><//>`;
	return html`<${Section} title=${t('forms.preview')}><div class="sheet wide"><div class="sheet-body"><div class="paper"><iframe sandbox="" key=${of.updated_at} src=${url.pathname} title=${t('forms.preview')}></iframe></div></div></div><//>`;
}
