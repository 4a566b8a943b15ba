// One topic: its archive, the feeds of it, and the issues in it.
import { html } from './lib/core.js';
import { api, useGet } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { mayAdmin } from './state.js';
import { Bones, Button, Check, Copy, Empty, Facts, Failed, Head, Notice, Section, Time } from './ui/base.js';
import { attempt, confirm } from './ui/float.js';

/** The page. @param {{params: {id: string}}} props */
export default function Topic({ params }) {
	const path = encoded`/topics/${params.id}`;
	const { data: of, error, reload, set } = useGet(path);
	const trail = [[t('topics.title'), href('/topics')]];
	if (error && !of) return html`<${Head} title=${t('contacts.topic')} path=${trail} /><${Failed} error=${error} retry=${reload} />`;
	if (!of) return html`<${Head} title="" text=${t('contacts.topic')} path=${trail} /><${Bones} />`;
	return html`<${Shown} of=${of} path=${path} set=${set} trail=${trail} />`;
}

function Shown({ of, path, set, trail }) {
	const archive = useGet(of.archive ? `${path}/archive` : null);
	const url = archive.data?.url;
	return html`<${Head} title=${html`<bdi>${of.name}</bdi>`} text=${of.name} path=${trail}>${url && html`<${Button} icon="external" href=${url} target="_blank" rel="noreferrer">${t('archive.open')}<//>`}<//>
	<div class="page"><${Kind} of=${of} path=${path} set=${set} />${of.archive && (archive.data ? html`<${Links} url=${url} /><${Issues} of=${archive.data} path=${path} reload=${archive.reload} />` : archive.error ? html`<${Failed} error=${archive.error} retry=${archive.reload} />` : html`<${Bones} rows=${3} />`)}</div>`;
}

/** None, public or unlisted. */
function Kind({ of, path, set }) {
	const now = of.archive ?? 'none';
	const pick = async (to) => {
		if (to === 'none' && !(await confirm({ title: t('archive.endTitle'), text: t('archive.endText'), act: t('archive.end') }))) return;
		await attempt(async () => set({ ...of, ...(await api.patch(path, { archive: to === 'none' ? null : to })) }), t('archive.saved'));
	};
	const hidden = of.visibility !== 'public';
	return html`<${Section} title=${t('archive.title')}><p class="ink2 t13r prose">${t('archive.text')}</p>
	<div class="fields fields--under" role="radiogroup" aria-label=${t('archive.title')}>${['none', 'public', 'unlisted'].map((kind) => html`<div key=${kind}><${Check} kind="radio" name="archive" label=${t(`archive.as_${kind}`)} checked=${now === kind} disabled=${!mayAdmin.value || (hidden && kind !== 'none')} onChange=${() => pick(kind)} /><p class="muted t12">${t(`archive.as_${kind}Text`)}</p></div>`)}
		${hidden ? html`<${Notice}>${t('archive.hidden')}<//>` : !mayAdmin.value && html`<p class="t12 muted">${t('domain.askAdmin')}</p>`}</div><//>`;
}

function Links({ url }) {
	if (!url) return html`<${Section} title=${t('archive.links')}><${Notice} kind="warn" act=${mayAdmin.value && html`<${Button} href=${href('/team?part=settings')}>${t('pagesHost.set')}<//>`}>${t('archive.noHost')}<//><//>`;
	const below = (name) => `${url.replace(/\/$/, '')}/${name}`;
	return html`<${Section} title=${t('archive.links')}><${Facts} pairs=${[[t('archive.page'), url], ['RSS', below('feed.xml')], ['JSON Feed', below('feed.json')]].map(([name, at]) => [name, html`<${Copy} text=${at} shown />`])} /><//>`;
}

/** The issues in the archive, and broadcasts that can be added. */
function Issues({ of, path, reload }) {
	const change = async (act, said) => {
		if ((await attempt(act, said)) !== undefined) await reload();
	};
	const add = (row) => change(() => api.post(`${path}/archive`, { broadcast_id: row.broadcast_id }), t('archive.added'));
	const drop = (row) => change(() => api.del(path + encoded`/archive/${row.id}`), t('archive.dropped'));
	const line = (row, name, act) => html`<li key=${row.broadcast_id}><span class="grow cut" title=${row.subject}>${name}</span><span class="muted t12"><${Time} at=${row.sent_at} as="clock" /></span>${mayAdmin.value && act}</li>`;
	const subject = (row) => html`<bdi>${row.subject}</bdi>`;
	return html`<${Section} title=${t('archive.issues')}>${of.issues.length ? html`<ul class="items">${of.issues.map((row) => line(row, of.url ? html`<a class="link" href=${of.url.replace(/\/$/, '') + encoded`/${row.id}`} target="_blank" rel="noreferrer">${subject(row)}</a>` : subject(row), html`<${Button} kind="quiet" icon="x" label=${t('archive.drop', { subject: row.subject })} onClick=${() => drop(row)} />`))}</ul>` : html`<${Empty} icon="list" title=${t('archive.none')}>${t('archive.noneText')}<//>`}<//>
	${of.candidates.length > 0 && html`<${Section} title=${t('archive.past')}><p class="muted t13r prose">${t('archive.pastText')}</p><ul class="items">${of.candidates.map((row) => line(row, subject(row), html`<${Button} icon="plus" onClick=${() => add(row)}>${t('archive.add')}<//>`))}</ul><//>`}`;
}
